#include "engine/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/hash.hpp"
#include "base/json_text.hpp"
#include "base/random.hpp"
#include "openai/errors.hpp"

namespace sluice::engine {

namespace {

using openai::endpoint_kind;

// About four bytes a token, the rule by which prompts are estimated; nothing that JSON escapes.
constexpr std::array<std::string_view, 32> words{
    " the",   " a",    " river", " runs", " down", " to",    " sea",  " and",
    " gate",  " lock", " of",    " old",  " mill", " turns", " as",   " wheel",
    " stone", " in",   " slow",  " rain", " on",   " oak",   " bank", " boat",
    " waits", " for",  " tide",  " then", " all",  " flow",  " past", " it",
};

/// Lengths that a conversation has when nobody asks for one: a few words to a page.
constexpr std::int64_t shortest_drawn = 16;
constexpr std::int64_t longest_drawn = 320;

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string usage_object(const answer_plan& plan) {
    return fmt::format(
        R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
        plan.prompt_tokens,
        plan.total_tokens(),
        plan.prompt_tokens + plan.total_tokens()
    );
}

std::string_view finish_reason(const answer_plan& plan) {
    return plan.length_reached ? R"("length")" : R"("stop")";
}

std::string choice_text(const answer_plan& plan, std::int64_t choice) {
    std::string text;
    for (std::int64_t i = 0; i < plan.tokens_each; ++i) {
        text += token_text(plan.seed, choice, i);
    }
    return text;
}

}  // namespace

void plan_length(
    answer_plan& plan, const openai::request_facts& facts, std::string_view body, tokens longest
) {
    plan.seed = stable_hash().add(body).value();
    plan.choices = facts.sequences;
    const std::int64_t room = (longest - facts.prompt).count() / facts.sequences;
    std::int64_t limit = std::max<std::int64_t>(room, 1);
    if (facts.output_limit) {
        limit = std::min(limit, facts.output_limit->count());
    }
    const std::int64_t wanted =
        facts.simulated_output ? facts.simulated_output->count()
                               : random_source(plan.seed).between(shortest_drawn, longest_drawn);
    plan.tokens_each = std::min(wanted, limit);
    plan.length_reached = wanted > limit;
}

std::string_view token_text(std::uint64_t seed, std::int64_t choice, std::int64_t index) {
    const auto step = static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15ULL;
    random_source random(seed + step + static_cast<std::uint64_t>(choice));
    return words[random.below(words.size())];
}

// ---- Streams ----

stream_text::stream_text(const answer_plan& plan) : x_plan(plan) {
    const bool chat = plan.kind == endpoint_kind::chat;
    x_head = fmt::format(
        R"(data: {{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
        json_quote(plan.id),
        chat ? "chat.completion.chunk" : "text_completion",
        plan.created,
        json_quote(plan.model)
    );
}

void stream_text::append_choice(
    std::string& out, std::int64_t choice, std::string_view delta, std::string_view finish
) const {
    out += x_head;
    append(
        out, R"({{"index":{},{},"logprobs":null,"finish_reason":{}}}]}})", choice, delta, finish
    );
    out += "\n\n";
}

void stream_text::append_tokens(std::string& out, std::int64_t from, std::int64_t to) const {
    const bool chat = x_plan.kind == endpoint_kind::chat;
    std::string delta;
    for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t choice = i % x_plan.choices;
        const std::string_view word = token_text(x_plan.seed, choice, i / x_plan.choices);
        if (chat && i < x_plan.choices) {
            append_choice(out, choice, R"("delta":{"role":"assistant","content":""})", "null");
        }
        delta.clear();
        if (chat) {
            append(delta, R"("delta":{{"content":"{}"}})", word);
        } else {
            append(delta, R"("text":"{}")", word);
        }
        append_choice(out, choice, delta, "null");
    }
}

void stream_text::append_end(std::string& out) const {
    const std::string_view nothing =
        x_plan.kind == endpoint_kind::chat ? R"("delta":{})" : R"("text":"")";
    for (std::int64_t choice = 0; choice < x_plan.choices; ++choice) {
        append_choice(out, choice, nothing, finish_reason(x_plan));
    }
    if (x_plan.include_usage) {
        append(out, "{}],\"usage\":{}}}\n\n", x_head, usage_object(x_plan));
    }
    out += "data: [DONE]\n\n";
}

// ---- Whole answers ----

std::string completion_body(const answer_plan& plan) {
    const bool chat = plan.kind == endpoint_kind::chat;
    std::string out = fmt::format(
        R"({{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
        json_quote(plan.id),
        chat ? "chat.completion" : "text_completion",
        plan.created,
        json_quote(plan.model)
    );
    for (std::int64_t choice = 0; choice < plan.choices; ++choice) {
        const std::string text = choice_text(plan, choice);
        append(out, R"({}{{"index":{},)", choice == 0 ? "" : ",", choice);
        if (chat) {
            append(out, R"("message":{{"role":"assistant","content":"{}"}})", text);
        } else {
            append(out, R"("text":"{}")", text);
        }
        append(out, R"(,"logprobs":null,"finish_reason":{}}})", finish_reason(plan));
    }
    append(out, R"(],"usage":{}}})", usage_object(plan));
    return out;
}

std::string embeddings_body(const answer_plan& plan, std::int64_t inputs) {
    std::string out = R"({"object":"list","data":[)";
    for (std::int64_t i = 0; i < inputs; ++i) {
        append(out, R"({}{{"object":"embedding","index":{},"embedding":[)", i == 0 ? "" : ",", i);
        random_source random(plan.seed + static_cast<std::uint64_t>(i));
        for (int part = 0; part < 8; ++part) {
            const auto value = static_cast<double>(random.between(-999, 999)) / 1000;
            append(out, "{}{}", part == 0 ? "" : ",", value);
        }
        out += "]}";
    }
    append(
        out,
        R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
        json_quote(plan.model),
        plan.prompt_tokens,
        plan.prompt_tokens
    );
    return out;
}

std::string model_list_body(std::string_view model, std::int64_t created, tokens longest) {
    const std::string name = json_quote(model);
    return fmt::format(
        R"({{"object":"list","data":[{{"id":{},"object":"model","created":{},)"
        R"("owned_by":"sluice-engine","root":{},"parent":null,"max_model_len":{}}}]}})",
        name,
        created,
        name,
        longest.count()
    );
}

// ---- Views of the engine ----

std::string stats_body(const sim::engine_stats& stats, const sim::engine_settings& settings) {
    const std::int64_t usable = settings.blocks - (settings.null_block ? 1 : 0);
    return fmt::format(
        R"({{"running":{},"peak_running":{},"kv_tokens_used":{},"peak_kv_tokens":{},"started":{},)"
        R"("finished":{},"aborted":{},"preemptions":{},"crashes":{},"in_batch":{},"waiting":{},)"
        R"("crashed_requests":{},"out_of_memory":{},"refused":{},"prompt_tokens":{},)"
        R"("generated_tokens":{},"iterations":{},"slots":{},"kv_tokens":{}}})",
        stats.running,
        stats.peak_running,
        stats.kv_tokens_used.count(),
        stats.peak_kv_tokens.count(),
        stats.started,
        stats.finished,
        stats.aborted,
        stats.preemptions,
        stats.crashes,
        stats.in_batch,
        stats.waiting,
        stats.crashed_requests,
        stats.out_of_memory,
        stats.refused,
        stats.prompt_tokens.count(),
        stats.generated_tokens.count(),
        stats.iterations,
        settings.slots,
        usable * settings.profile.block
    );
}

std::string metrics_body(
    std::string_view model, const sim::engine_stats& stats, const sim::engine_settings& settings
) {
    std::string out;
    // A JSON string escapes what a label value must: backslash, quote, line feed.
    const std::string labels = fmt::format(R"(engine="0",model_name={})", json_quote(model));
    const auto add = [&](std::string_view name,
                         std::string_view type,
                         std::string_view help,
                         auto value,
                         std::string_view more = {}) {
        append(out, "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
        append(out, "{}{{{}{}}} {}\n", name, labels, more, value);
    };
    const std::int64_t block = settings.profile.block;
    const std::int64_t usable = settings.blocks - (settings.null_block ? 1 : 0);
    const double use =
        static_cast<double>(stats.kv_tokens_used.count()) / static_cast<double>(usable * block);
    add("vllm:num_requests_running", "gauge", "Requests in the batch.", stats.in_batch);
    add("vllm:num_requests_waiting", "gauge", "Requests in the engine's queue.", stats.waiting);
    add("vllm:kv_cache_usage_perc", "gauge", "KV blocks in use, 1 is all of them.", use);
    add("vllm:num_preemptions_total", "counter", "Preemptions.", stats.preemptions);
    add("vllm:prompt_tokens_total",
        "counter",
        "Prompt tokens computed.",
        stats.prompt_tokens.count());
    add("vllm:generation_tokens_total",
        "counter",
        "Tokens generated.",
        stats.generated_tokens.count());
    add("vllm:request_success_total",
        "counter",
        "Requests that ended with all their tokens.",
        stats.finished,
        R"(,finished_reason="stop")");
    add("vllm:cache_config_info",
        "gauge",
        "The KV cache.",
        1,
        fmt::format(
            R"(,block_size="{}",num_gpu_blocks="{}",cache_dtype="auto")", block, settings.blocks
        ));
    add("sluice_engine_slots", "gauge", "Largest batch (max_num_seqs).", settings.slots);
    add("sluice_engine_crashes_total", "counter", "Crashes.", stats.crashes);
    return out;
}

std::string error_body(
    int status, std::string_view code, std::string_view message, std::string_view param
) {
    return fmt::format(
        R"({{"error":{{"message":{},"type":"{}","param":{},"code":"{}"}}}})",
        json_quote(message),
        openai::error_type(status),
        param.empty() ? "null" : json_quote(param),
        code
    );
}

}  // namespace sluice::engine
