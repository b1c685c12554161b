// The only place that names concrete backends.
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "coord/ports.hpp"
#include "core/scheduler.hpp"
#include "net/asio.hpp"

namespace sluice::coord {

/// Opens the pool behind `address` ("embedded"). `sink` outlives the ports; everything happens on
/// `where`. `unavailable` for a backend that this build does not have.
result<pool_ports> open_pool(
    std::string_view address,
    net::executor where,
    const core::scheduler_config& config,
    outcome_sink& sink
);

}  // namespace sluice::coord
