// What can happen to a pool: the inputs of scheduler::step().
//
// Text and reports are borrowed: they must live until step() returns.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/types.hpp"

namespace sluice::core {

struct tick {};

struct worker_joined {
    std::string_view worker;
    worker_epoch epoch{};
    std::uint32_t slots = 1;
    /// bytes::max(): unknown, slots alone decide.
    bytes kv_capacity = bytes::max();
    /// Whether headroom comes from reports (an agent) or from the sum of reserved peaks.
    bool reports = false;
    /// Newest token the worker has seen; ours will be higher.
    fencing_token max_token{};
};
struct worker_reported {
    const report* what = nullptr;
};
/// A worker without reports answered a probe: ends avoidance, gives a suspect one trial request.
struct worker_probed {
    std::string_view worker;
    worker_epoch epoch{};
};
struct worker_draining {
    std::string_view worker;
    worker_epoch epoch{};
};
struct worker_lost {
    std::string_view worker;
    worker_epoch epoch{};
};
struct ticket_submitted {
    ticket what;
};
struct ticket_cancelled {
    ticket_id id;
};
struct permit_renewed {
    ticket_id id;
    fencing_token token{};
    duration ttl = std::chrono::seconds(30);
};

/// How a request ended for its worker.
enum class release_outcome : std::uint8_t {
    ok,       ///< Complete answer.
    failed,   ///< The worker answered with an error or broke the connection.
    aborted,  ///< The client or the gateway gave up; says nothing about the worker.
    hung,     ///< A worker time-out: the slot is freed and the worker turns suspect.
};
struct permit_released {
    ticket_id id;
    fencing_token token{};
    release_outcome outcome = release_outcome::ok;
    tokens prompt;
    tokens output;
    const report* carried = nullptr;
};

/// Why a granted ticket goes back to the queue.
enum class requeue_why : std::uint8_t {
    refused,  ///< The guard at the worker's door said no.
    failed,   ///< The worker failed before anything was sent to the client.
};
struct permit_requeued {
    ticket_id id;
    fencing_token token{};
    requeue_why why = requeue_why::refused;
    const report* carried = nullptr;
};
/// A holder that returns states a request which still runs. `order_key`: as granted, 0 if unknown.
struct permit_adopted {
    ticket what;
    std::string_view worker;
    worker_epoch epoch{};
    std::uint32_t slot = 0;
    fencing_token old_token{};
    std::uint64_t order_key = 0;
    duration ttl = std::chrono::seconds(30);
};
struct session_lost {
    session_id session{};
};

using input = std::variant<
    tick,
    worker_joined,
    worker_reported,
    worker_probed,
    worker_draining,
    worker_lost,
    ticket_submitted,
    ticket_cancelled,
    permit_renewed,
    permit_released,
    permit_requeued,
    permit_adopted,
    session_lost>;

std::string_view to_string(release_outcome value);

}  // namespace sluice::core
