// The only place that names concrete backends.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "coord/ports.hpp"
#include "core/scheduler.hpp"
#include "net/asio.hpp"

namespace sluice::coord {

/// The ports of one pool. They may be faces of one object.
struct pool_ports {
    std::shared_ptr<admission_port> admission;
    std::shared_ptr<registry_port> registry;
};

/// Opens the pool behind `address` ("embedded"). `sink` outlives the ports; everything happens on
/// `where`. `unavailable` for a backend that this build does not have.
result<pool_ports> open_pool(
    std::string_view address,
    net::executor where,
    const core::scheduler_config& config,
    outcome_sink& sink
);

}  // namespace sluice::coord
