#include "unit/core/judge.hpp"

#include <algorithm>

namespace sluice::core::reference {

namespace {

std::string name_of(const ticket_id& id) {
    return std::to_string(static_cast<std::uint64_t>(id.session)) + "/" + std::to_string(id.number);
}

bool was_due(const decision& one) {
    return one.kind == decision_kind::lost || one.kind == decision_kind::timed_out ||
           one.why == decision_why::session_lost || one.why == decision_why::report_stale;
}

}  // namespace

bool judge::live(const permit& one, const host& on) const {
    return on.present && &x_hosts[static_cast<std::size_t>(one.worker)] == &on &&
           one.epoch == on.epoch;
}

bool judge::lists(const host& on, const permit& one) const {
    if (!on.last) {
        return false;
    }
    const auto& listed = on.last->listed;
    return std::ranges::find(listed, one.token) != listed.end() ||
           (one.old_token != fencing_token{} &&
            std::ranges::find(listed, one.old_token) != listed.end());
}

std::int64_t judge::used_slots(const host& on) const {
    std::int64_t used = 0;
    std::set<fencing_token> strangers;
    if (on.last) {
        strangers.insert(on.last->listed.begin(), on.last->listed.end());
    }
    for (const permit& one : x_permits) {
        if (live(one, on)) {
            ++used;
            strangers.erase(one.token);
            strangers.erase(one.old_token);
        }
    }
    return used + static_cast<std::int64_t>(strangers.size());
}

bool judge::memory_suffices(const host& on, const known_ticket& what) const {
    bytes held;
    bytes unlisted;
    for (const permit& one : x_permits) {
        if (live(one, on)) {
            held += one.peak_kv;
            unlisted += lists(on, one) ? bytes::zero() : one.peak_kv;
        }
    }
    if (!on.reports) {
        return on.capacity == bytes::max() || held + what.peak_kv <= on.capacity;
    }
    const bool alone = on.last && used_slots(on) == 0 && on.last->running + on.last->waiting == 0;
    if (alone && what.peak_kv <= on.last->headroom.front()) {
        return true;
    }
    const auto row = std::ranges::lower_bound(headroom_rows, what.predicted.count());
    const bool beyond = row == headroom_rows.end();
    const auto at = static_cast<std::size_t>(row - headroom_rows.begin()) - (beyond ? 1 : 0);
    const bytes g = on.last ? on.last->headroom.at(at) : bytes::zero();
    return (beyond ? what.peak_kv : what.prompt_kv) + unlisted <= g;
}

// ----------------------------------------------------------------------------------- the inputs

void judge::take_join(const worker_joined& what) {
    auto at = std::ranges::find(x_hosts, what.worker, &host::id);
    if (at == x_hosts.end()) {
        host fresh;
        fresh.id = std::string(what.worker);
        fresh.newest = x_config.token_floor;
        at = x_hosts.insert(x_hosts.end(), std::move(fresh));
    }
    if (what.epoch < at->epoch) {
        return;
    }
    if (!at->present || what.epoch > at->epoch) {
        at->last.reset();
        at->reports = what.reports;
    }
    at->present = true;
    at->epoch = what.epoch;
    at->slots = what.slots;
    at->capacity = what.kv_capacity;
    at->newest = std::max(at->newest, what.max_token);
}

void judge::take_report(const report* what) {
    if (what == nullptr) {
        return;
    }
    for (host& one : x_hosts) {
        const bool counts = one.present && one.reports && one.id == what->worker &&
                            one.epoch == what->epoch &&
                            (!one.last || what->number > one.last->number);
        if (counts) {
            one.last = *what;
            one.last->worker = {};
            one.newest = std::max(one.newest, what->max_token);
            if (what->kv_capacity > bytes::zero()) {
                one.capacity = what->kv_capacity;
            }
        }
    }
}

void judge::take_input(const input& what, const std::vector<decision>& decisions) {
    const bool refused = std::ranges::any_of(decisions, [](const decision& one) {
        return one.kind == decision_kind::call_failed;
    });
    if (const auto* joined = std::get_if<worker_joined>(&what)) {
        take_join(*joined);
    } else if (const auto* gone = std::get_if<worker_lost>(&what)) {
        for (host& one : x_hosts) {
            one.present = one.present && (one.id != gone->worker || one.epoch != gone->epoch);
        }
    } else if (const auto* told = std::get_if<worker_reported>(&what)) {
        take_report(told->what);
    } else if (const auto* ended = std::get_if<permit_released>(&what); ended && !refused) {
        take_report(ended->carried);
    } else if (const auto* back = std::get_if<permit_requeued>(&what); back && !refused) {
        take_report(back->carried);
    } else if (const auto* submitted = std::get_if<ticket_submitted>(&what)) {
        const ticket& asked = submitted->what;
        known_ticket& one = x_tickets[asked.id];
        if (one.state == life::over || !x_waiting.contains(asked.id)) {
            const bool runs = std::ranges::any_of(x_permits, [&](const permit& held) {
                return held.id == asked.id;
            });
            if (!runs) {
                one = known_ticket{};
                one.cls = asked.cls;
                one.prompt_kv = asked.prompt_kv;
                one.peak_kv = asked.peak_kv;
                one.predicted = asked.predicted;
                one.body = asked.queued_bytes;
                x_waiting.insert(asked.id);
            }
        }
    }
}

// -------------------------------------------------------------------------------- the decisions

void judge::check_place(const decision& one) {
    host& on = host_of(one.worker);
    if (!on.present || on.epoch != one.epoch) {
        broken("I6: " + name_of(one.ticket) + " runs on an incarnation that is gone");
    }
    if (one.slot >= on.slots) {
        broken("I1: slot " + std::to_string(one.slot) + " of " + on.id + " does not exist");
    }
    for (const permit& held : x_permits) {
        if (live(held, on) && held.slot == one.slot) {
            broken("I1: slot " + std::to_string(one.slot) + " of " + on.id + " is held twice");
        }
    }
    if (one.token <= on.newest) {
        broken("I7: the token on " + on.id + " did not rise");
    }
    on.newest = std::max(on.newest, one.token);
}

void judge::check_order(const decision& one) {
    const known_ticket& granted = x_tickets[one.ticket];
    const bool by_reservation = one.passed_by >= x_least_bypass;
    // A low ticket that aged stands behind the younger ones while the low class is owed a grant.
    const bool by_share = granted.cls == priority::low && x_config.low_share > 0;
    if (granted.came_back || by_reservation || by_share || x_hosts.size() > max_looked) {
        return;
    }
    for (const ticket_id& id : x_waiting) {
        const known_ticket& other = x_tickets[id];
        const bool earlier = other.order_key != 0 && other.order_key < granted.order_key &&
                             other.cls == granted.cls && !other.came_back;
        if (earlier && memory_suffices(host_of(one.worker), other)) {
            broken("I3: " + name_of(one.ticket) + " overtook " + name_of(id) + ", which fits too");
        }
    }
}

void judge::check_grant(const decision& one) {
    known_ticket& what = x_tickets[one.ticket];
    const host& on = host_of(one.worker);
    x_waiting.erase(one.ticket);
    if (what.order_key == 0) {
        what.order_key = one.order_key;
    }
    if (what.order_key != one.order_key) {
        broken("I3: " + name_of(one.ticket) + " did not keep its order key");
    }
    if (used_slots(on) >= on.slots) {
        broken("I1: no slot was free on " + on.id + " for " + name_of(one.ticket));
    }
    if (!memory_suffices(on, what)) {
        broken("I2: " + on.id + " has no memory for " + name_of(one.ticket));
    }
    if (one.passed_by > x_most_bypass && !what.excused) {
        broken("I8: " + name_of(one.ticket) + " was passed by " + std::to_string(one.passed_by));
    }
    check_order(one);
    check_place(one);
    x_permits.push_back(
        {one.ticket, one.worker, one.epoch, one.slot, one.token, fencing_token{}, one.peak_kv}
    );
    if (what.state != life::waits) {
        broken("I5: " + name_of(one.ticket) + " was granted though it did not wait");
    }
    what.state = life::runs;
}

void judge::check_adoption(const decision& one, const permit_adopted& what) {
    known_ticket& adopted = x_tickets[one.ticket];
    const bool runs =
        std::ranges::any_of(x_permits, [&](const permit& held) { return held.id == one.ticket; });
    if (runs || x_waiting.contains(one.ticket)) {
        broken("I5: " + name_of(one.ticket) + " was adopted though it is known");
    }
    host& on = host_of(one.worker);
    on.newest = std::max(on.newest, what.old_token);
    check_place(one);
    adopted = known_ticket{};
    adopted.state = life::runs;
    adopted.came_back = true;
    adopted.prompt_kv = what.what.prompt_kv;
    adopted.peak_kv = what.what.peak_kv;
    adopted.predicted = what.what.predicted;
    adopted.order_key = one.order_key;
    x_permits.push_back(
        {one.ticket, one.worker, one.epoch, one.slot, one.token, what.old_token, adopted.peak_kv}
    );
}

void judge::check_end(const decision& one) {
    const bool of_permit = one.kind == decision_kind::released || one.kind == decision_kind::lost ||
                           one.kind == decision_kind::requeued;
    known_ticket& what = x_tickets[one.ticket];
    const life expected = of_permit ? life::runs : life::waits;
    if (what.state != expected) {
        broken("I5: " + name_of(one.ticket) + " has a second outcome");
    }
    std::erase_if(x_permits, [&](const permit& held) { return held.id == one.ticket; });
    x_waiting.erase(one.ticket);
    what.state = life::over;
    if (one.kind == decision_kind::requeued) {
        what.state = life::waits;
        what.came_back = true;
        x_waiting.insert(one.ticket);
    }
}

void judge::check(const decision& one, const input& what) {
    switch (one.kind) {
        case decision_kind::granted:
            check_grant(one);
            break;
        case decision_kind::adopted:
            check_adoption(one, std::get<permit_adopted>(what));
            break;
        case decision_kind::requeued:
        case decision_kind::rejected:
        case decision_kind::timed_out:
        case decision_kind::cancelled:
        case decision_kind::released:
        case decision_kind::lost:
            check_end(one);
            break;
        case decision_kind::call_failed:
        case decision_kind::worker_suspect:
        case decision_kind::worker_ready:
            break;
    }
}

// ----------------------------------------------------------------------------------- the promises

void judge::check_conserved(const scheduler& beside) {
    const auto order = beside.walk_order();
    for (std::size_t at = 0; at < std::min(order.size(), max_heads); ++at) {
        const waiting_ticket& one = *order[at];
        for (const known_worker& worker : beside.workers()) {
            const bool taking =
                worker.present && !worker.draining && (!worker.suspect || worker.trial_open);
            const bool kept_away = (worker.reserved_for && *worker.reserved_for != one.id) ||
                                   (one.avoids && one.avoids->first == worker.number &&
                                    one.avoids->second == worker.news);
            const host& on = host_of(worker.number);
            if (!taking || kept_away || used_slots(on) >= on.slots || !beside.has_slot(worker)) {
                continue;
            }
            if (memory_suffices(on, x_tickets[one.id])) {
                broken("I4: " + name_of(one.id) + " waits though " + on.id + " has room for it");
            }
        }
    }
}

void judge::check_bounds(const input& what) {
    if (std::holds_alternative<ticket_submitted>(what)) {
        if (x_waiting.size() > std::max(x_config.max_length, x_most_waiting)) {
            broken("I9: " + std::to_string(x_waiting.size()) + " tickets wait");
        }
    }
    x_most_waiting = x_waiting.size();
}

void judge::note_excuses(const scheduler& beside) {
    for (const waiting_ticket& one : beside.waiting()) {
        known_ticket& known = x_tickets[one.id];
        known.excused = known.excused || one.reserve_failed;
        known.order_key = one.order_key;
    }
    for (const running_permit& one : beside.running()) {
        known_ticket& known = x_tickets[one.what.id];
        known.excused = known.excused || one.what.reserve_failed;
    }
}

std::optional<std::string> judge::after_step(
    const input& what,
    const std::vector<decision>& decisions,
    bool work_left,
    const scheduler& beside
) {
    // What was due comes before the input, in the decisions too.
    auto rest = decisions.begin();
    while (rest != decisions.end() && was_due(*rest)) {
        check(*rest++, what);
    }
    take_input(what, decisions);
    note_excuses(beside);
    for (; rest != decisions.end(); ++rest) {
        check(*rest, what);
    }
    if (!work_left) {
        check_conserved(beside);
    }
    check_bounds(what);
    return x_broken;
}

std::optional<std::string> judge::at_the_end() const {
    for (const auto& [id, one] : x_tickets) {
        if (one.state != life::over) {
            return "I5: " + name_of(id) + " never came to an end";
        }
    }
    return std::nullopt;
}

}  // namespace sluice::core::reference
