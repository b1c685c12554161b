#include "openai/inspect.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

using enum endpoint_kind;

request_facts facts_of(endpoint_kind kind, std::string_view body) {
    const auto facts = inspect_exact(kind, body);
    EXPECT_TRUE(facts.has_value()) << body.substr(0, 300) << "\n"
                                   << (facts ? "" : facts.error().message);
    return facts.value_or(request_facts{});
}

std::string param_of(endpoint_kind kind, std::string_view body) {
    const auto facts = inspect_exact(kind, body);
    EXPECT_FALSE(facts.has_value()) << body;
    return facts ? "accepted" : facts.error().param;
}

std::string message_of(std::string_view body) {
    const auto facts = inspect_exact(chat, body);
    EXPECT_FALSE(facts.has_value()) << body.substr(0, 300);
    return facts ? "accepted" : facts.error().message;
}

std::int64_t chat_tokens(std::string_view messages) {
    return facts_of(chat, R"({"model":"m","messages":)" + std::string(messages) + "}")
        .prompt.count();
}

TEST(inspect, reads_a_plain_chat_body) {
    const std::string body =
        R"({"model":"llama-3-8b","max_tokens":4,"messages":[{"role":"user","content":"hi"}]})";
    const request_facts facts = facts_of(chat, body);
    EXPECT_EQ(facts.model, "llama-3-8b");
    EXPECT_EQ(
        body.substr(facts.model_begin, facts.model_end - facts.model_begin), "\"llama-3-8b\""
    );
    EXPECT_FALSE(facts.stream);
    EXPECT_FALSE(facts.include_usage);
    EXPECT_EQ(facts.output_limit, tokens(4));
    EXPECT_EQ(facts.sequences, 1);
    EXPECT_EQ(facts.prompt, tokens(5));  // one of text, four for the message
    EXPECT_TRUE(facts.has_output);
    EXPECT_FALSE(facts.priority.has_value());
    EXPECT_FALSE(facts.simulated_output.has_value());
}

TEST(inspect, knows_endpoints_by_path) {
    EXPECT_EQ(endpoint_of("/v1/chat/completions"), chat);
    EXPECT_EQ(endpoint_of("/v1/chat/completions/?a=b"), chat);
    EXPECT_EQ(endpoint_of("/v1/completions"), completions);
    EXPECT_EQ(endpoint_of("/v1/embeddings"), embeddings);
    EXPECT_EQ(endpoint_of("/v1/responses"), responses);
    EXPECT_EQ(endpoint_of("/v1/messages"), messages);
    EXPECT_EQ(endpoint_of("/v1/rerank"), other);
    EXPECT_EQ(endpoint_of(""), other);
    EXPECT_EQ(to_string(responses), "responses");
}

TEST(inspect, model_is_unescaped_and_its_range_is_raw) {
    const std::string body = "{ \"mod\\u0065l\" : \"a\\/\\u00e9\\ud83d\\ude00\" , \"x\":1}";
    const request_facts facts = facts_of(other, body);
    EXPECT_EQ(facts.model, "a/\u00e9\U0001F600");
    EXPECT_EQ(
        body.substr(facts.model_begin, facts.model_end - facts.model_begin),
        R"("a\/\u00e9\ud83d\ude00")"
    );
}

TEST(inspect, refuses_bodies_whose_model_is_unclear) {
    EXPECT_EQ(param_of(chat, "{}"), "model");
    EXPECT_EQ(param_of(chat, R"({"messages":[]})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":5})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":null})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":["m"]})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":""})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":"a","model":"a"})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":"a","x":{"model":"c"},"m\u006fdel":"b"})"), "model");
    EXPECT_EQ(param_of(other, R"({"model":"a","model":"b"})"), "model");
    EXPECT_EQ(param_of(chat, R"({"model":")" + std::string(513, 'm') + "\"}"), "model");
    EXPECT_EQ(facts_of(chat, R"({"model":")" + std::string(512, 'm') + "\"}").model.size(), 512U);
    EXPECT_EQ(facts_of(chat, R"({"x":{"model":"no"},"model":"yes"})").model, "yes");
}

TEST(inspect, refuses_a_second_key_of_any_member_it_reads) {
    EXPECT_EQ(param_of(chat, chat_with(R"("max_tokens":1,"max_tokens":800)")), "max_tokens");
    EXPECT_EQ(param_of(chat, chat_with(R"("messages":[])")), "messages");
    EXPECT_EQ(
        param_of(
            chat, chat_with(R"("stream_options":{"include_usage":false,"include_usage":true})")
        ),
        "stream_options"
    );
}

TEST(inspect, reads_stream_and_its_options) {
    const auto of = [](std::string_view members) { return facts_of(chat, chat_with(members)); };
    EXPECT_TRUE(of(R"("stream":true)").stream);
    EXPECT_FALSE(of(R"("stream":false)").stream);
    EXPECT_FALSE(of(R"("stream":null)").stream);
    const auto none = of(R"("stream":true)");
    const auto null = of(R"("stream":true,"stream_options":null)");
    const auto no = of(R"("stream":true,"stream_options":{"include_usage":false})");
    const auto yes = of(R"("stream":true,"stream_options":{"a":[1],"include_usage":true})");
    EXPECT_FALSE(none.include_usage_given || null.include_usage_given);
    EXPECT_TRUE(no.include_usage_given);
    EXPECT_FALSE(no.include_usage);
    EXPECT_TRUE(yes.include_usage && yes.include_usage_given);
    EXPECT_EQ(none.stream_options_end, 0U);
    EXPECT_EQ(null.stream_options_end - null.stream_options_begin, 4U);
    EXPECT_EQ(param_of(chat, chat_with(R"("stream":"true")")), "stream");
    EXPECT_EQ(param_of(chat, chat_with(R"("stream":1)")), "stream");
    EXPECT_EQ(param_of(chat, chat_with(R"("stream":[true])")), "stream");
    EXPECT_EQ(param_of(chat, chat_with(R"("stream_options":true)")), "stream_options");
    EXPECT_EQ(
        param_of(chat, chat_with(R"("stream_options":{"include_usage":1})")), "include_usage"
    );
}

TEST(inspect, B13_one_request_that_is_many) {
    const auto cost = [](const request_facts& facts) {
        return reserved_output(facts, std::nullopt, tokens(512)).count();
    };
    const auto a = facts_of(chat, chat_with(R"("max_tokens":100,"n":4)"));
    EXPECT_EQ(a.sequences, 4);
    EXPECT_EQ(cost(a), 400);

    const auto b =
        facts_of(completions, R"({"model":"m","prompt":["a","b","c"],"max_tokens":100})");
    EXPECT_EQ(b.sequences, 3);
    EXPECT_EQ(b.prompts, 3);
    EXPECT_EQ(cost(b), 300);

    const auto c = facts_of(completions, R"({"model":"m","prompt":[1,2,3,4]})");
    EXPECT_EQ(c.prompt, tokens(4));
    EXPECT_EQ(c.sequences, 1);

    const auto d = facts_of(completions, R"({"model":"m","prompt":[[1,2],[3,4,5]],"n":2})");
    EXPECT_EQ(d.prompt, tokens(5));
    EXPECT_EQ(d.longest_prompt, tokens(3));
    EXPECT_EQ(d.prompts, 2);
    EXPECT_EQ(d.sequences, 4);

    EXPECT_EQ(param_of(chat, chat_with(R"("n":4611686018427387904)")), "n");
    for (const char* bad :
         {"0",
          "-1",
          "1.5",
          "\"2\"",
          "129",
          "1e2",
          "true",
          "[1]",
          "{}",
          "-0",
          "99999999999999999999999999"}) {
        EXPECT_EQ(param_of(chat, chat_with("\"n\":" + std::string(bad))), "n") << bad;
        EXPECT_EQ(
            param_of(
                completions, R"({"model":"m","prompt":"a","best_of":)" + std::string(bad) + "}"
            ),
            "best_of"
        ) << bad;
    }
    EXPECT_EQ(facts_of(chat, chat_with(R"("n":null)")).sequences, 1);
    EXPECT_EQ(facts_of(chat, chat_with(R"("n":128)")).sequences, 128);

    std::string inputs;
    for (int i = 0; i < 512; ++i) {
        inputs += std::string(i == 0 ? "" : ",") + R"("twelve bytes")";
    }
    const auto g = facts_of(embeddings, R"({"model":"m","input":[)" + inputs + "]}");
    EXPECT_GE(g.prompt, tokens(512 * 3));
    EXPECT_EQ(g.longest_prompt, tokens(3));
    EXPECT_FALSE(g.has_output);
    EXPECT_EQ(cost(g), 0);
}

TEST(inspect, best_of_counts_when_it_is_larger_than_n) {
    const auto of = [](std::string_view members) {
        return facts_of(
                   completions, R"({"model":"m","prompt":["a","b"],)" + std::string(members) + "}"
        )
            .sequences;
    };
    EXPECT_EQ(of(R"("n":2,"best_of":5)"), 10);
    EXPECT_EQ(of(R"("best_of":1,"n":3)"), 6);
}

TEST(inspect, B14_limits_that_are_no_limits_are_refused) {
    for (const char* name : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
        for (const char* bad :
             {"0",
              "-5",
              "18446744073709551615",
              "16.5",
              "\"16\"",
              "true",
              "[]",
              "9007199254740992",
              "1e3",
              "-0",
              "-9223372036854775808"}) {
            const std::string members = '"' + std::string(name) + "\":" + bad;
            EXPECT_EQ(param_of(chat, chat_with(members)), name) << members;
        }
        const auto null = facts_of(chat, chat_with('"' + std::string(name) + "\":null"));
        EXPECT_FALSE(null.output_limit.has_value());
    }
    const auto both = facts_of(chat, chat_with(R"("max_tokens":1,"max_completion_tokens":800)"));
    EXPECT_EQ(both.output_limit, tokens(800));
    const auto swapped = facts_of(chat, chat_with(R"("max_completion_tokens":1,"max_tokens":800)"));
    EXPECT_EQ(swapped.output_limit, tokens(800));
    EXPECT_EQ(
        facts_of(responses, R"({"model":"m","input":"a","max_output_tokens":7})").output_limit,
        tokens(7)
    );
}

TEST(inspect, B14_reserved_output) {
    request_facts facts;
    facts.prompt = tokens(1000);
    facts.longest_prompt = tokens(1000);
    const auto reserve = [&](std::optional<tokens> limit) {
        facts.output_limit = limit;
        return reserved_output(facts, tokens(8192), tokens(512)).count();
    };
    EXPECT_EQ(reserve(tokens(800)), 800);
    EXPECT_EQ(reserve(std::nullopt), 512);
    EXPECT_EQ(reserve(tokens(65536)), 7192);
    EXPECT_EQ(reserve(tokens::max()), 7192);
    facts.sequences = 4;
    EXPECT_EQ(reserve(tokens(100)), 400);
    EXPECT_EQ(reserve(tokens(65536)), 4 * 7192);
    facts.sequences = 128;
    facts.output_limit = tokens::max();
    EXPECT_EQ(reserved_output(facts, std::nullopt, tokens(512)), tokens::max());  // no wrap
    facts.sequences = 1;
    facts.prompt = tokens(9000);  // an estimate over the context still reserves something
    EXPECT_EQ(reserve(tokens(65536)), 1);
    EXPECT_EQ(reserved_output(facts, tokens(8192), tokens(0)), tokens(1));
    facts.prompts = 2;
    facts.sequences = 2;
    facts.prompt = tokens(3000);  // 1000 and 2000
    EXPECT_EQ(reserve(tokens(65536)), 2 * 8192 - 3000);
    facts.has_output = false;
    EXPECT_EQ(reserve(tokens(65536)), 0);
}

TEST(inspect, other_endpoints_are_read_with_forbearance) {
    const auto odd = facts_of(
        other, R"({"model":"m","n":"2","max_tokens":"16","stream":"x","stream_options":7,"a":1})"
    );
    EXPECT_EQ(odd.sequences, 1);
    EXPECT_FALSE(odd.output_limit.has_value());
    EXPECT_FALSE(odd.has_output);
    const auto rerank = facts_of(
        other, R"({"model":"m","query":"eight by","documents":["four","four",{"text":"four"}]})"
    );
    EXPECT_EQ(rerank.prompts, 3);
    EXPECT_EQ(rerank.prompt, tokens(3 * (2 + 1)));
    EXPECT_FALSE(rerank.has_output);
    EXPECT_TRUE(facts_of(other, R"({"model":"m","max_tokens":5})").has_output);
    EXPECT_TRUE(facts_of(other, R"({"model":"m","prompt":"x"})").has_output);
}

TEST(inspect, priority_is_read_when_it_is_a_whole_number) {
    EXPECT_EQ(facts_of(chat, chat_with(R"("priority":-3)")).priority, -3);
    EXPECT_EQ(facts_of(chat, chat_with(R"("priority":"high")")).priority, std::nullopt);
    EXPECT_EQ(facts_of(chat, chat_with(R"("priority":1.5)")).priority, std::nullopt);
    EXPECT_EQ(facts_of(chat, chat_with(R"("priority":{"a":1})")).priority, std::nullopt);
}

TEST(inspect, simulated_output_is_a_positive_number) {
    EXPECT_EQ(facts_of(chat, chat_with(R"("sluice_sim_output":37)")).simulated_output, tokens(37));
    EXPECT_EQ(param_of(chat, chat_with(R"("sluice_sim_output":0)")), "sluice_sim_output");
    EXPECT_EQ(
        facts_of(chat, chat_with(R"("sluice_sim_output":null)")).simulated_output, std::nullopt
    );
}

TEST(inspect, estimates_text_by_the_stated_rule) {
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

TEST(inspect, options_change_the_estimate) {
    const inspect_options options{.bytes_per_token = 2, .per_message = tokens(0)};
    const auto facts = inspect_exact(
        chat, R"({"model":"m","messages":[{"role":"user","content":"12345678"}]})", options
    );
    EXPECT_EQ(facts->prompt, tokens(4));
}

TEST(inspect, counts_every_shape_of_message_content) {
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

TEST(inspect, B29_pictures_are_a_constant) {
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

TEST(inspect, B29_a_message_cannot_hide_as_a_picture) {
    const std::string text(4000, 'x');
    EXPECT_GE(chat_tokens(R"([{"type":"image_url","content":")" + text + "\"}]"), 1000);
    EXPECT_GE(chat_tokens(R"([{"image_url":"","content":")" + text + "\"}]"), 1000);
}

TEST(inspect, B29_tools_and_calls_count) {
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

TEST(inspect, counts_the_prompts_of_the_other_apis) {
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

TEST(inspect, B40_says_what_is_wrong_with_a_body) {
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

TEST(inspect, depth_has_a_limit_in_every_place) {
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

TEST(inspect, refuses_invalid_json_wherever_it_stands) {
    const std::vector<std::string> bad{
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
    for (const std::string& value : bad) {
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

TEST(inspect, accepts_valid_json_wherever_it_stands) {
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

TEST(inspect, every_truncation_of_a_valid_body_is_refused) {
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
TEST(inspect, reads_no_byte_behind_the_body) {
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

TEST(inspect, large_bodies_leave_small_ones_alone) {
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
