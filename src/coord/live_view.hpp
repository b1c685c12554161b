// What a running gateway lets others look at: its pools as copies, its readiness, its metrics.
//
// The gateway fills it, the admin port reads it; neither knows the other. Plain values and
// functions; every function may be called from any thread unless it says otherwise, never blocks,
// and calls back on the strand of the pool.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot.hpp"

namespace sluice::coord {

/// What a pool's snapshot does not know of a worker.
struct live_worker {
    std::string model;  ///< Empty: not known.
    std::string probe;  ///< How its figures are learned: "vllm", "static" …
};

struct live_pool {
    std::string name;
    std::vector<std::string> models;  ///< Names that clients may use, aliases included.
    std::string backend;
    /// Calls `done` once with the pool's state; at most `waiting_at_most` tickets are listed.
    std::function<
        void(std::size_t waiting_at_most, std::function<void(const core::pool_snapshot&)> done)>
        look;
    /// Only inside a callback of `look`.
    std::function<live_worker(std::string_view id)> worker;
};

struct live_view {
    std::vector<live_pool> pools;
    /// Who holds the permits of this process, as `sluice permits` prints it.
    std::string holder;
    /// Whether new requests are taken.
    std::function<bool()> ready;
    /// Calls `done` with the metrics in the Prometheus text format, on a thread of the gateway.
    std::function<void(std::function<void(std::string text)> done)> metrics;
};

}  // namespace sluice::coord
