// At most one log line a second of a kind that strangers can cause, and how many were left out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice::gateway {

/// Any thread.
class line_limit {
public:
    /// How many were left out since the last line; nothing: this one is left out too.
    std::optional<std::int64_t> next() {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(since).count();
        std::int64_t due = x_due.load(std::memory_order_relaxed);
        if (now < due || !x_due.compare_exchange_strong(due, now + 1)) {
            x_left_out.fetch_add(1, std::memory_order_relaxed);
            return std::nullopt;
        }
        return x_left_out.exchange(0);
    }

private:
    std::atomic<std::int64_t> x_due{0};  // seconds of the steady clock
    std::atomic<std::int64_t> x_left_out{0};
};

}  // namespace sluice::gateway
