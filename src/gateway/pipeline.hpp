// The way of one request: inspect, ticket, wait, permit, forward, stream back, release, log.
#pragma once

#include "gateway/hall.hpp"
#include "net/server.hpp"

namespace sluice::gateway {

/// The handler of the data port. `in` outlives the exchange.
net::task<void> handle(hall& in, net::exchange& with);

}  // namespace sluice::gateway
