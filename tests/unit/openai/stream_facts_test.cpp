#include "openai/stream_facts.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "unit/openai/bodies.hpp"

namespace sluice::openai {

void PrintTo(const answer_facts& facts, std::ostream* out) {
    const auto count = [](const std::optional<tokens>& value) {
        return value ? std::to_string(value->count()) : std::string("none");
    };
    *out << "events " << facts.events << " content " << facts.content_events << " bytes "
         << facts.content_bytes << " usage events " << facts.usage_events << " prompt "
         << count(facts.prompt_tokens) << " completion " << count(facts.completion_tokens)
         << " finished " << facts.finished_choices << " done " << facts.done << " failed "
         << facts.failed << facts.failed_first << " complete " << facts.complete_document;
}

namespace {

answer_reader read(answer_format format, std::string_view body) {
    answer_reader reader(format);
    reader.feed(body);
    reader.finish();
    return reader;
}

answer_reader stream(std::string_view body) {
    return read(answer_format::events, body);
}

event_kind kind_of(std::string_view data) {
    answer_reader reader(answer_format::events);
    return reader.take_event({{}, data, 0, 0});
}

const std::string chunk_a = R"(data: {"choices":[{"index":0,"delta":{"content":"日本✅"}}]})"
                            "\n\n";
const std::string chunk_b =
    "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"\u2028\u0085\"}, "
    "\"finish_reason\": null}], \"usage\": null}\n\n";
const std::string chunk_stop =
    R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
    "\n\n";
const std::string chunk_usage =
    R"(data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13,)"
    R"("prompt_tokens_details":{"cached_tokens":7}}})"
    "\n\n";
const std::string chunk_done = "data: [DONE]\n\n";

TEST(stream_facts, B15_counts_the_same_in_any_cut) {
    const std::string plain = chunk_a + chunk_b + chunk_usage + chunk_done;
    std::string joined = chunk_a +
                         "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"x\"}}]}\n\n" +
                         chunk_usage + chunk_done;
    std::string named = "event: message\nid: 1\n" + chunk_a + ": ping\n\nid: 2\nevent: m\n" +
                        chunk_b + "id: 3\n" + chunk_usage + chunk_done;
    std::string tight = plain;
    for (std::size_t at = 0; (at = tight.find("data: ", at)) != std::string::npos;) {
        tight.erase(at + 5, 1);
    }
    for (const std::string& shape : {plain, joined, named, tight}) {
        for (const char* end : {"\n", "\r\n", "\r"}) {
            std::string bytes;
            for (const char c : shape) {
                c == '\n' ? bytes.append(end) : bytes.append(1, c);
            }
            const answer_facts whole = stream(bytes).facts();
            EXPECT_EQ(whole.events, 3U);
            EXPECT_EQ(whole.content_events, 2U);
            EXPECT_EQ(whole.usage_events, 1U);
            EXPECT_EQ(whole.prompt_tokens, tokens(11));
            EXPECT_EQ(whole.completion_tokens, tokens(2));
            EXPECT_TRUE(whole.done);
            for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
                answer_reader two(answer_format::events);
                two.feed(exact_copy(std::string_view(bytes).substr(0, cut)).view());
                two.feed(exact_copy(std::string_view(bytes).substr(cut)).view());
                two.finish();
                ASSERT_EQ(two.facts(), whole) << cut;
            }
            answer_reader single(answer_format::events);
            for (const char c : bytes) {
                single.feed({&c, 1});
            }
            EXPECT_EQ(single.facts(), whole);
        }
    }
}

TEST(stream_facts, B10_a_clean_close_is_no_success) {
    const auto a = stream("");
    EXPECT_FALSE(a.succeeded());
    EXPECT_EQ(a.facts().events, 0U);
    EXPECT_FALSE(stream(chunk_a + chunk_a).succeeded());
    const auto c = stream(chunk_a + chunk_stop);
    EXPECT_TRUE(c.succeeded());
    EXPECT_FALSE(c.facts().done);
    EXPECT_FALSE(c.succeeded(2));  // n = 2 and one finished
    EXPECT_TRUE(stream(chunk_a + chunk_done).succeeded(2));
    const auto d = stream(chunk_a + chunk_stop.substr(0, 40));
    EXPECT_FALSE(d.succeeded());
    EXPECT_TRUE(d.inside_event());
    EXPECT_EQ(d.facts().events, 1U);
    const auto e = stream("data: {\"error\":{\"message\":\"x\",\"code\":400}}\n\n");
    EXPECT_FALSE(e.succeeded());
    EXPECT_TRUE(e.facts().failed_first);
    EXPECT_EQ(e.facts().failure_status, 400);
    const auto late = stream(
        chunk_a + "data: {\"error\":{\"message\":\"x\",\"code\":\"boom\"}}\n\n" + chunk_done
    );
    EXPECT_FALSE(late.succeeded());
    EXPECT_TRUE(late.facts().failed);
    EXPECT_FALSE(late.facts().failed_first);
    EXPECT_EQ(late.facts().failure_status, std::nullopt);
}

TEST(stream_facts, B10_the_end_may_lack_its_blank_line) {
    EXPECT_TRUE(stream(chunk_a + "data: [DONE]").succeeded());
    EXPECT_TRUE(stream(chunk_a + "data: [DONE]\n").succeeded());
    EXPECT_TRUE(stream(chunk_a + chunk_stop.substr(0, chunk_stop.size() - 2)).succeeded());
    // Every cut of the last event counts nothing of it.
    const std::string last =
        R"(data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})";
    for (std::size_t size = 0; size < last.size(); ++size) {
        const auto cut = stream(chunk_a + last.substr(0, size));
        ASSERT_EQ(cut.facts(), stream(chunk_a).facts()) << size;
        ASSERT_FALSE(cut.succeeded());
    }
    EXPECT_EQ(stream(chunk_a + last).facts().completion_tokens, tokens(2));
}

TEST(stream_facts, B11_usage_without_choices_and_choices_without_anything) {
    EXPECT_EQ(
        kind_of(R"({"usage":{"prompt_tokens":1,"completion_tokens":2}})"), event_kind::usage_only
    );
    EXPECT_EQ(kind_of(R"({"choices":[]})"), event_kind::other);
    EXPECT_EQ(kind_of(R"({"choices":null})"), event_kind::other);
    EXPECT_EQ(kind_of(R"({"choices":[{}]})"), event_kind::other);
    EXPECT_EQ(kind_of(R"({"choices":[null]})"), event_kind::other);
    EXPECT_EQ(kind_of(R"({"choices":{"delta":1}})"), event_kind::other);
    EXPECT_EQ(
        kind_of(R"({"choices":[{"delta":{"role":"assistant","content":""}}],"usage":null})"),
        event_kind::other
    );
    // Usage in every chunk (continuous_usage_stats) is no usage-only chunk.
    EXPECT_EQ(
        kind_of(
            R"({"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}})"
        ),
        event_kind::content
    );
    EXPECT_EQ(
        kind_of(R"({"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}})"),
        event_kind::other
    );
}

TEST(stream_facts, knows_content_of_every_shape) {
    for (const char* data : {
             R"({"choices":[{"delta":{"content":"x"}}]})",
             R"({"choices":[{"delta":{"reasoning_content":"x","content":null}}]})",
             R"({"choices":[{"delta":{"reasoning":"x"}}]})",
             R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]})",
             R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]})",
             R"({"choices":[{"index":0,"text":"x"}]})",
             R"({"type":"response.output_text.delta","delta":"x"})",
             R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}})",
         }) {
        EXPECT_EQ(kind_of(data), event_kind::content) << data;
    }
    for (const char* data : {
             R"({"choices":[{"delta":{"tool_calls":[]}}]})",
             R"({"choices":[{"index":0,"text":""}]})",
             R"({"type":"response.created","response":{"id":"r","error":null}})",
             R"({"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}})",
             R"({"type":"ping"})",
             "ping",
             "",
             "{",
             "null",
             "\xff\xfe",
             "]]]]",
             "{\"a\"}",
             R"("error")",
             R"({"x":{"error":{"message":"inner"}}})",
         }) {
        EXPECT_EQ(kind_of(data), event_kind::other) << data;
    }
    EXPECT_EQ(kind_of("[DONE]"), event_kind::done);
    EXPECT_EQ(kind_of(" [DONE] "), event_kind::done);
    EXPECT_EQ(kind_of(R"({"error":null,"choices":[{"text":"x"}]})"), event_kind::content);
    EXPECT_EQ(kind_of(R"({"error":"plain"})"), event_kind::failure);
    EXPECT_EQ(
        kind_of(R"({"type":"error","error":{"type":"overloaded_error"}})"), event_kind::failure
    );
    EXPECT_EQ(kind_of(R"({"type":"response.failed","response":{}})"), event_kind::failure);
}

TEST(stream_facts, text_cannot_pose_as_usage) {
    const auto facts =
        stream(
            R"(data: {"choices":[{"delta":{"content":"\"usage\":{\"prompt_tokens\":5}"},"usage":{"prompt_tokens":6}}]})"
            "\n\n"
            R"(data: {"x":{"usage":{"prompt_tokens":7}},"y":[{"finish_reason":"stop","error":1}]})"
            "\n\n"
        )
            .facts();
    EXPECT_EQ(facts.prompt_tokens, std::nullopt);
    EXPECT_EQ(facts.finished_choices, 0);
    EXPECT_FALSE(facts.failed);
}

TEST(stream_facts, absurd_usage_is_ignored) {
    for (const char* count :
         {"-1", "1.5", "\"7\"", "18446744073709551616", "1e3", "null", "[3]", "9007199254740992"}) {
        const auto facts =
            stream("data: {\"usage\":{\"prompt_tokens\":" + std::string(count) + "}}\n\n").facts();
        EXPECT_EQ(facts.prompt_tokens, std::nullopt) << count;
    }
}

TEST(stream_facts, reads_the_messages_and_responses_apis) {
    const auto messages_stream = stream(
        "event: message_start\ndata: "
        "{\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":"
        "{\"input_tokens\":9,\"cache_read_input_tokens\":100,\"output_tokens\":1}}}\n\n"
        "event: content_block_delta\ndata: "
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
        "event: message_delta\ndata: "
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_"
        "tokens\":15}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
    );
    EXPECT_TRUE(messages_stream.succeeded());
    EXPECT_EQ(messages_stream.facts().prompt_tokens, tokens(109));
    EXPECT_EQ(messages_stream.facts().completion_tokens, tokens(15));
    EXPECT_EQ(messages_stream.facts().content_events, 1U);
    EXPECT_EQ(messages_stream.facts().content_bytes, 2U);
    EXPECT_EQ(messages_stream.facts().finished_choices, 1);
    EXPECT_EQ(messages_stream.facts().usage_events, 0U);
    EXPECT_FALSE(stream("event: error\ndata: {\"type\":\"x\"}\n\n").succeeded());

    const auto answer = stream(
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\"}\n\n"
        "data: "
        "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"error\":null,"
        "\"usage\":{\"input_tokens\":3,\"input_tokens_details\":{\"cached_tokens\":2},\"output_"
        "tokens\":4}}}\n\n"
    );
    EXPECT_TRUE(answer.succeeded());
    EXPECT_EQ(answer.facts().prompt_tokens, tokens(3));
    EXPECT_EQ(answer.facts().completion_tokens, tokens(4));
    EXPECT_EQ(answer.facts().content_bytes, 5U);
}

TEST(stream_facts, reads_documents_in_any_cut) {
    const std::string body =
        "{\"id\": \"c\", \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", "
        "\"content\": "
        "\"Hi \\\"usage\\\": 日本\"}, \"finish_reason\": \"stop\"}, "
        "{\"message\":{\"content\":\"\"},"
        "\"finish_reason\":\"length\"}], \"usage\": {\"prompt_tokens\": 12, \"completion_tokens\": "
        "34}}\n";
    const auto whole = read(answer_format::document, body);
    EXPECT_TRUE(whole.succeeded());
    EXPECT_TRUE(whole.facts().complete_document);
    EXPECT_EQ(whole.facts().prompt_tokens, tokens(12));
    EXPECT_EQ(whole.facts().completion_tokens, tokens(34));
    EXPECT_EQ(whole.facts().finished_choices, 2);
    EXPECT_EQ(whole.facts().content_bytes, 20U);
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        answer_reader two(answer_format::document);
        two.feed(exact_copy(std::string_view(body).substr(0, cut)).view());
        EXPECT_EQ(two.succeeded(), cut >= body.size() - 1);
        two.feed(exact_copy(std::string_view(body).substr(cut)).view());
        two.finish();
        ASSERT_EQ(two.facts(), whole.facts()) << cut;
    }
}

TEST(stream_facts, reads_usage_behind_a_large_document) {
    answer_reader reader(answer_format::document);
    reader.feed(R"({"object":"list","data":[{"embedding":[)");
    for (int i = 0; i < 100000; ++i) {
        reader.feed("-0.0123456,0.5,1e-9,");
    }
    reader.feed(R"(0]}],"usage":{"prompt_tokens":8,"total_tokens":8}})");
    reader.finish();
    EXPECT_TRUE(reader.succeeded());
    EXPECT_EQ(reader.facts().prompt_tokens, tokens(8));
    EXPECT_EQ(reader.facts().completion_tokens, std::nullopt);
}

TEST(stream_facts, documents_that_failed) {
    const auto failed = read(answer_format::document, R"({"error":{"message":"x","code":"503"}})");
    EXPECT_FALSE(failed.succeeded());
    EXPECT_EQ(failed.facts().failure_status, 503);
    for (const char* body : {"", "[]]", "hello", "{\"a\":1", "{}{}", "\"a\"", "{}x", "{\"a\":}}"}) {
        EXPECT_FALSE(read(answer_format::document, body).succeeded()) << body;
    }
    EXPECT_TRUE(read(answer_format::document, " {} \n").succeeded());
}

TEST(stream_facts, any_bytes_are_survived_and_cuts_agree) {
    random_source random(11);
    const std::string seed = chunk_a + chunk_b + chunk_stop + chunk_usage + chunk_done;
    for (int round = 0; round < 5000; ++round) {
        std::string bytes = seed;
        for (std::uint64_t i = random.below(8); i > 0; --i) {
            bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        }
        for (const auto format : {answer_format::events, answer_format::document}) {
            const std::string_view text =
                format == answer_format::events ? bytes : std::string_view(bytes).substr(6);
            answer_reader whole(format);
            whole.feed(text);
            whole.finish();
            answer_reader cut(format);
            for (std::string_view rest = text; !rest.empty();) {
                const std::size_t size = 1 + random.below(rest.size());
                cut.feed(rest.substr(0, size));
                rest.remove_prefix(size);
            }
            cut.finish();
            ASSERT_EQ(cut.facts(), whole.facts()) << bytes;
        }
    }
}

TEST(stream_facts, knows_formats_by_content_type) {
    EXPECT_EQ(format_of("text/event-stream"), answer_format::events);
    EXPECT_EQ(format_of("Text/Event-Stream; charset=utf-8"), answer_format::events);
    EXPECT_EQ(format_of("application/json"), answer_format::document);
    EXPECT_EQ(format_of(""), answer_format::document);
}

}  // namespace
}  // namespace sluice::openai
