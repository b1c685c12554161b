// Looks, places, reservations (R2 to R5) and the step.
#include "unit/core/reference.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::core::reference {

std::optional<scheduler::found> scheduler::place(const waiting_ticket& what) {
    if (what.reserved && open_to(worker(*what.reserved), what)) {
        return found{.worker = *what.reserved, .kept_for_it = true};
    }
    for (const std::string& name : what.hints) {
        for (const known_worker& one : x_workers) {
            if (one.id == name && open_to(one, what)) {
                return found{.worker = one.number, .by_hint = true};
            }
        }
    }
    return place_third_way(what);
}

std::optional<scheduler::found> scheduler::place_third_way(const waiting_ticket& what) {
    std::size_t looked = 0;
    std::size_t fitting = 0;
    std::size_t last_looked = x_cursor;
    bool cut = false;
    const known_worker* best = nullptr;
    for (std::size_t step = 0; step < x_workers.size(); ++step) {
        const std::size_t at = (x_cursor + step) % x_workers.size();
        const known_worker& one = x_workers[at];
        if (!takes_tickets(one) || one.reserved_for || !has_slot(one)) {
            continue;
        }
        if (looked == max_looked || fitting == max_fitting) {
            cut = looked == max_looked;
            break;
        }
        ++looked;
        last_looked = at;
        if (!open_to(one, what)) {
            continue;
        }
        ++fitting;
        if (best == nullptr || in_use(one) * best->slots < in_use(*best) * one.slots) {
            best = &one;
        }
    }
    if (best != nullptr) {
        return found{.worker = best->number, .third_way = true};
    }
    if (cut) {
        x_next_cursor = last_looked + 1;
    }
    return std::nullopt;
}

std::optional<instant> scheduler::fits_at(const known_worker& worker, const waiting_ticket& what)
    const {
    const auto memory = free_and_need(worker, what);
    bytes free = memory ? memory->first : bytes::zero();
    const bytes need = memory ? memory->second : bytes::zero();
    const bool any_memory = !memory.has_value();
    std::int64_t slots = std::int64_t{worker.slots} - in_use(worker);
    if (slots > 0 && (any_memory || need <= free)) {
        return x_now;
    }
    std::vector<std::tuple<instant, std::uint32_t, bytes>> ends;
    for (const running_permit& one : x_running) {
        if (live_on(one, worker)) {
            ends.emplace_back(
                one.granted + duration((one.what.predicted * x_pace.count()).count()),
                one.slot,
                one.what.peak_kv
            );
        }
    }
    std::ranges::sort(ends);
    for (const auto& [end, slot, peak] : ends) {
        ++slots;
        free += peak;
        if (slots > 0 && (any_memory || need <= free)) {
            return end;
        }
    }
    return never;
}

void scheduler::reserve(waiting_ticket& what) {
    if (x_wrong.never_reserves) {
        return;
    }
    const auto held = std::ranges::count_if(x_workers, [](const known_worker& one) {
        return one.reserved_for.has_value();
    });
    known_worker* best = nullptr;
    instant best_at;
    for (known_worker& one : x_workers) {
        const bool ready = one.present && !one.draining && !one.suspect;
        if (!ready || one.slots == 0 || one.reserved_for || what.peak_kv > one.capacity) {
            continue;
        }
        const instant at = *fits_at(one, what);
        const bool better =
            best == nullptr || at < best_at ||
            (at == best_at && (one.capacity > best->capacity ||
                               (one.capacity == best->capacity && one.id < best->id)));
        if (better) {
            best = &one;
            best_at = at;
        }
    }
    if (best == nullptr || std::cmp_greater_equal(held, max_reservations)) {
        what.reserve_failed = true;
        return;
    }
    best->reserved_for = what.id;
    what.reserved = best->number;
}

void scheduler::grant(const ticket_id& id, const found& where, bool bypassed, bool owed) {
    const auto at = std::ranges::find_if(x_waiting, [&](const auto& one) { return one.id == id; });
    const waiting_ticket taken = take_waiting(static_cast<std::size_t>(at - x_waiting.begin()));
    known_worker& host = worker(where.worker);
    running_permit fresh;
    fresh.what = taken;
    fresh.worker = host.number;
    fresh.epoch = host.epoch;
    fresh.slot = *free_index(host);
    fresh.token = fencing_token{x_wrong.repeats_tokens ? host.last_token + 1 : ++host.last_token};
    fresh.granted = x_now;
    fresh.expires = x_now + x_config.permit_ttl;
    fresh.trial = host.suspect;
    host.trial_open = false;
    if (where.third_way) {
        x_cursor = static_cast<std::size_t>(host.number) + 1;
    }
    x_grant_times.push_back(x_now);
    if (x_grant_times.size() > 64) {
        x_grant_times.erase(x_grant_times.begin());
    }
    const bool others_while_low_waits = taken.cls != priority::low && any_waiting(priority::low);
    x_others_in_a_row = others_while_low_waits ? x_others_in_a_row + 1 : 0;
    decision one = about(fresh, decision_kind::granted);
    one.why = where.kept_for_it                    ? decision_why::reservation
              : where.by_hint                      ? decision_why::hint
              : bypassed                           ? decision_why::bypass
              : owed && taken.cls == priority::low ? decision_why::low_share
                                                   : decision_why::in_order;
    x_running.push_back(fresh);
    say(one);
}

bool scheduler::look() {
    const bool owed = low_is_owed();
    const bool any_room = std::ranges::any_of(x_workers, [&](const known_worker& one) {
        return takes_tickets(one) && !one.reserved_for && has_slot(one);
    });
    std::vector<ticket_id> order;
    for (const waiting_ticket* one : walk_order()) {
        if (order.size() < max_heads && (any_room || one->reserved)) {
            order.push_back(one->id);
        }
    }
    std::vector<ticket_id> passed;
    const auto named = [&](const ticket_id& id) -> waiting_ticket& {
        return *std::ranges::find_if(x_waiting, [&](const auto& one) { return one.id == id; });
    };
    for (const ticket_id& id : order) {
        waiting_ticket& what = named(id);
        if (const auto where = place(what)) {
            for (const ticket_id& other : passed) {
                waiting_ticket& one = named(other);
                if (!one.reserved && one.peak_kv <= worker(where->worker).capacity) {
                    ++one.passed_by;
                }
            }
            grant(id, *where, !passed.empty(), owed);
            return true;
        }
        if (!what.reserved && what.passed_by >= x_config.max_bypass) {
            reserve(what);
        }
        passed.push_back(id);
    }
    return false;
}

/// Returns whether workers are left that no look has reached since the last input.
bool scheduler::grants() {
    x_next_cursor.reset();
    while (look()) {
        x_next_cursor.reset();
        x_seen = 0;
    }
    if (!x_next_cursor) {
        x_seen = 0;
        return false;
    }
    x_cursor = *x_next_cursor;
    x_seen += max_looked;
    const auto worth_a_look = std::ranges::count_if(x_workers, [&](const known_worker& one) {
        return takes_tickets(one) && !one.reserved_for && has_slot(one);
    });
    return std::cmp_less(x_seen, worth_a_look);
}

/// Returns whether the rejected ticket had a worker kept for it.
bool scheduler::reject_overfull() {
    if (!x_submitted || x_wrong.unbounded_queue) {
        return false;
    }
    bytes held;
    for (const waiting_ticket& one : x_waiting) {
        held += one.queued_bytes;
    }
    if (x_waiting.size() <= x_config.max_length && held <= x_config.max_bytes) {
        return false;
    }
    for (std::size_t at = 0; at < x_waiting.size(); ++at) {
        if (x_waiting[at].id == *x_submitted) {
            const bool held_a_worker = x_waiting[at].reserved.has_value();
            decision one = about(take_waiting(at), decision_kind::rejected);
            one.why = decision_why::queue_full;
            one.retry_after = retry_after(x_now);
            say(one);
            return held_a_worker;
        }
    }
    return false;
}

instant scheduler::step(instant now, const input& what, std::vector<decision>& out) {
    x_out = &out;
    x_now = std::min(std::max(x_now, now), never - duration(1));
    x_submitted.reset();
    x_release_step = false;
    for (std::size_t moves = 0; moves < max_moves; ++moves) {
        if (!expire_one() && !suspect_one() && !time_out_one() && !lose_one() && !promote_one()) {
            break;
        }
        x_seen = 0;
        forget_ended_sessions();
    }
    std::visit(*this, what);
    forget_ended_sessions();
    if (!std::holds_alternative<tick>(what)) {
        x_seen = 0;
    }
    bool again = next_due() <= x_now;
    if (!again && !(x_release_step && x_wrong.sleeps_on_release)) {
        again = grants();
    }
    if (reject_overfull()) {
        x_seen = 0;
        again = grants();
    }
    return again ? x_now : std::max(x_now, next_due());
}

}  // namespace sluice::core::reference
