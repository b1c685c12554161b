// What the verbs that run a gateway have in common: the wiring of rooms that must not know each
// other, and what the configuration leaves to the app.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "gateway/service.hpp"
#include "obs/log.hpp"

namespace sluice::app {

/// Backends and admin port for a gateway. `log` null: stderr, as the configuration says.
gateway::wiring make_wiring(std::shared_ptr<obs::logger> log, duration grace);

/// `threads:` of the configuration, or one per core.
std::size_t thread_count(const config::gateway_config& config);

/// Turns every pool's kv.model_config into kv.bytes_per_token. An unknown model is an error that
/// says so: a guess would overrun a GPU.
result<void> resolve_models(config::gateway_config& config);

/// Pools for workers that nobody wrote a file about: each is asked for its model, and those with
/// the same model share a pool. Error: one does not answer, and so its model is not known.
result<std::vector<config::pool_options>> pools_of_workers(const std::vector<std::string>& urls);

}  // namespace sluice::app
