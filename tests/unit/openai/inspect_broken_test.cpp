// Bodies that are no JSON, or no JSON that we take.
#include "openai/inspect.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

using enum endpoint_kind;

std::string message_of(std::string_view body) {
    const auto facts = inspect_exact(chat, body);
    EXPECT_FALSE(facts.has_value()) << body.substr(0, 300);
    return facts ? "accepted" : facts.error().message;
}

TEST(inspect_broken, B40_says_what_is_wrong_with_a_body) {
    EXPECT_EQ(message_of(""), "body is empty, send a JSON object");
    EXPECT_EQ(message_of(" \r\n\t"), "body is empty, send a JSON object");
    EXPECT_EQ(message_of("[]"), "body must be one JSON object");
    EXPECT_EQ(message_of("\"model\""), "body must be one JSON object");
    EXPECT_EQ(message_of("{\"model\":\"\xff\xc3\"}"), "body is not valid UTF-8");
    EXPECT_EQ(
        message_of(R"({"model":"m","x":[1,]})"),
        "body is not valid JSON at byte 20: a value is expected here"
    );
    EXPECT_EQ(
        message_of(R"({"model":"m")"), "body is not valid JSON at byte 12: it ends too early"
    );
    message_of(std::string(100000, '['));
    message_of(R"({"model":"m","x":)" + std::string(100000, '['));
    message_of(R"({"model":"m","messages":[{"content":)" + std::string(100000, '['));
    EXPECT_EQ(param_of(chat, R"({"model":5)" + std::string(100000, '{')), "model");
}

TEST(inspect_broken, depth_has_a_limit_in_every_place) {
    const auto nested = [](const std::string& before, std::size_t levels, const std::string& after
                        ) {
        const std::string body =
            before + std::string(levels, '[') + std::string(levels, ']') + after;
        return inspect_exact(chat, body).has_value();
    };
    EXPECT_TRUE(nested(R"({"model":"m","x":)", 511, "}"));
    EXPECT_FALSE(nested(R"({"model":"m","x":)", 512, "}"));
    EXPECT_TRUE(nested(R"({"model":"m","tools":)", 511, "}"));
    EXPECT_FALSE(nested(R"({"model":"m","tools":)", 512, "}"));
    EXPECT_TRUE(nested(R"({"model":"m","messages":[{"content":)", 509, "}]}"));
    EXPECT_FALSE(nested(R"({"model":"m","messages":[{"content":)", 510, "}]}"));
}

const std::vector<std::string> invalid_values{
    "[1,]",
    "[,1]",
    "[1 2]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{1:2}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "[1}",
    "{\"a\":1]",
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "NaN",
    "Infinity",
    "tru",
    "True",
    "nul",
    "nullx",
    "truefalse",
    "'a'",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"a\tb\"",
    "\"a\nb\"",
    "\"a\"b",
    "\"a\"\"b\"",
    "1\"a\"",
    "[1]]",
    "[[1]",
    "",
    "1//c",
    "/*c*/1",
    "\x01",
    "\f1",
    "1\f",
    "\x1a",
    "{\"a\"\x1a"
    "1}",
    "[1\f2]",
    "{\"\\x\":1}",
    "{\"\\ud800\":1}",
    std::string("1\0", 2),
    std::string("\"\0\"", 3),
    "\xEF\xBB\xBF"
    "1",
    "\"\xC0\x80\"",
    "\"\xED\xA0\x80\"",
    "\"\xF4\x90\x80\x80\"",
    "\"\xE3\x81\"",
};

TEST(inspect_broken, refuses_invalid_json_wherever_it_stands) {
    for (const std::string& value : invalid_values) {
        for (const char* place :
             {"x",
              "tools",
              "messages",
              "response_format",
              "prompt",
              "stream",
              "n",
              "model",
              "max_tokens",
              "stream_options",
              "priority"}) {
            for (const endpoint_kind kind : {chat, completions, other}) {
                const std::string model = place == std::string("model") ? "" : "\"model\":\"m\",";
                const std::string body = "{" + model + "\"" + place + "\":" + value + "}";
                EXPECT_FALSE(inspect_exact(kind, body).has_value()) << body;
            }
        }
        const std::string content =
            R"({"model":"m","messages":[{"role":"user","content":)" + value + "}]}";
        EXPECT_FALSE(inspect_exact(chat, content).has_value()) << content;
    }
    for (const char* tail : {"}", "{}", ",", "1", "\"a\"", "x", "]"}) {
        EXPECT_FALSE(inspect_exact(chat, R"({"model":"m"})" + std::string(tail)).has_value())
            << tail;
    }
    EXPECT_TRUE(inspect_exact(chat, " \n{\"model\" : \"m\" } \r\n\t").has_value());
}

TEST(inspect_broken, accepts_valid_json_wherever_it_stands) {
    for (const char* value :
         {"{}",
          "[]",
          "[ ]",
          "{ }",
          "0",
          "-0",
          "-0.5e-7",
          "1E+2",
          "10.25",
          "true",
          "false",
          "null",
          "\"\"",
          R"("\"\\\/\b\f\n\r\t\u0000\uD83D\uDE00")",
          R"([[],{},[{}],{"a":{"a":[1,"2",null]}}])",
          "\"\u2028\u0085\x7f\""}) {
        EXPECT_TRUE(inspect_exact(chat, chat_with("\"x\":" + std::string(value)))) << value;
        EXPECT_TRUE(inspect_exact(chat, chat_with("\"tools\":" + std::string(value)))) << value;
        EXPECT_TRUE(inspect_exact(
            chat, R"({"model":"m","messages":[{"content":)" + std::string(value) + "}]}"
        )) << value;
    }
}

TEST(inspect_broken, every_truncation_of_a_valid_body_is_refused) {
    const std::string body =
        R"({"model":"m\u00e9","stream":true,"stream_options":{"include_usage":true},"n":2,)"
        R"("max_tokens":16,"priority":-1,"x":[1.5e3,"日本\n",{"a":null}],"tools":[{"a":"\ud83d\ude00"}],)"
        R"("messages":[{"role":"user","content":[{"type":"text","text":"hi"},)"
        R"({"type":"image_url","image_url":{"url":"data:,"}}]},)"
        R"({"role":"assistant","content":null,"tool_calls":[{"function":{"arguments":"{}"}}]}]})";
    for (const endpoint_kind kind : {chat, completions, embeddings, responses, messages, other}) {
        EXPECT_TRUE(inspect_exact(kind, body).has_value());
        for (std::size_t size = 0; size < body.size(); ++size) {
            const auto facts = inspect_exact(kind, body.substr(0, size));
            ASSERT_FALSE(facts.has_value()) << size;
            ASSERT_FALSE(facts.error().message.empty());
        }
    }
}

// simdjson's own code is not instrumented: only a page that may not be read shows a read past the
// body's end.
TEST(inspect_broken, reads_no_byte_behind_the_body) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* memory =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    char* const end = static_cast<char*>(memory) + page;
    ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
    std::string body = chat_with(R"("x":"\u65e5\n")");
    for (int i = 0; i < 300; ++i) {
        body.insert(10, 1, 'm');
        char* const begin = end - body.size();
        body.copy(begin, body.size());
        EXPECT_TRUE(inspect(chat, {begin, body.size()}).has_value());
        EXPECT_FALSE(inspect(chat, {begin + 1, body.size() - 1}).has_value());
        begin[body.size() - 1] = '"';
        EXPECT_FALSE(inspect(chat, {begin, body.size()}).has_value());
    }
    munmap(memory, 2 * page);
}

TEST(inspect_broken, large_bodies_leave_small_ones_alone) {
    const std::string large =
        chat_with("\"x\":\"" + std::string(2 * retained_body_bytes, 'x') + '"');
    EXPECT_TRUE(inspect(chat, large).has_value());
    EXPECT_EQ(facts_of(chat, chat_with(R"("n":3)")).sequences, 3);
    const std::string brackets =
        R"({"model":"m","x":[)" + std::string(2 * retained_body_bytes, ' ') + "1]}";
    EXPECT_TRUE(inspect(chat, brackets).has_value());
}

}  // namespace
}  // namespace sluice::openai
