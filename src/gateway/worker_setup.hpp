// From the configuration's workers to registered ones: what the file leaves out is read from the
// engines, once, before the gateway serves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "gateway/auth.hpp"
#include "gateway/worker_watch.hpp"
#include "obs/log.hpp"

namespace sluice::gateway {

/// Slots of an engine that does not say how many requests it runs: one for so many tokens of its KV
/// cache, within these bounds; the lower one when the cache is unknown as well.
inline constexpr std::int64_t tokens_a_slot = 2048;
inline constexpr std::int64_t fewest_slots = 8;
inline constexpr std::int64_t most_slots = 256;

/// A pool's workers, and what their engines said of the pool.
struct pool_setup {
    std::vector<watched_worker> workers;
    std::vector<std::string> models;            ///< Found; only asked for when none is configured.
    std::optional<std::int64_t> max_model_len;  ///< The smallest of all.
};

/// Reads all engines of all pools side by side, on a context of its own; at most two seconds.
/// Engines whose pool says everything are not asked. `epoch`: of every worker registered now.
/// An error: a worker's address is malformed or twice there, or a pool has neither configured nor
/// found models. An unreachable engine is a warning else.
result<std::vector<pool_setup>> set_up_workers(
    const config::gateway_config& config, const secrets& known, worker_epoch epoch, obs::logger& log
);

}  // namespace sluice::gateway
