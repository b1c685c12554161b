#include "openai/inspect.hpp"

#include <gtest/gtest.h>

#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

using enum endpoint_kind;

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

}  // namespace
}  // namespace sluice::openai
