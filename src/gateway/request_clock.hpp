// The worker's time-outs of one request, each from its own start, on one timer.
//
//  1. Time in the queue counts against none of them (B20).
//  2. first_token: from sending to the first token. idle: between tokens. total: from sending.
//     A whole answer's first byte comes when its last token is done: see first_answer_limit().
//  3. The earlier end fires the request's signal with tag_worker_deadline; expired() says which.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/config_pool.hpp"
#include "gateway/admission_cost.hpp"
#include "net/abort.hpp"
#include "openai/errors.hpp"
#include "openai/inspect.hpp"

namespace sluice::gateway {

inline constexpr unsigned tag_worker_deadline = 1;

/// A healthy engine is not slower than this for each token of one answer.
inline constexpr duration slowest_pace = std::chrono::milliseconds(100);
/// Output of an answer without any limit from an engine whose context is not known.
inline constexpr tokens unlimited_output{4096};

/// How long the worker may take until its first byte. Streams: timeouts.first_token. Whole answers
/// may take the time of their tokens on top, so that a long one is not taken for a hung worker
/// (docs/decisions/0005). Nothing: without limit.
inline std::optional<duration> first_answer_limit(
    const config::timeout_options& limits,
    const openai::request_facts& facts,
    const cost_rules& rules
) {
    if (!limits.first_token || facts.stream || !facts.has_output) {
        return limits.first_token;
    }
    const tokens room = rules.context ? *rules.context - facts.longest_prompt : unlimited_output;
    const tokens output = std::max(std::min(facts.output_limit.value_or(room), room), tokens(1));
    // As a quantity of µs the sum saturates: a hostile limit cannot wrap it.
    const tokens micros = output * slowest_pace.count() + tokens(limits.first_token->count());
    return duration(micros.count());
}

class request_clock {
public:
    using clock = std::chrono::steady_clock;

    request_clock(
        net::executor where,
        net::abort_signal& signal,
        const config::timeout_options& limits,
        std::optional<duration> first_answer
    )
        : x_limits(limits),
          x_first_answer(first_answer),
          x_timer(where, signal, tag_worker_deadline) {}

    /// The request goes to a worker now.
    void sending() {
        const auto now = clock::now();
        x_total_end = x_limits.total ? std::optional(now + *x_limits.total) : std::nullopt;
        arm(now, x_first_answer, openai::reason::first_token_timeout);
    }
    /// A token came.
    void progress(clock::time_point now) { arm(now, x_limits.idle, openai::reason::idle_timeout); }
    void stop() { x_timer.disarm(); }

    std::optional<duration> first_answer() const { return x_first_answer; }
    /// Which limit the timer stands for.
    openai::reason expired() const { return x_reason; }

private:
    void arm(clock::time_point now, std::optional<duration> limit, openai::reason reason) {
        if (x_total_end) {
            const auto left = std::chrono::ceil<duration>(*x_total_end - now);
            if (!limit || left < *limit) {
                limit = std::max(left, duration::zero());
                reason = openai::reason::total_timeout;
            }
        }
        x_reason = reason;
        if (limit) {
            x_timer.arm(*limit);
        } else {
            x_timer.disarm();
        }
    }

    const config::timeout_options& x_limits;
    std::optional<duration> x_first_answer;
    net::deadline x_timer;
    std::optional<clock::time_point> x_total_end;
    openai::reason x_reason = openai::reason::total_timeout;
};

}  // namespace sluice::gateway
