// What the data port answers without a worker: health, models, metrics, and what is not there.
#pragma once

#include "gateway/hall.hpp"
#include "gateway/routes.hpp"
#include "net/server.hpp"

namespace sluice::gateway {

/// Answers every route but `call`. `in` outlives the exchange.
net::task<void> answer_page(hall& in, net::exchange& with, const route& where);

}  // namespace sluice::gateway
