#include "gateway/relay_fsm.hpp"

namespace sluice::gateway {

using core::release_outcome;
using openai::reason;

void relay_fsm::head(int status, body_kind kind) {
    x_status = status;
    x_kind = status >= 300 ? body_kind::whole : kind;
}

release_outcome relay_fsm::release_by_status() const {
    return x_status >= 500 ? release_outcome::failed : release_outcome::ok;
}

relay_step relay_fsm::fail(reason why, release_outcome release) const {
    if (!x_started) {
        return {relay_action::answer_error, why, release, 0};
    }
    if (x_kind == body_kind::events) {
        return {relay_action::error_event, why, release, 0};
    }
    return {relay_action::cut, why, release, 0};
}

relay_step relay_fsm::body(const body_view& view) {
    if (x_started) {
        return {relay_action::pass};
    }
    if (x_kind == body_kind::events) {
        if (view.failed_first) {
            const int status = view.failure_status != 0 ? view.failure_status : 502;
            // 4xx is about the request, anything else about the worker.
            const bool is_request = status < 500;
            return {
                relay_action::answer_event,
                reason::upstream_error,
                is_request ? release_outcome::ok : release_outcome::failed,
                status
            };
        }
        if (!view.token && view.held <= x_hold_limit) {
            return {relay_action::hold};
        }
    } else if (view.held <= x_hold_limit) {
        return {relay_action::hold};
    }
    x_started = true;
    return {relay_action::start};
}

relay_step relay_fsm::end(ending how, bool readable) {
    if (x_kind == body_kind::events) {
        if (!x_started || how == ending::unfinished) {
            return fail(reason::worker_failed, release_outcome::failed);
        }
        return how == ending::good
                   ? relay_step{relay_action::finish}
                   // The worker's own error event has passed: a second one would say nothing new.
                   : relay_step{
                         relay_action::finish, reason::upstream_error, release_outcome::failed, 0
                     };
    }
    const reason why = is_error() || how == ending::failed ? reason::upstream_error : reason::ok;
    if (x_started) {
        return {relay_action::finish, why, release_by_status(), 0};
    }
    if (is_error() && !readable) {
        return fail(reason::upstream_error, release_outcome::failed);
    }
    return {relay_action::answer_whole, why, release_by_status(), x_status};
}

relay_step relay_fsm::broken() {
    return fail(reason::worker_failed, release_outcome::failed);
}

relay_step relay_fsm::aborted(reason why) {
    // Only the worker's own silence speaks against the worker.
    const bool hung = why == reason::first_token_timeout || why == reason::idle_timeout;
    return fail(why, hung ? release_outcome::hung : release_outcome::aborted);
}

relay_step relay_fsm::client_gone() {
    return {relay_action::leave, reason::client_gone, release_outcome::aborted, 0};
}

}  // namespace sluice::gateway
