// Workers: incarnations, reports, trials, and the books of who holds which slot (R7, R8, R11).
#include <algorithm>

#include "base/assert.hpp"
#include "core/scheduler_state.hpp"

namespace sluice::core {

void scheduler::state::apply(const worker_joined& what) {
    worker* known = workers.find(what.worker);
    const bool fresh = known == nullptr || !known->present || what.epoch > known->epoch;
    if (known != nullptr && what.epoch < known->epoch) {
        return;
    }
    worker& joined = workers.find_or_create(what.worker, config.token_floor);
    joined.slots = what.slots;
    joined.capacity = what.kv_capacity;
    if (joined.by_slot.size() < what.slots) {
        joined.by_slot.resize(what.slots, no_entry);
    }
    joined.last_token = std::max({joined.last_token, what.max_token, config.token_floor});
    if (!fresh) {
        workers.refresh(joined);
        return;
    }
    const bool same_incarnation = known != nullptr && what.epoch == known->epoch;
    lose_reservation(joined);
    joined.epoch = what.epoch;
    joined.state = worker_state::ready;
    joined.reports = what.reports;
    joined.trial_open = false;
    joined.trial_running = false;
    joined.report_number = 0;
    joined.report_at = now;
    joined.headroom = {};
    joined.listed.clear();
    joined.known_ghosts.clear();
    joined.ghosts = 0;
    joined.running = 0;
    joined.waiting = 0;
    joined.kv_used = bytes::zero();
    ++joined.news;
    if (!same_incarnation) {
        std::ranges::fill(joined.by_slot, no_entry);
        joined.live = 0;
        joined.live_peak = bytes::zero();
    }
    workers.set_present(joined, true);
    relist(joined);
    if (joined.reports) {
        stale_bound = std::min(stale_bound, now + 3 * config.heartbeat);
    }
}

void scheduler::state::apply(const worker_draining& what) {
    worker* named = workers.find(what.worker);
    if (named != nullptr && named->present && named->epoch == what.epoch) {
        named->state = worker_state::draining;
        lose_reservation(*named);
    }
}

void scheduler::state::apply(const worker_lost& what) {
    worker* named = workers.find(what.worker);
    if (named != nullptr && named->present && named->epoch == what.epoch) {
        lose_reservation(*named);
        workers.set_present(*named, false);
    }
}

void scheduler::state::apply(const worker_probed& what) {
    worker* named = workers.find(what.worker);
    if (named != nullptr && named->present && named->epoch == what.epoch) {
        ++named->news;
        open_trial(*named);
    }
}

void scheduler::state::apply(const worker_reported& what) {
    if (what.what != nullptr) {
        take_report(*what.what);
    }
}

void scheduler::state::take_report(const report& what) {
    worker* named = workers.find(what.worker);
    if (named == nullptr || !named->present || named->epoch != what.epoch || !named->reports ||
        what.number <= named->report_number) {
        return;
    }
    named->report_number = what.number;
    named->report_at = now - std::clamp(what.age, duration::zero(), duration(quantity_limit));
    named->headroom = what.headroom;
    if (what.kv_capacity > bytes::zero()) {
        named->capacity = what.kv_capacity;
    }
    named->running = what.running;
    named->waiting = what.waiting;
    named->kv_used = what.kv_used;
    named->last_token = std::max(named->last_token, what.max_token);
    named->listed = what.listed;
    std::ranges::sort(named->listed);
    const auto repeated = std::ranges::unique(named->listed);
    named->listed.erase(repeated.begin(), repeated.end());
    if (!named->listed.empty()) {
        named->last_token = std::max(named->last_token, named->listed.back());
    }
    ++named->news;
    relist(*named);
    stale_bound = std::min(stale_bound, stale_at(*named));
    open_trial(*named);
}

/// Recomputes which live permits the report contains, and what it lists beside them.
void scheduler::state::relist(worker& which) {
    std::uint32_t listed_live = 0;
    which.unlisted_peak = bytes::zero();
    for (const entry_index index : which.by_slot) {
        if (index == no_entry) {
            continue;
        }
        entry& one = entries[index];
        const bool now_listed = which.lists(one.token);
        const bool old_listed = one.old_token != fencing_token{} && which.lists(one.old_token);
        one.listed = now_listed || old_listed;
        listed_live +=
            static_cast<std::uint32_t>(now_listed) + static_cast<std::uint32_t>(old_listed);
        if (!one.listed) {
            which.unlisted_peak += one.peak_kv;
        }
    }
    which.ghosts = static_cast<std::uint32_t>(which.listed.size()) - listed_live;
    std::erase_if(which.known_ghosts, [&which](const worker::ghost& one) {
        return !which.lists(one.token);
    });
    workers.refresh(which);
}

void scheduler::state::attach(entry_index index, worker& onto, std::uint32_t slot) {
    SLUICE_ASSERT(slot < onto.slots && onto.by_slot[slot] == no_entry);
    entry& permit = entries[index];
    onto.last_token = fencing_token{
        static_cast<std::uint64_t>(std::max(onto.last_token, config.token_floor)) + 1
    };
    permit.state = entry_state::running;
    permit.where = &onto;
    permit.epoch = onto.epoch;
    permit.token = onto.last_token;
    permit.slot = slot;
    permit.avoid = no_worker;
    permit.trial = false;
    permit.listed = permit.old_token != fencing_token{} && onto.lists(permit.old_token);
    onto.by_slot[slot] = index;
    ++onto.live;
    ++onto.permits;
    onto.live_peak += permit.peak_kv;
    if (permit.listed) {
        --onto.ghosts;
        std::erase_if(onto.known_ghosts, [&permit](const worker::ghost& one) {
            return one.token == permit.old_token;
        });
    } else {
        onto.unlisted_peak += permit.peak_kv;
    }
    workers.refresh(onto);
}

void scheduler::state::detach(entry_index index) {
    entry& permit = entries[index];
    worker& from = *permit.where;
    expiries.remove(index);
    permit.state = entry_state::unused;
    --from.permits;
    if (from.epoch != permit.epoch) {
        return;
    }
    from.by_slot[permit.slot] = no_entry;
    --from.live;
    from.live_peak -= permit.peak_kv;
    if (!permit.listed) {
        from.unlisted_peak -= permit.peak_kv;
    }
    for (const fencing_token token : {permit.token, permit.old_token}) {
        if (token != fencing_token{} && from.lists(token)) {
            from.known_ghosts.push_back({token, permit.slot});
            ++from.ghosts;
        }
    }
    workers.refresh(from);
}

void scheduler::state::open_trial(worker& which) {
    if (which.state == worker_state::suspect && !which.trial_running && !is_stale(which)) {
        which.trial_open = true;
        stale_bound = which.reports ? std::min(stale_bound, stale_at(which)) : stale_bound;
    }
    workers.refresh(which);
}

void scheduler::state::end_trial(worker& which, const entry& of, release_outcome how) {
    if (!of.trial || which.epoch != of.epoch || !which.trial_running) {
        return;
    }
    which.trial_running = false;
    if (!which.present || which.state != worker_state::suspect) {
        return;
    }
    if (how == release_outcome::ok) {
        which.state = worker_state::ready;
        if (which.reports) {
            stale_bound = std::min(stale_bound, stale_at(which));
        }
        announce(which, decision_kind::worker_ready, decision_why::none);
    } else if (how == release_outcome::failed || how == release_outcome::hung) {
        which.trial_open = false;
        announce(which, decision_kind::worker_suspect, decision_why::trial_failed);
    } else {
        open_trial(which);
    }
    workers.refresh(which);
}

void scheduler::state::suspect(worker& which, decision_why why) {
    which.state = worker_state::suspect;
    which.trial_open = false;
    lose_reservation(which);
    announce(which, decision_kind::worker_suspect, why);
}

void scheduler::state::announce(const worker& which, decision_kind kind, decision_why why) {
    decision& told = out->emplace_back();
    told.kind = kind;
    told.why = why;
    told.worker = which.number;
    told.epoch = which.epoch;
}

}  // namespace sluice::core
