#include "gateway/request_record.hpp"

namespace sluice::gateway {

namespace {

using clock = request_record::clock;

double milliseconds(clock::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

/// Severity of the line: what an operator must look at stands out.
obs::level severity_of(openai::reason why) {
    switch (why) {
        case openai::reason::worker_failed:
        case openai::reason::upstream_error:
        case openai::reason::first_token_timeout:
        case openai::reason::idle_timeout:
        case openai::reason::backend_lost:
            return obs::level::warn;
        default:
            return obs::level::info;
    }
}

/// The engine's own count, else that of its events; nothing when neither was seen.
struct output_count {
    std::int64_t tokens = 0;
    std::string_view source = "unknown";
};
output_count output_of(const openai::answer_facts& answer) {
    if (answer.completion_tokens) {
        return {answer.completion_tokens->count(), "engine"};
    }
    if (answer.prompt_tokens) {
        return {0, "engine"};  // embeddings
    }
    if (answer.content_events > 0) {
        return {static_cast<std::int64_t>(answer.content_events), "counted"};
    }
    return {};
}

}  // namespace

double request_record::queue_ms(clock::time_point now) const {
    return milliseconds(granted.value_or(now) - arrived);
}

void warn_slow(const request_record& record, hall& in) {
    in.log->write(obs::log_line(obs::level::warn, "slow request")
                      .text("id", record.id)
                      .text("pool", record.in->options.name)
                      .text("worker", record.worker)
                      .real("duration_ms", milliseconds(clock::now() - *record.granted))
                      .number("prompt_tokens", record.prompt_estimate.count()));
}

void conclude(const request_record& record, hall& in) {
    const clock::time_point now = clock::now();
    const auto took = now - record.arrived;
    const std::int64_t prompt =
        record.answer.prompt_tokens.value_or(record.prompt_estimate).count();
    const output_count output = output_of(record.answer);

    pool_meters& meters = record.in != nullptr ? record.in->meters : in.stray;
    meters.count(record.outcome);
    meters.request_seconds.observe(milliseconds(took) / 1000);
    if (record.granted) {
        meters.queue_seconds.observe(record.queue_ms(now) / 1000);
        meters.prompt_tokens.add(static_cast<std::uint64_t>(prompt));
        meters.output_tokens.add(static_cast<std::uint64_t>(output.tokens));
    }
    if (record.first_token) {
        meters.ttft_seconds.observe(milliseconds(*record.first_token - record.arrived) / 1000);
    }

    const obs::level severity = severity_of(record.outcome);
    if (!in.log->wants(severity)) {
        return;
    }
    obs::log_line line(severity, "request");
    line.text("id", record.id).text("outcome", openai::to_string(record.outcome));
    line.text("pool", record.in ? std::string_view(record.in->options.name) : "");
    line.text("model", record.model.substr(0, openai::max_model_bytes));
    line.text("tenant", record.tenant).text("class", core::to_string(record.cls));
    line.text("worker", record.worker).number("status", record.status);
    line.real("queue_ms", record.queue_ms(now));
    line.real(
        "ttft_ms", record.first_token ? milliseconds(*record.first_token - record.arrived) : 0
    );
    line.real("duration_ms", milliseconds(took));
    line.number("prompt_tokens", prompt).number("output_tokens", output.tokens);
    line.number("events", static_cast<std::int64_t>(record.answer.events));
    line.text("usage", output.source).flag("stream", record.stream);
    line.number("attempts", record.attempts);
    if (!record.error.empty()) {
        line.text("error", record.error);
    }
    in.log->write(line);
}

}  // namespace sluice::gateway
