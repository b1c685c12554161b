// Tickets, permits and sessions: what callers ask for (R2, R7, R9, R12).
#include <algorithm>

#include "base/assert.hpp"
#include "core/scheduler_state.hpp"

namespace sluice::core {

namespace {

/// The class that a ticket of this age has reached.
priority aged(priority cls, duration age, duration ageing) {
    const std::int64_t steps = ageing.count() > 0 ? age.count() / ageing.count() : 0;
    const std::int64_t level = static_cast<std::int64_t>(cls) - steps;
    return static_cast<priority>(std::max<std::int64_t>(level, 0));
}

/// "Now or never" (a wait of zero) still sees the look of its own step; no sum overflows.
duration at_least_a_moment(duration given) {
    return std::clamp(given, duration(1), duration(quantity_limit));
}

}  // namespace

decision& scheduler::state::decide(decision_kind kind, decision_why why, const entry& about) {
    decision& told = out->emplace_back();
    told.kind = kind;
    told.why = why;
    told.ticket = about.id;
    if (about.where != nullptr) {
        told.worker = about.where->number;
        told.epoch = about.epoch;
        told.slot = about.slot;
        told.token = about.token;
    }
    told.peak_kv = about.peak_kv;
    told.order_key = about.order;
    told.waited = now - about.arrival;
    told.queue_length = static_cast<std::uint32_t>(lines.size());
    told.passed_by = about.passed_by;
    return told;
}

entry_index scheduler::state::make_entry(const ticket& what) {
    const entry_index index = entries.create(what.id);
    entry& made = entries[index];
    made.arrival = now;
    made.prompt_kv = what.prompt_kv;
    made.peak_kv = std::max(what.peak_kv, what.prompt_kv);
    made.queued_bytes = what.queued_bytes;
    made.predicted = what.predicted;
    made.cls = what.cls;
    made.level = what.cls;
    made.tenant = tenants.acquire(what.tenant);
    if (!what.hints.empty()) {
        auto known = std::make_unique<std::vector<worker_number>>();
        for (std::size_t i = 0; i < std::min(what.hints.size(), max_hints); ++i) {
            const worker* hinted = workers.find(std::string_view(what.hints[i].worker));
            if (hinted != nullptr) {
                known->push_back(hinted->number);
            }
        }
        made.hints = std::move(known);
    }
    sessions[what.id.session].push_back(entries, index);
    return index;
}

void scheduler::state::start_waiting(entry_index index) {
    entries[index].state = entry_state::waiting;
    waiting_bytes += entries[index].queued_bytes;
    lines.insert(index);
    deadlines.insert(index);
}

void scheduler::state::end_waiting(entry_index index) {
    entry& gone = entries[index];
    lines.remove(index);
    deadlines.remove(index);
    waiting_bytes -= gone.queued_bytes;
    if (gone.reserved != nullptr) {
        lose_reservation(*gone.reserved);
    }
    gone.state = entry_state::unused;
}

void scheduler::state::lose_reservation(worker& which) {
    if (which.reserved_for != no_entry) {
        entries[which.reserved_for].reserved = nullptr;
        std::erase(reserved, which.reserved_for);
        which.reserved_for = no_entry;
    }
    workers.refresh(which);
}

void scheduler::state::apply(const ticket_submitted& what) {
    if (entries.find(what.what.id)) {
        return;
    }
    const bytes peak = std::max(what.what.peak_kv, what.what.prompt_kv);
    const auto refuse = [&](decision_why why) -> decision& {
        decision& told = out->emplace_back();
        told.kind = decision_kind::rejected;
        told.why = why;
        told.ticket = what.what.id;
        told.peak_kv = peak;
        told.queue_length = static_cast<std::uint32_t>(lines.size());
        return told;
    };
    if (workers.present_count() == 0) {
        refuse(decision_why::no_worker).retry_after = retry_after();
        return;
    }
    const bool fits_somewhere =
        std::ranges::any_of(workers.all(), [peak](const std::unique_ptr<worker>& one) {
            return one->present && one->could_ever_hold(peak);
        });
    if (!fits_somewhere) {
        refuse(decision_why::too_large);
        return;
    }
    const entry_index index = make_entry(what.what);
    entries[index].order = next_order++;
    entries[index].due = now + at_least_a_moment(what.what.wait);
    start_waiting(index);
    submitted = index;
}

/// Returns whether the refused ticket had a worker kept for it, which is free for others now.
bool scheduler::state::refuse_if_over_limit() {
    if (submitted == no_entry || entries[submitted].state != entry_state::waiting ||
        (lines.size() <= config.max_length && waiting_bytes <= config.max_bytes)) {
        return false;
    }
    const bool held_a_worker = entries[submitted].reserved != nullptr;
    end_waiting(submitted);
    decision& told = decide(decision_kind::rejected, decision_why::queue_full, entries[submitted]);
    told.retry_after = retry_after();
    finish(submitted);
    return held_a_worker;
}

void scheduler::state::apply(const ticket_cancelled& what) {
    const auto index = entries.find(what.id);
    if (!index || entries[*index].state != entry_state::waiting) {
        decision& told = out->emplace_back();
        told.kind = decision_kind::call_failed;
        told.failure = errc::not_found;
        told.ticket = what.id;
        return;
    }
    end_waiting(*index);
    decide(decision_kind::cancelled, decision_why::none, entries[*index]);
    finish(*index);
}

/// The live permit that a call names, or no_entry after telling why not (R9).
entry_index scheduler::state::held(ticket_id id, fencing_token token) {
    const auto index = entries.find(id);
    const bool running =
        index && entries[*index].state == entry_state::running && entries[*index].token == token;
    if (running && entries[*index].due > now) {
        return *index;
    }
    decision& told = out->emplace_back();
    told.kind = decision_kind::call_failed;
    told.failure = running ? errc::permit_expired : errc::not_held;
    told.ticket = id;
    told.token = token;
    return no_entry;
}

void scheduler::state::apply(const permit_renewed& what) {
    const entry_index index = held(what.id, what.token);
    if (index != no_entry) {
        expiries.remove(index);
        entries[index].due = now + at_least_a_moment(what.ttl);
        expiries.insert(index);
    }
}

void scheduler::state::apply(const permit_released& what) {
    const entry_index index = held(what.id, what.token);
    if (index == no_entry) {
        return;
    }
    entry& ended = entries[index];
    worker& from = *ended.where;
    const bool current = from.present && from.epoch == ended.epoch;
    detach(index);
    decide(decision_kind::released, decision_why::none, ended).outcome = what.outcome;
    if (what.outcome == release_outcome::ok && what.output > tokens::zero()) {
        const duration sample = (now - ended.granted_at) / what.output.count();
        pace += (sample - pace) / 8;
    }
    end_trial(from, ended, what.outcome);
    if (current && what.outcome == release_outcome::hung && from.state == worker_state::ready) {
        suspect(from, decision_why::hung);
    }
    finish(index);
    if (what.carried != nullptr) {
        take_report(*what.carried);
    }
}

void scheduler::state::apply(const permit_requeued& what) {
    const entry_index index = held(what.id, what.token);
    if (index == no_entry) {
        return;
    }
    entry& back = entries[index];
    worker& from = *back.where;
    detach(index);
    decide(decision_kind::requeued, decision_why::none, back);
    end_trial(from, back, release_outcome::aborted);
    if (what.carried != nullptr) {
        take_report(*what.carried);
    }
    if (from.epoch == back.epoch) {
        back.avoid = from.number;
        back.avoid_news = from.news;
    }
    back.where = nullptr;
    back.old_token = {};
    back.due = back.deadline_before_grant + (now - back.granted_at);
    back.level = std::min(back.level, aged(back.cls, now - back.arrival, config.ageing));
    start_waiting(index);
}

/// Whether a live permit of the worker has this token, now or before its adoption.
bool scheduler::state::goes_by(const worker& which, fencing_token token) {
    return std::ranges::any_of(which.by_slot, [&](entry_index index) {
        return index != no_entry && token != fencing_token{} &&
               (entries[index].token == token || entries[index].old_token == token);
    });
}

void scheduler::state::apply(const permit_adopted& what) {
    worker* onto = workers.find(what.worker);
    const bool open_slot = onto != nullptr && onto->present && onto->epoch == what.epoch &&
                           what.slot < onto->slots && onto->by_slot[what.slot] == no_entry &&
                           !entries.find(what.what.id) && !goes_by(*onto, what.old_token) &&
                           std::ranges::none_of(
                               onto->known_ghosts,
                               [&](const worker::ghost& one) {
                                   return one.slot == what.slot && one.token != what.old_token;
                               }
                           );
    if (!open_slot) {
        decision& told = out->emplace_back();
        told.kind = decision_kind::call_failed;
        told.why = decision_why::slot_taken;
        told.failure = errc::not_held;
        told.ticket = what.what.id;
        return;
    }
    const entry_index index = make_entry(what.what);
    entry& adopted = entries[index];
    adopted.cls = priority::high;
    adopted.level = priority::high;
    adopted.order = what.order_key != 0 ? what.order_key : next_order;
    next_order = std::max(next_order, adopted.order + 1);
    adopted.old_token = what.old_token;
    onto->last_token = std::max(onto->last_token, what.old_token);
    attach(index, *onto, what.slot);
    adopted.granted_at = now;
    adopted.deadline_before_grant = now + at_least_a_moment(what.what.wait);
    adopted.due = now + at_least_a_moment(what.ttl);
    expiries.insert(index);
    decide(decision_kind::adopted, decision_why::none, adopted);
}

void scheduler::state::apply(const session_lost& what) {
    if (sessions.contains(what.session) &&
        std::ranges::find(lost_sessions, what.session) == lost_sessions.end()) {
        lost_sessions.push_back(what.session);
    }
}

/// The entry and everything that refers to it is gone.
void scheduler::state::finish(entry_index index) {
    entry& gone = entries[index];
    tenants.release(gone.tenant);
    const auto session = sessions.find(gone.id.session);
    session->second.remove(entries, index);
    if (session->second.empty()) {
        sessions.erase(session);
        std::erase(lost_sessions, gone.id.session);
    }
    entries.destroy(index);
}

duration scheduler::state::grant_interval() const {
    const std::size_t known = std::min(grant_count, grant_times.size());
    if (known == 0) {
        return duration::zero();
    }
    const instant oldest = grant_times[(grant_count - known) % grant_times.size()];
    return (now - oldest) / static_cast<std::int64_t>(known);
}

duration scheduler::state::retry_after() const {
    using std::chrono::seconds;
    const auto ahead = static_cast<std::int64_t>(lines.size()) + 1;
    // The product cannot overflow: an interval is at most 2^53 µs and clamped before.
    const duration interval = std::min<duration>(grant_interval(), seconds(300));
    return std::clamp<duration>(interval * ahead, seconds(1), seconds(300));
}

}  // namespace sluice::core
