// What falls due by itself: expiries, stale reports, time-outs, lost sessions, promotions (R1, R6).
#include <algorithm>

#include "core/scheduler_state.hpp"

namespace sluice::core {

bool scheduler::state::has_due_work() {
    return expiries.next() <= now || stale_worker() != nullptr || deadlines.next() <= now ||
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
    if (worker* const stale = stale_worker()) {
        suspect(*stale, decision_why::report_stale);
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
        end_one_of_lost_session();
        return true;
    }
    const entry_index promoted = lines.due_promotion(now, config.ageing);
    if (promoted == no_entry) {
        return false;
    }
    lines.promote(promoted);
    return true;
}

/// The first worker that would be granted something on a stale report; nullptr: there is none.
worker* scheduler::state::stale_worker() {
    if (stale_bound > now) {
        return nullptr;
    }
    instant next = never;
    for (const auto& one : workers.all()) {
        if (!one->reports || !one->takes_tickets()) {
            continue;
        }
        if (is_stale(*one)) {
            return one.get();
        }
        next = std::min(next, stale_at(*one));
    }
    stale_bound = next;
    return nullptr;
}

void scheduler::state::end_one_of_lost_session() {
    const entry_index index = sessions.find(lost_sessions.front())->second.head;
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
