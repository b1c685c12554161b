#include "openai/rewrite.hpp"

#include <gtest/gtest.h>

#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

std::string asked(std::string_view body, bool expected = true) {
    const auto facts = inspect(endpoint_kind::chat, body);
    EXPECT_TRUE(facts.has_value()) << body;
    body_rewrite rewrite(body, *facts);
    EXPECT_EQ(rewrite.ask_for_usage(), expected) << body;
    const std::string out = rewrite.joined();
    EXPECT_EQ(rewrite.size(), out.size());
    const auto again = inspect(endpoint_kind::chat, out);
    EXPECT_TRUE(again.has_value()) << out;
    EXPECT_EQ(again->include_usage, expected || facts->include_usage) << out;
    return out;
}

TEST(rewrite, B21_without_an_edit_the_body_is_the_body) {
    const std::string body = R"({"model":"m","messages":[]})";
    const auto facts = inspect(endpoint_kind::chat, body);
    body_rewrite rewrite(body, *facts);
    ASSERT_EQ(rewrite.pieces().size(), 1U);
    EXPECT_EQ(rewrite.pieces()[0].data(), body.data());
    EXPECT_EQ(rewrite.joined(), body);
}

TEST(rewrite, B21_an_alias_changes_only_the_value_of_model) {
    const std::string body =
        R"({"model":"m","seed":9007199254740993,"temperature":0.10,"x":1e2,"s":"\u00e9\/",)"
        R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
        R"("required":["p"],"properties":{"p":{"type":"string"}}}}}],"messages":[]})";
    const auto facts = inspect(endpoint_kind::chat, body);
    ASSERT_TRUE(facts.has_value());
    body_rewrite rewrite(body, *facts);
    rewrite.set_model("other");
    rewrite.set_model("llama \"3\"\xff");
    const auto pieces = rewrite.pieces();
    ASSERT_EQ(pieces.size(), 3U);
    EXPECT_EQ(pieces[0], R"({"model":)");
    EXPECT_EQ(pieces[1], "\"llama \\\"3\\\"\xEF\xBF\xBD\"");
    EXPECT_EQ(pieces[2], body.substr(12));
    EXPECT_EQ(pieces[2].data(), body.data() + 12);  // a view, not a copy
    EXPECT_EQ(rewrite.size(), rewrite.joined().size());
}

TEST(rewrite, keeps_white_space_and_escaped_keys) {
    const std::string body = "\n{ \"x\" : 1 , \"mod\\u0065l\" :\t\"a\\u0062\" \n} ";
    const auto facts = inspect(endpoint_kind::chat, body);
    ASSERT_TRUE(facts.has_value());
    body_rewrite rewrite(body, *facts);
    rewrite.set_model("n");
    EXPECT_EQ(rewrite.joined(), "\n{ \"x\" : 1 , \"mod\\u0065l\" :\t\"n\" \n} ");
}

TEST(rewrite, B11_asks_for_usage_only_where_the_client_left_it_open) {
    EXPECT_EQ(
        asked(R"({"model":"m","stream":true})"),
        R"({"stream_options":{"include_usage":true},"model":"m","stream":true})"
    );
    EXPECT_EQ(
        asked(R"({"model":"m","stream":true,"stream_options":null})"),
        R"({"model":"m","stream":true,"stream_options":{"include_usage":true}})"
    );
    EXPECT_EQ(
        asked(R"({"stream_options": { } ,"model":"m","stream":true})"),
        R"({"stream_options": {"include_usage":true } ,"model":"m","stream":true})"
    );
    EXPECT_EQ(
        asked(R"({"model":"m","stream_options":{"x":{}},"stream":true})"),
        R"({"model":"m","stream_options":{"include_usage":true,"x":{}},"stream":true})"
    );
    for (const char* stated : {"false", "true", "null"}) {
        const std::string body =
            R"({"model":"m","stream":true,"stream_options":{"include_usage":)" +
            std::string(stated) + "}}";
        EXPECT_EQ(asked(body, false), body);
    }
    EXPECT_EQ(asked(R"({"model":"m"})", false), R"({"model":"m"})");
}

TEST(rewrite, a_foreign_stream_options_stays_as_it_is) {
    const std::string body = R"({"model":"m","stream":true,"stream_options":[{"a":1}] ,"b":0})";
    const auto facts = inspect(endpoint_kind::other, body);
    ASSERT_TRUE(facts.has_value());
    const std::size_t begin = facts->stream_options_begin;
    EXPECT_EQ(body.substr(begin, facts->stream_options_end - begin), R"([{"a":1}])");
    body_rewrite rewrite(body, *facts);
    EXPECT_FALSE(rewrite.ask_for_usage());
    EXPECT_EQ(rewrite.joined(), body);
}

TEST(rewrite, both_edits_together) {
    const std::string body = R"({"model":"m","stream":true,"stream_options":null,"z":1})";
    const auto facts = inspect(endpoint_kind::chat, body);
    body_rewrite rewrite(body, *facts);
    rewrite.ask_for_usage();
    rewrite.set_model("n");
    EXPECT_EQ(
        rewrite.joined(),
        R"({"model":"n","stream":true,"stream_options":{"include_usage":true},"z":1})"
    );
    EXPECT_EQ(rewrite.pieces().size(), 5U);
}

}  // namespace
}  // namespace sluice::openai
