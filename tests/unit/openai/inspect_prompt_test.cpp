// How large a prompt is taken to be.
#include "openai/inspect.hpp"

#include <gtest/gtest.h>

#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

using enum endpoint_kind;

std::int64_t chat_tokens(std::string_view messages) {
    return facts_of(chat, R"({"model":"m","messages":)" + std::string(messages) + "}")
        .prompt.count();
}

TEST(inspect_prompt, best_of_counts_when_it_is_larger_than_n) {
    const auto of = [](std::string_view members) {
        return facts_of(
                   completions, R"({"model":"m","prompt":["a","b"],)" + std::string(members) + "}"
        )
            .sequences;
    };
    EXPECT_EQ(of(R"("n":2,"best_of":5)"), 10);
    EXPECT_EQ(of(R"("best_of":1,"n":3)"), 6);
}

TEST(inspect_prompt, estimates_text_by_the_stated_rule) {
    const auto completion = [](std::string_view text) {
        return facts_of(completions, R"({"model":"m","prompt":")" + std::string(text) + "\"}")
            .prompt.count();
    };
    EXPECT_EQ(completion(""), 1);
    EXPECT_EQ(completion("four"), 1);
    EXPECT_EQ(completion("five5"), 2);
    EXPECT_EQ(completion(std::string(4000, 'x')), 1000);
    EXPECT_EQ(completion("日本語"), 3);
    EXPECT_EQ(completion(R"(\u65e5\u672c\u8a9e)"), 3);  // the same, escaped
    EXPECT_EQ(completion("\U0001F600\U0001F600"), 2);   // emoji
    EXPECT_EQ(completion(R"(\ud83d\ude00)"), 1);
    EXPECT_EQ(completion("éé"), 1);                   // two bytes each
    EXPECT_EQ(completion(R"(\n\n\n\n)"), 1);          // escapes are what they stand for
    EXPECT_EQ(completion("日本語 and four"), 3 + 3);  // nine bytes of ASCII
}

TEST(inspect_prompt, options_change_the_estimate) {
    const inspect_options options{.bytes_per_token = 2, .per_message = tokens(0)};
    const auto facts = inspect_exact(
        chat, R"({"model":"m","messages":[{"role":"user","content":"12345678"}]})", options
    );
    EXPECT_EQ(facts->prompt, tokens(4));
}

TEST(inspect_prompt, counts_every_shape_of_message_content) {
    const std::string text(400, 'x');
    EXPECT_EQ(chat_tokens(R"([{"role":"user","content":")" + text + "\"}]"), 104);
    EXPECT_EQ(
        chat_tokens(R"([{"role":"user","content":[{"type":"text","text":")" + text + "\"}]}]"), 104
    );
    EXPECT_EQ(
        chat_tokens(R"([{"content":[{"text":")" + text + R"(","type":"text"},")" + text + "\"]}]"),
        204
    );
    EXPECT_EQ(chat_tokens(R"([{"role":"assistant","content":null}])"), 4);
    EXPECT_EQ(chat_tokens("[]"), 1);
    EXPECT_EQ(chat_tokens(R"([{},{}])"), 8);
    EXPECT_EQ(chat_tokens("null"), 4);
}

TEST(inspect_prompt, B29_pictures_are_a_constant) {
    const std::string data = "data:image/png;base64," + std::string(400000, 'A');
    const auto with = [](const std::string& parts) {
        return chat_tokens(
            R"([{"role":"user","content":[{"type":"text","text":"look"},)" + parts + "]}]"
        );
    };
    const std::int64_t text = chat_tokens(R"([{"role":"user","content":"look"}])");
    const auto image_url = [](const std::string& url) {
        return R"({"type":"image_url","image_url":{"url":")" + url + "\"}}";
    };
    const std::int64_t a = with(image_url(data));
    EXPECT_EQ(a, text + 1024);
    EXPECT_EQ(with(R"({"type":"input_image","image_url":")" + data + "\"}"), a);
    EXPECT_EQ(with(R"({"image_url":")" + data + R"(","type":"input_image"})"), a);
    EXPECT_EQ(with(R"({"image_url":{"url":")" + data + R"("}})"), a);  // no type at all
    EXPECT_EQ(with(image_url("https://example.org/a.png")), a);
    EXPECT_EQ(with(image_url(data) + ',' + image_url("https://example.org/a.png")), a + 1024);
    EXPECT_EQ(
        facts_of(
            responses,
            R"({"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"look"},)"
            R"({"type":"input_image","image_url":")" +
                data + "\"}]}]}"
        )
            .prompt.count(),
        a
    );
    EXPECT_EQ(
        facts_of(
            messages,
            R"({"model":"m","max_tokens":1,"messages":[{"role":"user","content":[)"
            R"({"type":"text","text":"look"},{"type":"image","source":{"type":"base64",)"
            R"("media_type":"image/png","data":")" +
                std::string(400000, 'A') + "\"}}]}]}"
        )
            .prompt.count(),
        a
    );
    EXPECT_EQ(with(R"({"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}})"), a);
}

TEST(inspect_prompt, B29_a_message_cannot_hide_as_a_picture) {
    const std::string text(8000, 'x');
    EXPECT_GE(chat_tokens(R"([{"type":"image_url","content":")" + text + "\"}]"), 2000);
    EXPECT_GE(chat_tokens(R"([{"image_url":"","content":")" + text + "\"}]"), 2000);
    // A part that says it is text is read as text by the engine, whatever else it carries.
    EXPECT_GE(
        chat_tokens(R"([{"content":[{"image_url":"","type":"text","text":")" + text + "\"}]}]"),
        2000
    );
}

TEST(inspect_prompt, B29_tools_and_calls_count) {
    const std::int64_t without = facts_of(chat, chat_with(R"("x":1)")).prompt.count();
    const std::string schema =
        R"([{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
        R"("properties":{"image_url":{"type":"image_url","description":")" +
        std::string(7840, 'd') + R"("}}}}}])";
    ASSERT_NEAR(static_cast<double>(schema.size()), 8000, 50);
    const auto tools = facts_of(chat, chat_with("\"tools\":" + schema));
    EXPECT_NEAR(
        static_cast<double>(tools.prompt.count() - without),
        static_cast<double>(schema.size()) / 4,
        1
    );
    const std::string arguments = R"({\"path\":\")" + std::string(400, 'p') + R"(\"})";
    const std::int64_t called = chat_tokens(
        R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
        R"("function":{"name":"f","arguments":")" +
        arguments + R"("}}]}])"
    );
    EXPECT_GE(called, 104);
    EXPECT_LE(called, 160);
    const std::int64_t used =
        facts_of(
            messages,
            R"({"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[)"
            R"({"type":"tool_use","id":"t","name":"f","input":{"image":")" +
                std::string(400, 'p') + R"("}}]}]})"
        )
            .prompt.count();
    EXPECT_GE(used, 104);
    EXPECT_LE(used, 160);
}

TEST(inspect_prompt, counts_the_prompts_of_the_other_apis) {
    const std::string text(400, 'x');
    EXPECT_EQ(
        facts_of(
            responses, R"({"model":"m","input":")" + text + R"(","instructions":")" + text + "\"}"
        )
            .prompt,
        tokens(204)
    );
    EXPECT_EQ(
        facts_of(
            messages,
            R"({"model":"m","max_tokens":5,"system":")" + text +
                R"(","messages":[{"role":"user","content":")" + text + "\"}]}"
        )
            .prompt,
        tokens(204)
    );
    EXPECT_EQ(
        facts_of(
            messages,
            R"({"model":"m","system":[{"type":"text","text":")" + text +
                R"(","cache_control":{"type":"ephemeral"}}],"messages":[]})"
        )
            .prompt,
        tokens(100)
    );
    EXPECT_EQ(
        facts_of(
            completions, R"({"model":"m","prompt":")" + text + R"(","suffix":")" + text + "\"}"
        )
            .prompt,
        tokens(200)
    );
    EXPECT_EQ(facts_of(embeddings, R"({"model":"m","input":[1,2,3]})").prompt, tokens(3));
    EXPECT_EQ(facts_of(embeddings, R"({"model":"m","input":[[1],[2,3]]})").prompts, 2);
    EXPECT_EQ(facts_of(embeddings, R"({"model":"m","input":"abcd"})").prompt, tokens(1));
    EXPECT_EQ(facts_of(completions, R"({"model":"m","prompt":[]})").sequences, 1);
    EXPECT_EQ(facts_of(completions, R"({"model":"m","prompt":null})").sequences, 1);
    EXPECT_EQ(facts_of(completions, R"({"model":"m","prompt":["a",[1,2],"b"]})").sequences, 3);
}

}  // namespace
}  // namespace sluice::openai
