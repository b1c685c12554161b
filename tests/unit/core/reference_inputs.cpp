// The inputs (R2, R7, R9, R11, R12).
#include "unit/core/reference.hpp"

#include <algorithm>
#include <utility>

namespace sluice::core::reference {

namespace {

std::uint64_t value_of(fencing_token token) {
    return static_cast<std::uint64_t>(token);
}

}  // namespace

void scheduler::operator()(const worker_joined& what) {
    const auto fresh_number = worker_number{static_cast<std::uint32_t>(x_workers.size())};
    known_worker* known = nullptr;
    for (known_worker& one : x_workers) {
        if (one.id == what.worker) {
            known = &one;
        }
    }
    if (known == nullptr) {
        known_worker fresh;
        fresh.id = std::string(what.worker);
        fresh.number = fresh_number;
        fresh.present = false;
        fresh.last_token = value_of(x_config.token_floor);
        known = &x_workers.emplace_back(std::move(fresh));
    }
    if (known->number != fresh_number && what.epoch < known->epoch) {
        return;
    }
    known->last_token = std::max(known->last_token, value_of(what.max_token));
    if (!known->present || what.epoch > known->epoch) {
        drop_reservation(*known);
        known->present = true;
        known->epoch = what.epoch;
        known->draining = known->suspect = known->trial_open = false;
        known->reports = what.reports;
        known->last.reset();
        known->reported_at = x_now;
        known->kept.clear();
        ++known->news;
        for (running_permit& one : x_running) {
            one.trial = one.trial && one.worker != known->number;
        }
    }
    known->slots = what.slots;
    known->capacity = what.kv_capacity;
}

void scheduler::operator()(const worker_reported& what) {
    if (what.what != nullptr) {
        apply_report(*what.what, nullptr);
    }
}

void scheduler::operator()(const worker_probed& what) {
    known_worker* where = present(what.worker, what.epoch);
    if (where == nullptr) {
        return;
    }
    ++where->news;
    open_trial(*where);
}

void scheduler::operator()(const worker_draining& what) {
    if (known_worker* where = present(what.worker, what.epoch)) {
        where->draining = true;
        drop_reservation(*where);
    }
}

void scheduler::operator()(const worker_lost& what) {
    if (known_worker* where = present(what.worker, what.epoch)) {
        drop_reservation(*where);
        where->present = false;
    }
}

void scheduler::take_hints(waiting_ticket& into, const ticket& from) const {
    for (std::size_t at = 0; at < std::min(from.hints.size(), max_hints); ++at) {
        for (const known_worker& one : x_workers) {
            if (one.id == from.hints[at].worker) {
                into.hints.push_back(one.id);
            }
        }
    }
}

void scheduler::operator()(const ticket_submitted& submitted) {
    const ticket& what = submitted.what;
    const bool known =
        std::ranges::any_of(x_waiting, [&](const auto& one) { return one.id == what.id; }) ||
        std::ranges::any_of(x_running, [&](const auto& one) { return one.what.id == what.id; });
    if (known) {
        return;
    }
    waiting_ticket fresh;
    fresh.id = what.id;
    fresh.cls = what.cls;
    fresh.prompt_kv = what.prompt_kv;
    fresh.peak_kv = std::max(what.peak_kv, what.prompt_kv);
    fresh.predicted = what.predicted;
    fresh.queued_bytes = what.queued_bytes;
    take_hints(fresh, what);
    fresh.arrival = x_now;
    fresh.deadline = x_now + std::clamp(what.wait, duration(1), duration(quantity_limit));
    const auto could_hold = [&](const known_worker& one) {
        return one.present && fresh.peak_kv <= one.capacity;
    };
    const bool any = std::ranges::any_of(x_workers, [](const auto& one) { return one.present; });
    if (!any || std::ranges::none_of(x_workers, could_hold)) {
        decision refused = about(fresh, decision_kind::rejected);
        refused.why = any ? decision_why::too_large : decision_why::no_worker;
        refused.retry_after = any ? duration::zero() : retry_after(x_now);
        say(refused);
        return;
    }
    fresh.order_key = x_next_key++;
    fresh.learned = x_next_learned++;
    x_waiting.push_back(fresh);
    x_submitted = fresh.id;
}

void scheduler::operator()(const ticket_cancelled& what) {
    for (std::size_t at = 0; at < x_waiting.size(); ++at) {
        if (x_waiting[at].id == what.id) {
            say(about(take_waiting(at), decision_kind::cancelled));
            return;
        }
    }
    fail_call(what.id, {}, errc::not_found);
}

void scheduler::operator()(const permit_renewed& what) {
    running_permit* permit = permit_of(what.id, what.token);
    if (permit == nullptr) {
        fail_call(what.id, what.token, errc::not_held);
    } else if (permit->expires <= x_now) {
        fail_call(what.id, what.token, errc::permit_expired);
    } else {
        permit->expires = x_now + std::clamp(what.ttl, duration(1), duration(quantity_limit));
    }
}

void scheduler::operator()(const permit_released& what) {
    running_permit* permit = permit_of(what.id, what.token);
    if (permit == nullptr) {
        fail_call(what.id, what.token, errc::not_held);
        return;
    }
    if (permit->expires <= x_now) {
        fail_call(what.id, what.token, errc::permit_expired);
        return;
    }
    const running_permit ended = take_running(what.id);
    decision one = about(ended, decision_kind::released);
    one.outcome = what.outcome;
    say(one);
    if (x_wrong.releases_twice) {
        say(one);
    }
    x_release_step = true;
    if (what.outcome == release_outcome::ok && what.output > tokens::zero()) {
        const duration sample = (x_now - ended.granted) / what.output.count();
        x_pace += (sample - x_pace) / 8;
    }
    end_trial(ended, what.outcome, true);
    if (what.carried != nullptr) {
        apply_report(*what.carried, nullptr);
    }
}

void scheduler::operator()(const permit_requeued& what) {
    running_permit* permit = permit_of(what.id, what.token);
    if (permit == nullptr) {
        fail_call(what.id, what.token, errc::not_held);
        return;
    }
    if (permit->expires <= x_now) {
        fail_call(what.id, what.token, errc::permit_expired);
        return;
    }
    running_permit ended = take_running(what.id);
    say(about(ended, decision_kind::requeued));
    end_trial(ended, release_outcome::aborted, false);
    waiting_ticket back = ended.what;
    back.deadline += x_now - ended.granted;
    while (back.cls != priority::high && promotion_due(back) <= x_now) {
        move_up(back);
    }
    back.avoids.reset();
    if (worker(ended.worker).epoch == ended.epoch) {
        back.avoids = std::pair(ended.worker, worker(ended.worker).news);
    }
    x_waiting.push_back(back);
    if (what.carried != nullptr) {
        apply_report(*what.carried, &what.id);
    }
}

void scheduler::operator()(const permit_adopted& what) {
    const ticket_id id = what.what.id;
    const bool known =
        std::ranges::any_of(x_waiting, [&](const auto& one) { return one.id == id; }) ||
        std::ranges::any_of(x_running, [&](const auto& one) { return one.what.id == id; });
    known_worker* where = present(what.worker, what.epoch);
    bool taken = known || where == nullptr || what.slot >= where->slots;
    if (!taken) {
        taken = std::ranges::any_of(
                    x_running,
                    [&](const running_permit& one) {
                        return live_on(one, *where) && one.slot == what.slot;
                    }
                ) ||
                std::ranges::any_of(where->kept, [&](const kept_slot& one) {
                    return one.slot == what.slot && one.token != what.old_token;
                });
    }
    const bool goes_by_it = std::ranges::any_of(x_running, [&](const running_permit& one) {
        return where != nullptr && live_on(one, *where) && what.old_token != fencing_token{} &&
               (one.token == what.old_token || one.old_token == what.old_token);
    });
    if (taken || goes_by_it) {
        fail_call(id, {}, errc::not_held, decision_why::slot_taken);
        return;
    }
    running_permit fresh;
    fresh.what.id = id;
    fresh.what.cls = priority::high;
    fresh.what.prompt_kv = what.what.prompt_kv;
    fresh.what.peak_kv = std::max(what.what.peak_kv, what.what.prompt_kv);
    fresh.what.predicted = what.what.predicted;
    fresh.what.queued_bytes = what.what.queued_bytes;
    take_hints(fresh.what, what.what);
    fresh.what.arrival = x_now;
    fresh.what.deadline = x_now + std::clamp(what.what.wait, duration(1), duration(quantity_limit));
    fresh.what.order_key = what.order_key != 0 ? what.order_key : x_next_key;
    x_next_key = std::max(x_next_key, fresh.what.order_key + 1);
    fresh.what.learned = x_next_learned++;
    fresh.worker = where->number;
    fresh.epoch = where->epoch;
    fresh.slot = what.slot;
    where->last_token = std::max(where->last_token, value_of(what.old_token));
    fresh.token = fencing_token{++where->last_token};
    fresh.old_token = what.old_token;
    fresh.granted = x_now;
    fresh.expires = x_now + std::clamp(what.ttl, duration(1), duration(quantity_limit));
    std::erase_if(where->kept, [&](const kept_slot& one) { return one.token == what.old_token; });
    decision one = about(fresh, decision_kind::adopted);
    say(one);
    x_running.push_back(fresh);
}

void scheduler::operator()(const session_lost& what) {
    const bool any = std::ranges::any_of(
                         x_waiting, [&](const auto& one) { return one.id.session == what.session; }
                     ) ||
                     std::ranges::any_of(x_running, [&](const auto& one) {
                         return one.what.id.session == what.session;
                     });
    if (any && std::ranges::find(x_lost_sessions, what.session) == x_lost_sessions.end()) {
        x_lost_sessions.push_back(what.session);
    }
}

}  // namespace sluice::core::reference
