// What one request's body takes of the memory for all bodies.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "net/server.hpp"

namespace sluice::gateway {

/// Gives back when it ends. `sum` outlives it; the sum may be shared by all threads.
class body_share final : public net::body_room {
public:
    body_share(std::atomic<std::int64_t>& sum, bytes most) : x_sum(sum), x_most(most.count()) {}
    ~body_share() override { give_back(); }
    body_share(const body_share&) = delete;
    body_share& operator=(const body_share&) = delete;

    bool take(bytes more) override {
        const std::int64_t size = more.count();
        // Never above the bound, not even between a try and its return.
        std::int64_t before = x_sum.load(std::memory_order_relaxed);
        do {
            if (size > x_most - before) {
                return false;
            }
        } while (!x_sum.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
        x_taken += size;
        return true;
    }
    void give_back() {
        if (x_taken > 0) {
            x_sum.fetch_sub(std::exchange(x_taken, 0), std::memory_order_relaxed);
        }
    }

private:
    std::atomic<std::int64_t>& x_sum;
    const std::int64_t x_most;
    std::int64_t x_taken = 0;
};

}  // namespace sluice::gateway
