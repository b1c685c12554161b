// Which of the gateway's answers a method and a path ask for. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "openai/inspect.hpp"

namespace sluice::gateway {

enum class route_kind : std::uint8_t {
    call,     ///< POST /v1/…: to a worker, by the model in the body.
    models,   ///< GET /v1/models
    model,    ///< GET /v1/models/{id}; `rest` is the id as it stands in the path.
    alive,    ///< GET /health, /live, /livez, /health/live
    ready,    ///< GET /ready, /readyz, /health/ready
    metrics,  ///< GET /metrics
    not_found,
    wrong_method,  ///< `allow` says what the path takes.
};

struct route {
    route_kind kind = route_kind::not_found;
    openai::endpoint_kind endpoint = openai::endpoint_kind::other;
    std::string_view rest;
    std::string_view allow;
};

route route_of(std::string_view method, std::string_view target);

}  // namespace sluice::gateway
