// What is due (R1) and the changes that inputs and moves share (R7, R8).
#include "unit/core/reference.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::core::reference {

namespace {

std::uint64_t value_of(fencing_token token) {
    return static_cast<std::uint64_t>(token);
}

}  // namespace

bool scheduler::expire_one() {
    const auto by_expiry = [](const running_permit& a, const running_permit& b) {
        return std::tuple(a.expires, a.what.order_key) < std::tuple(b.expires, b.what.order_key);
    };
    const auto first = std::ranges::min_element(x_running, by_expiry);
    if (first == x_running.end() || first->expires > x_now) {
        return false;
    }
    const running_permit ended = take_running(first->what.id);
    decision what = about(ended, decision_kind::lost);
    what.why = decision_why::permit_expired;
    say(what);
    end_trial(ended, release_outcome::aborted, false);
    return true;
}

bool scheduler::suspect_one() {
    for (known_worker& one : x_workers) {
        if (can_go_stale(one) && stale_at(one) <= x_now) {
            make_suspect(one, decision_why::report_stale);
            return true;
        }
    }
    return false;
}

bool scheduler::time_out_one() {
    const auto by_deadline = [](const waiting_ticket& a, const waiting_ticket& b) {
        return std::tuple(a.deadline, a.order_key) < std::tuple(b.deadline, b.order_key);
    };
    const auto first = std::ranges::min_element(x_waiting, by_deadline);
    if (first == x_waiting.end() || first->deadline > x_now) {
        return false;
    }
    const waiting_ticket ended = take_waiting(static_cast<std::size_t>(first - x_waiting.begin()));
    decision what = about(ended, decision_kind::timed_out);
    what.why = decision_why::queue_timeout;
    what.retry_after = retry_after(x_now);
    say(what);
    return true;
}

bool scheduler::lose_one() {
    while (!x_lost_sessions.empty()) {
        const session_id gone = x_lost_sessions.front();
        std::optional<std::size_t> waits;
        std::optional<std::size_t> runs;
        std::uint64_t first = ~std::uint64_t{0};
        for (std::size_t at = 0; at < x_waiting.size(); ++at) {
            if (x_waiting[at].id.session == gone && x_waiting[at].learned < first) {
                first = x_waiting[at].learned;
                waits = at;
            }
        }
        for (std::size_t at = 0; at < x_running.size(); ++at) {
            if (x_running[at].what.id.session == gone && x_running[at].what.learned < first) {
                first = x_running[at].what.learned;
                runs = at;
            }
        }
        if (runs) {
            const running_permit ended = take_running(x_running[*runs].what.id);
            decision what = about(ended, decision_kind::lost);
            what.why = decision_why::session_lost;
            say(what);
            end_trial(ended, release_outcome::aborted, false);
            return true;
        }
        if (waits) {
            decision what = about(take_waiting(*waits), decision_kind::cancelled);
            what.why = decision_why::session_lost;
            say(what);
            return true;
        }
        x_lost_sessions.erase(x_lost_sessions.begin());
    }
    return false;
}

/// A lost session is done with when nothing of it is left.
void scheduler::forget_ended_sessions() {
    std::erase_if(x_lost_sessions, [&](session_id gone) {
        const auto waits = [&](const waiting_ticket& one) { return one.id.session == gone; };
        const auto runs = [&](const running_permit& one) { return one.what.id.session == gone; };
        return std::ranges::none_of(x_waiting, waits) && std::ranges::none_of(x_running, runs);
    });
}

bool scheduler::promote_one() {
    waiting_ticket* first = nullptr;
    for (waiting_ticket& one : x_waiting) {
        if (promotion_due(one) > x_now) {
            continue;
        }
        if (first == nullptr ||
            std::tuple(one.cls, one.order_key) < std::tuple(first->cls, first->order_key)) {
            first = &one;
        }
    }
    if (first == nullptr) {
        return false;
    }
    move_up(*first);
    return true;
}

void scheduler::move_up(waiting_ticket& what) {
    what.cls = what.cls == priority::low ? priority::normal : priority::high;
    ++what.moved_up;
}

decision scheduler::about(const waiting_ticket& what, decision_kind kind) const {
    decision one;
    one.kind = kind;
    one.ticket = what.id;
    one.order_key = what.order_key;
    one.peak_kv = what.peak_kv;
    one.waited = x_now - what.arrival;
    one.passed_by = what.passed_by;
    one.queue_length = static_cast<std::uint32_t>(x_waiting.size());
    return one;
}

decision scheduler::about(const running_permit& what, decision_kind kind) const {
    decision one = about(what.what, kind);
    one.worker = what.worker;
    one.epoch = what.epoch;
    one.slot = what.slot;
    one.token = what.token;
    return one;
}

void scheduler::fail_call(
    const ticket_id& id, fencing_token token, errc failure, decision_why why
) {
    decision one;
    one.token = token;
    one.kind = decision_kind::call_failed;
    one.why = why;
    one.failure = failure;
    one.ticket = id;
    say(one);
}

waiting_ticket scheduler::take_waiting(std::size_t at) {
    waiting_ticket taken = x_waiting[at];
    x_waiting.erase(x_waiting.begin() + static_cast<std::ptrdiff_t>(at));
    if (taken.reserved) {
        worker(*taken.reserved).reserved_for.reset();
        taken.reserved.reset();
    }
    return taken;
}

running_permit scheduler::take_running(const ticket_id& id) {
    const auto at = std::ranges::find_if(x_running, [&](const running_permit& one) {
        return one.what.id == id;
    });
    running_permit taken = *at;
    known_worker& where = worker(taken.worker);
    if (live_on(taken, where) && where.last) {
        for (fencing_token token : where.last->listed) {
            if (token == taken.token || (taken.old_token && token == *taken.old_token)) {
                where.kept.push_back({token, taken.slot});
            }
        }
    }
    x_running.erase(at);
    return taken;
}

void scheduler::drop_reservation(known_worker& worker) {
    if (!worker.reserved_for) {
        return;
    }
    for (waiting_ticket& one : x_waiting) {
        if (one.id == *worker.reserved_for) {
            one.reserved.reset();
        }
    }
    worker.reserved_for.reset();
}

void scheduler::make_suspect(known_worker& worker, decision_why why) {
    worker.suspect = true;
    worker.trial_open = false;
    drop_reservation(worker);
    decision one;
    one.kind = decision_kind::worker_suspect;
    one.why = why;
    one.worker = worker.number;
    one.epoch = worker.epoch;
    say(one);
}

void scheduler::end_trial(const running_permit& permit, release_outcome outcome, bool released) {
    known_worker& where = worker(permit.worker);
    if (!live_on(permit, where) || where.draining) {
        return;
    }
    const bool hung = released && outcome == release_outcome::hung;
    if (hung && !where.suspect) {
        make_suspect(where, decision_why::hung);
        return;
    }
    if (!permit.trial || !where.suspect) {
        return;
    }
    if (released && outcome == release_outcome::ok) {
        where.suspect = false;
        where.trial_open = false;
        decision one;
        one.kind = decision_kind::worker_ready;
        one.worker = where.number;
        one.epoch = where.epoch;
        say(one);
    } else if (hung || (released && outcome == release_outcome::failed)) {
        make_suspect(where, decision_why::trial_failed);
    } else {
        open_trial(where);
    }
}

void scheduler::open_trial(known_worker& worker) {
    const bool trial_runs = std::ranges::any_of(x_running, [&](const running_permit& one) {
        return one.trial && live_on(one, worker);
    });
    const bool stale = worker.reports && stale_at(worker) <= x_now;
    worker.trial_open = worker.trial_open || (worker.suspect && !trial_runs && !stale);
}

void scheduler::apply_report(const report& what, const ticket_id* just_requeued) {
    known_worker* where = present(what.worker, what.epoch);
    if (where == nullptr || !where->reports ||
        (where->last && what.number <= where->last->number)) {
        return;
    }
    where->last = what;
    where->last->worker = {};
    where->reported_at = x_now - what.age;
    where->last_token = std::max(where->last_token, value_of(what.max_token));
    for (fencing_token token : what.listed) {
        where->last_token = std::max(where->last_token, value_of(token));
    }
    if (what.kv_capacity > bytes::zero()) {
        where->capacity = what.kv_capacity;
    }
    std::erase_if(where->kept, [&](const kept_slot& one) {
        return std::ranges::find(what.listed, one.token) == what.listed.end();
    });
    ++where->news;
    if (just_requeued != nullptr) {
        for (waiting_ticket& one : x_waiting) {
            if (one.id == *just_requeued && one.avoids && one.avoids->first == where->number) {
                one.avoids->second = where->news;
            }
        }
    }
    open_trial(*where);
}

}  // namespace sluice::core::reference
