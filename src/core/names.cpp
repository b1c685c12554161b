// Names of the core's enumerations as they appear in recordings, logs and admin pages.
#include "core/decisions.hpp"
#include "core/snapshot.hpp"

namespace sluice::core {

std::string_view to_string(priority value) {
    switch (value) {
        case priority::high:
            return "high";
        case priority::normal:
            return "normal";
        case priority::low:
            return "low";
    }
    return "unknown";
}

std::string_view to_string(worker_state value) {
    switch (value) {
        case worker_state::ready:
            return "ready";
        case worker_state::draining:
            return "draining";
        case worker_state::suspect:
            return "suspect";
    }
    return "unknown";
}

std::string_view to_string(release_outcome value) {
    switch (value) {
        case release_outcome::ok:
            return "ok";
        case release_outcome::failed:
            return "failed";
        case release_outcome::aborted:
            return "aborted";
        case release_outcome::hung:
            return "hung";
    }
    return "unknown";
}

std::string_view to_string(decision_kind value) {
    switch (value) {
        case decision_kind::granted:
            return "granted";
        case decision_kind::adopted:
            return "adopted";
        case decision_kind::requeued:
            return "requeued";
        case decision_kind::rejected:
            return "rejected";
        case decision_kind::timed_out:
            return "timed_out";
        case decision_kind::cancelled:
            return "cancelled";
        case decision_kind::released:
            return "released";
        case decision_kind::lost:
            return "lost";
        case decision_kind::call_failed:
            return "call_failed";
        case decision_kind::worker_suspect:
            return "worker_suspect";
        case decision_kind::worker_ready:
            return "worker_ready";
    }
    return "unknown";
}

std::string_view to_string(decision_why value) {
    switch (value) {
        case decision_why::none:
            return "none";
        case decision_why::in_order:
            return "in_order";
        case decision_why::bypass:
            return "bypass";
        case decision_why::reservation:
            return "reservation";
        case decision_why::hint:
            return "hint";
        case decision_why::low_share:
            return "low_share";
        case decision_why::too_large:
            return "too_large";
        case decision_why::queue_full:
            return "queue_full";
        case decision_why::no_worker:
            return "no_worker";
        case decision_why::queue_timeout:
            return "queue_timeout";
        case decision_why::permit_expired:
            return "permit_expired";
        case decision_why::session_lost:
            return "session_lost";
        case decision_why::hung:
            return "hung";
        case decision_why::report_stale:
            return "report_stale";
        case decision_why::trial_failed:
            return "trial_failed";
        case decision_why::slot_taken:
            return "slot_taken";
    }
    return "unknown";
}

}  // namespace sluice::core
