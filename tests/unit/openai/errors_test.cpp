#include "openai/errors.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>

#include "base/json_text.hpp"
#include "base/random.hpp"
#include "openai/models.hpp"

namespace sluice::openai {
namespace {

/// Parses with a reader that is not ours; fails the test when the text is not JSON.
class parsed {
public:
    explicit parsed(const std::string& text) {
        const auto code = x_parser.parse(text).get(x_root);
        EXPECT_EQ(code, simdjson::SUCCESS) << text;
    }
    std::string_view text(std::string_view pointer) const {
        std::string_view out;
        EXPECT_EQ(x_root.at_pointer(pointer).get(out), simdjson::SUCCESS) << pointer;
        return out;
    }
    const simdjson::dom::element& root() const { return x_root; }

private:
    simdjson::dom::parser x_parser;
    simdjson::dom::element x_root;
};

TEST(errors, names_and_statuses_are_the_public_ones) {
    const std::vector<std::pair<int, std::vector<std::string_view>>> table{
        {200, {"ok"}},
        {400, {"bad_request", "too_large"}},
        {401, {"unauthorized"}},
        {404, {"model_not_found"}},
        {409, {"stale_permit", "no_permit", "permit_expired", "not_held"}},
        {413, {"body_too_large"}},
        {429,
         {"queue_full",
          "quota_requests",
          "quota_tokens",
          "tenant_concurrency",
          "shed",
          "deadline_unreachable"}},
        {499, {"client_gone"}},
        {502, {"worker_failed", "upstream_error"}},
        {503, {"queue_timeout", "no_worker", "backend_lost", "draining", "headroom"}},
        {504, {"first_token_timeout", "idle_timeout", "total_timeout"}},
    };
    std::set<std::string_view> named;
    for (const auto& [status, names] : table) {
        for (const std::string_view name : names) {
            const auto why = reason_from(name);
            ASSERT_TRUE(why.has_value()) << name;
            EXPECT_EQ(to_string(*why), name);
            EXPECT_EQ(default_status(*why), status) << name;
            EXPECT_EQ(is_retryable(*why), status == 429 || status >= 502) << name;
            named.insert(name);
        }
    }
    EXPECT_EQ(named.size(), all_reasons().size());
    EXPECT_FALSE(reason_from("nothing").has_value());
}

TEST(errors, body_has_the_openai_shape) {
    EXPECT_EQ(
        error_body(reason::bad_request, "n must be \"1\"", "n"),
        R"({"error":{"message":"n must be \"1\"","type":"invalid_request_error","param":"n",)"
        R"("code":"bad_request"}})"
    );
    EXPECT_EQ(
        error_body(reason::queue_full, "full", "", R"({"position":7})"),
        R"({"error":{"message":"full","type":"rate_limit_error","param":null,)"
        R"("code":"queue_full","sluice":{"position":7}}})"
    );
    EXPECT_EQ(error_type(401), "authentication_error");
    EXPECT_EQ(error_type(503), "server_error");
    EXPECT_NE(
        error_body(reason::queue_timeout, "x", "", "", 429).find("rate_limit_error"),
        std::string::npos
    );
}

TEST(errors, B40_any_bytes_become_valid_json) {
    random_source random(40);
    for (int round = 0; round < 5000; ++round) {
        std::string bytes;
        const std::uint64_t size = random.below(40);
        for (std::uint64_t i = 0; i < size; ++i) {
            bytes += static_cast<char>(random.below(256));
        }
        const parsed body(error_body(reason::upstream_error, bytes, bytes));
        EXPECT_EQ(body.text("/error/code"), "upstream_error");
        const std::string event = error_event(reason::upstream_error, bytes);
        ASSERT_TRUE(event.starts_with("data: {") && event.ends_with("}\n\n"));
        ASSERT_EQ(event.find_first_of("\r\n"), event.size() - 2);
    }
}

TEST(json_text, keeps_what_is_valid_and_replaces_what_is_not) {
    const auto round_trip = [](const std::string& text) {
        const parsed body("[" + json_quote(text) + "]");
        return std::string(body.text("/0"));
    };
    const std::string valid =
        std::string("a\0b", 3) + "\"\\\n\r\t\x7f\u00e9\u2028\u2029日本\U0001F600";
    EXPECT_EQ(round_trip(valid), valid);
    EXPECT_EQ(json_quote(valid).find("\u2028"), std::string::npos);
    EXPECT_EQ(round_trip("\xff\xc3"), "\uFFFD\uFFFD");
    EXPECT_EQ(round_trip("\xE3\x81x"), "\uFFFDx");                // cut in half: one replacement
    EXPECT_EQ(round_trip("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate: each byte
    EXPECT_EQ(round_trip("\xC0\x80"), "\uFFFD\uFFFD");
    EXPECT_EQ(round_trip("\xF0\x9F\x98"), "\uFFFD");
    EXPECT_EQ(round_trip("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(models, lists_names_in_order) {
    EXPECT_EQ(models_body({}), R"({"object":"list","data":[]})");
    const std::vector<model_entry> two{{.id = "b"}, {.id = "a\"", .owned_by = "me", .created = 5}};
    EXPECT_EQ(
        models_body(two),
        R"({"object":"list","data":[{"id":"b","object":"model","created":0,"owned_by":"sluice"},)"
        R"({"id":"a\"","object":"model","created":5,"owned_by":"me"}]})"
    );
    EXPECT_EQ(model_body(two[0]), R"({"id":"b","object":"model","created":0,"owned_by":"sluice"})");
}

}  // namespace
}  // namespace sluice::openai
