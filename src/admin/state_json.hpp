// The state of pools as the JSON that `sluice status`, scripts and the live page read. Pure.
//
// Field names are public; what is not known is null, never zero.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coord/live_view.hpp"
#include "core/snapshot.hpp"

namespace sluice::admin {

/// One look at one pool, copied off its strand.
struct pool_look {
    std::string name;
    std::vector<std::string> models;
    std::string backend;
    std::string holder;
    core::pool_snapshot now;
    std::map<std::string, coord::live_worker, std::less<>> notes;  ///< By worker id.
};

std::string pools_json(std::span<const pool_look> looks);
std::string workers_json(std::span<const pool_look> looks);
std::string permits_json(std::span<const pool_look> looks);
std::string queue_json(std::span<const pool_look> looks);
/// {"pools":…,"workers":…,"queue":…}: one push of the live page.
std::string push_json(std::span<const pool_look> looks);

}  // namespace sluice::admin
