// How fast a request body becomes facts, by the shape of the body. Bytes a second of body.
#include <benchmark/benchmark.h>

#include <string>

#include "openai/inspect.hpp"
#include "openai/stream_facts.hpp"

namespace {

using namespace sluice::openai;

constexpr std::size_t megabyte = std::size_t{1} << 20;

std::string repeat_to(const std::string& unit, std::size_t size) {
    std::string out;
    out.reserve(size + unit.size());
    while (out.size() < size) {
        out += unit;
    }
    return out;
}

std::string chat_of(const std::string& message, std::size_t size) {
    std::string body = R"({"model":"llama-3-8b","stream":true,"max_tokens":512,"messages":[)";
    const std::string head = R"({"role":"user","content":")";
    while (body.size() < size) {
        body += head + message + "\"},";
    }
    body.back() = ']';
    return body + '}';
}

void run(benchmark::State& state, const std::string& body) {
    for (auto _ : state) {
        auto facts = inspect(endpoint_kind::chat, body);
        if (!facts) {
            state.SkipWithError(facts.error().message.c_str());
            break;
        }
        benchmark::DoNotOptimize(facts);
    }
    state.SetBytesProcessed(
        static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(body.size())
    );
}

const std::string plain = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. ";

void one_long_message(benchmark::State& state) {
    run(state, chat_of(repeat_to(plain, megabyte), megabyte));
}
void two_kilobyte_messages(benchmark::State& state) {
    run(state, chat_of(repeat_to(plain, 2048), megabyte));
}
void source_code(benchmark::State& state) {
    run(state, chat_of(repeat_to(R"(    if (x == \"y\") {\n        return x;\n)", 4096), megabyte));
}
void chinese(benchmark::State& state) {
    run(state, chat_of(repeat_to("日本語のテキストと中文文本。", 4096), megabyte));
}
void escaped_chinese(benchmark::State& state) {
    run(state, chat_of(repeat_to(R"(\u65e5\u672c)", 4096), megabyte));
}
void picture(benchmark::State& state) {
    std::string body = R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url",)"
                       R"("image_url":{"url":"data:image/png;base64,)";
    run(state, body + std::string(megabyte, 'A') + R"("}}]}]})");
}
void tool_schemas(benchmark::State& state) {
    std::string body = R"({"model":"m","messages":[],"tools":[)";
    while (body.size() < megabyte) {
        body += R"({"type":"function","function":{"name":"find","parameters":{"type":"object",)"
                R"("properties":{"path":{"type":"string","description":"Where to look for it"}},)"
                R"("required":["path"]}}},)";
    }
    body.back() = ']';
    run(state, body + '}');
}
void small_chat(benchmark::State& state) {
    run(state, R"({"model":"m","max_tokens":4,"messages":[{"role":"user","content":"hi"}]})");
}

void answer_stream(benchmark::State& state) {
    const std::string chunk =
        "data: {\"id\":\"chatcmpl-1234567890\",\"object\":\"chat.completion.chunk\","
        "\"created\":1700000000,\"model\":\"llama-3-8b\",\"choices\":[{\"index\":0,\"delta\":"
        "{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
    answer_reader reader(answer_format::events);
    for (auto _ : state) {
        reader.feed(chunk);
    }
    benchmark::DoNotOptimize(reader.facts());
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
    state.SetBytesProcessed(
        static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(chunk.size())
    );
}

BENCHMARK(one_long_message);
BENCHMARK(two_kilobyte_messages);
BENCHMARK(source_code);
BENCHMARK(chinese);
BENCHMARK(escaped_chinese);
BENCHMARK(picture);
BENCHMARK(tool_schemas);
BENCHMARK(small_chat);
BENCHMARK(answer_stream);

}  // namespace

BENCHMARK_MAIN();
