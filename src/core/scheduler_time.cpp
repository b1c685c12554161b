// What falls due by itself: expiries, stale reports, time-outs, lost sessions, promotions (R1, R6).
#include <algorithm>

#include "core/scheduler_state.hpp"

namespace sluice::core {

bool scheduler::state::has_due_work() {
    return expiries.next() <= now || stale_bound <= now || deadlines.next() <= now ||
           !lost_sessions.empty() || lines.next_promotion(config.ageing) <= now;
}

/// Returns whether anything moved.
bool scheduler::state::do_due_work() {
    std::size_t moves = 0;
    while (moves < max_moves && has_due_work() && move_one()) {
        ++moves;
    }
    return moves > 0;
}

bool scheduler::state::move_one() {
    if (expiries.next() <= now) {
        const entry_index index = expiries.top();
        detach(index);
        decide(decision_kind::lost, decision_why::permit_expired, entries[index]);
        end_trial(*entries[index].where, entries[index], release_outcome::aborted);
        finish(index);
        return true;
    }
    if (stale_bound <= now && expire_one_stale_worker()) {
        return true;
    }
    if (deadlines.next() <= now) {
        const entry_index index = deadlines.top();
        end_waiting(index);
        decision& told =
            decide(decision_kind::timed_out, decision_why::queue_timeout, entries[index]);
        told.retry_after = retry_after();
        finish(index);
        return true;
    }
    if (!lost_sessions.empty()) {
        return end_one_of_lost_session();
    }
    const entry_index promoted = lines.due_promotion(now, config.ageing);
    if (promoted == no_entry) {
        return false;
    }
    lines.promote(promoted);
    return true;
}

bool scheduler::state::expire_one_stale_worker() {
    const duration patience = 3 * config.heartbeat;
    instant next = never;
    for (const auto& one : workers.all()) {
        if (!one->present || !one->reports || one->state != worker_state::ready) {
            continue;
        }
        const instant stale_at = one->report_at + patience;
        if (stale_at <= now) {
            suspect(*one, decision_why::report_stale);
            return true;
        }
        next = std::min(next, stale_at);
    }
    stale_bound = next;
    return false;
}

bool scheduler::state::end_one_of_lost_session() {
    const auto found = sessions.find(lost_sessions.front());
    if (found == sessions.end()) {
        lost_sessions.pop_front();
        return !lost_sessions.empty() && end_one_of_lost_session();
    }
    const entry_index index = found->second.head;
    entry& gone = entries[index];
    if (gone.state == entry_state::waiting) {
        end_waiting(index);
        decide(decision_kind::cancelled, decision_why::session_lost, gone);
    } else {
        detach(index);
        decide(decision_kind::lost, decision_why::session_lost, gone);
        end_trial(*gone.where, gone, release_outcome::aborted);
    }
    finish(index);
    if (!sessions.contains(lost_sessions.front())) {
        lost_sessions.pop_front();
    }
    return true;
}

instant scheduler::state::next_wakeup() {
    if (unlooked > 0 || !lost_sessions.empty()) {
        return now;
    }
    const instant next = std::min(
        {expiries.next(), stale_bound, deadlines.next(), lines.next_promotion(config.ageing)}
    );
    return std::max(next, now);
}

}  // namespace sluice::core
