// A pool while the gateway runs: its configuration, its queue, its workers, its meters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "coord/ports.hpp"
#include "gateway/admission_cost.hpp"
#include "gateway/admission_hub.hpp"
#include "obs/metrics.hpp"
#include "openai/errors.hpp"

namespace sluice::gateway {

class worker_watch;

/// Metrics of one pool; the hot path adds to them, a scrape sets the gauges.
struct pool_meters {
    pool_meters(obs::metrics& in, std::string_view pool);

    void count(openai::reason why) { x_outcomes[static_cast<std::size_t>(why)]->add(); }

    obs::histogram& queue_seconds;
    obs::histogram& ttft_seconds;
    obs::histogram& request_seconds;
    obs::counter& prompt_tokens;
    obs::counter& output_tokens;
    obs::gauge& inflight;
    std::array<obs::gauge*, core::priority_count> waiting{};
    obs::gauge& slots;
    obs::gauge& permits_in_use;
    obs::gauge& kv_capacity;
    obs::gauge& kv_reserved;

    void show(const core::pool_snapshot& now);

private:
    std::array<obs::counter*, openai::reason_count> x_outcomes{};
};

/// Built at start-up, constant afterwards but for what is atomic or has its own rule.
struct pool {
    pool(config::pool_options from, obs::metrics& in);
    ~pool();

    config::pool_options options;
    pool_meters meters;
    coord::pool_ports ports;              ///< On the strand.
    std::shared_ptr<admission_hub> hub;   ///< Any thread.
    std::shared_ptr<worker_watch> watch;  ///< On the strand.
    /// Longest prompt with its answer; 0: not known. Learned from the engine when not configured.
    std::atomic<std::int64_t> context{0};

    cost_rules rules() const;
};

}  // namespace sluice::gateway
