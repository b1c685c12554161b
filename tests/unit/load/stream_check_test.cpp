#include "load/stream_check.hpp"

#include <gtest/gtest.h>

#include "load/request_body.hpp"

namespace sluice::load {
namespace {

const std::string token = R"(data: {"choices":[{"index":0,"delta":{"content":"a"}}]})"
                          "\n\n";
const std::string finish_chunk =
    R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
    "\n\n";
const std::string done = "data: [DONE]\n\n";

std::string usage(int n) {
    return R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":)" +
           std::to_string(n) + "}}\n\n";
}

std::optional<std::string> verdict_of(const std::string& stream, bool exact = true) {
    stream_check check(exact);
    check.feed(stream);
    return check.finish();
}

TEST(stream_check, a_whole_stream_in_every_cut) {
    const std::string stream = token + token + finish_chunk + usage(2) + done;
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        stream_check check(true);
        const auto events = check.feed(std::string_view(stream).substr(0, cut)) +
                            check.feed(std::string_view(stream).substr(cut));
        EXPECT_EQ(events, 2);
        EXPECT_EQ(check.finish(), std::nullopt) << cut;
        EXPECT_EQ(check.output_tokens(), 2);
    }
    EXPECT_EQ(verdict_of(token + finish_chunk + done), std::nullopt) << "usage is not needed";
    EXPECT_EQ(verdict_of(": hello\n\n" + token + finish_chunk + done), std::nullopt);
}

TEST(stream_check, what_is_wrong_is_named) {
    struct wrong {
        std::string stream;
        const char* words;
    };
    const std::vector<wrong> all{
        {"", "no finish_reason"},
        {token + done, "no finish_reason"},
        {token + finish_chunk, "no [DONE]"},
        {token + finish_chunk + done + token, "after [DONE]"},
        {token + finish_chunk + done + done, "after [DONE]"},
        {token + finish_chunk + done + "data: {\"a", "without its end"},
        {token + "data: {\"error\":{\"message\":\"x\"}}\n\n", "error event"},
        {token + "data: <html>\n\n" + finish_chunk + done, "no JSON object"},
        {token + finish_chunk + usage(2) + done, "disagree"},
        {token + token + finish_chunk + usage(1) + done, "disagree"},
    };
    for (const wrong& one : all) {
        const auto verdict = verdict_of(one.stream);
        ASSERT_TRUE(verdict) << one.stream;
        EXPECT_NE(verdict->find(one.words), std::string::npos) << *verdict << "\n" << one.stream;
    }
    EXPECT_EQ(verdict_of(token + finish_chunk + usage(2) + done, false), std::nullopt);
}

TEST(request_body, four_bytes_a_token) {
    body_shape shape;
    shape.model = "m\"\xff";
    shape.output = tokens(7);
    shape.max_tokens = tokens(9);
    for (const std::int64_t n : {1, 2, 100, 5000}) {
        shape.input = tokens(n);
        shape.number = 12'345;
        const std::string body = chat_body(shape);
        const std::size_t start = body.find("\"content\":\"") + 11;
        const std::size_t end = body.find('"', start);
        EXPECT_EQ(end - start, static_cast<std::size_t>(4 * n));
        EXPECT_NE(
            body.find("\"max_tokens\":9,\"sluice_sim_output\":7,\"stream\":true"), std::string::npos
        );
        EXPECT_NE(body.find("\"model\":\"m\\\""), std::string::npos);
    }
    shape.stream = false;
    EXPECT_EQ(chat_body(shape).find("stream"), std::string::npos);
}

}  // namespace
}  // namespace sluice::load
