// What the scheduler decides, each decision with its reason.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "core/inputs.hpp"

namespace sluice::core {

enum class decision_kind : std::uint8_t {
    granted,      ///< The ticket may run: worker, epoch, slot, token, peak_kv, waited, passed_by.
    adopted,      ///< A running request is known again, under a new token on its old slot.
    requeued,     ///< The permit ended, the ticket waits in its old place.
    rejected,     ///< Final: `why`, retry_after (zero: never), queue_length.
    timed_out,    ///< Final: waited its whole time; retry_after, queue_length.
    cancelled,    ///< Final: the caller took it back while it waited.
    released,     ///< Final: the permit was given back.
    lost,         ///< Final: the permit ended without its holder (`why`).
    call_failed,  ///< The call had no effect: `failure`.
    worker_suspect,  ///< No more grants until it is probed (`why`).
    worker_ready,    ///< A suspect worker passed its trial.
};

/// The reason that goes with a decision.
enum class decision_why : std::uint8_t {
    none,
    in_order,        ///< granted: first in order, and it fits.
    bypass,          ///< granted: earlier ones were too large for today's holes.
    reservation,     ///< granted: capacity had been kept for it.
    hint,            ///< granted: on a worker that holds part of its prompt.
    low_share,       ///< granted: the low class was owed its share.
    too_large,       ///< rejected: no worker of the pool could ever hold it.
    queue_full,      ///< rejected: count or bytes of the queue are at their limit.
    no_worker,       ///< rejected: the pool has no worker at all.
    queue_timeout,   ///< timed_out.
    permit_expired,  ///< lost: not renewed in time.
    session_lost,    ///< lost / cancelled: its holder is gone.
    hung,            ///< worker_suspect: a request on it hung.
    report_stale,    ///< worker_suspect: its reports stopped.
    trial_failed,    ///< worker_suspect: the trial request did not end well.
    slot_taken,      ///< call_failed of an adoption: somebody else holds that slot.
};

struct decision {
    decision_kind kind = decision_kind::granted;
    decision_why why = decision_why::none;
    release_outcome outcome = release_outcome::ok;
    errc failure = errc::invalid_argument;
    ticket_id ticket;
    worker_number worker = no_worker;
    std::uint32_t slot = 0;
    worker_epoch epoch{};
    fencing_token token{};
    bytes peak_kv;
    std::uint64_t order_key = 0;
    duration waited = duration::zero();
    duration retry_after = duration::zero();
    std::uint32_t queue_length = 0;
    std::uint32_t passed_by = 0;

    friend bool operator==(const decision&, const decision&) = default;
};

std::string_view to_string(decision_kind value);
std::string_view to_string(decision_why value);

}  // namespace sluice::core
