// The worker's time-outs of one request, each from its own start, on one timer.
//
//  1. Time in the queue counts against none of them (B20).
//  2. first_token: from sending to the first token. idle: between tokens. total: from sending.
//  3. The earlier end fires the request's signal with tag_worker_deadline; expired() says which.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/config_pool.hpp"
#include "net/abort.hpp"
#include "openai/errors.hpp"

namespace sluice::gateway {

inline constexpr unsigned tag_worker_deadline = 1;

class request_clock {
public:
    using clock = std::chrono::steady_clock;

    request_clock(
        net::executor where, net::abort_signal& signal, const config::timeout_options& limits
    )
        : x_limits(limits), x_timer(where, signal, tag_worker_deadline) {}

    /// The request goes to a worker now.
    void sending() {
        const auto now = clock::now();
        x_total_end = x_limits.total ? std::optional(now + *x_limits.total) : std::nullopt;
        arm(now, x_limits.first_token, openai::reason::first_token_timeout);
    }
    /// A token came.
    void progress(clock::time_point now) { arm(now, x_limits.idle, openai::reason::idle_timeout); }
    void stop() { x_timer.disarm(); }

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
    net::deadline x_timer;
    std::optional<clock::time_point> x_total_end;
    openai::reason x_reason = openai::reason::total_timeout;
};

}  // namespace sluice::gateway
