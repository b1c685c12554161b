// What is remembered of a request until its one log line, and where its time went.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.hpp"
#include "gateway/hall.hpp"
#include "openai/stream_facts.hpp"

namespace sluice::gateway {

struct request_record {
    using clock = std::chrono::steady_clock;

    clock::time_point arrived = clock::now();
    std::optional<clock::time_point> granted;
    std::optional<clock::time_point> first_token;

    std::string id;
    openai::reason outcome = openai::reason::ok;
    int status = 0;
    pool* in = nullptr;
    std::string_view model;
    std::string_view tenant;
    core::priority cls = core::priority::normal;
    bool lowered = false;  ///< The class is lower than what was asked for.
    std::string worker;
    std::uint32_t attempts = 0;
    std::string error;  ///< What the worker did wrong; of a request that failed by it.
    bool stream = false;
    tokens prompt_estimate;
    openai::answer_facts answer;

    /// Milliseconds in the queue; of a request without a permit, until `now`.
    double queue_ms(clock::time_point now) const;
};

/// Writes the line {"msg":"request",…} and adds to the meters. Once, when the request has ended.
void conclude(const request_record& record, hall& in);

/// Writes the line {"msg":"slow request",…} of a request that still runs; `granted` is set.
void warn_slow(const request_record& record, hall& in);

}  // namespace sluice::gateway
