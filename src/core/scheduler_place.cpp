// Who goes next, and where: the look, the three ways of placing, reservations (R3, R4, R5).
#include <algorithm>

#include "base/assert.hpp"
#include "core/scheduler_state.hpp"

namespace sluice::core {

namespace {

/// The tickets of one look, in its order, at most max_heads.
class look_order {
public:
    look_order(
        const entry_table& entries,
        const waiting_lines& lines,
        const std::vector<entry_index>& reserved,
        bool low_first,
        bool only_reserved
    )
        : x_entries(entries),
          x_lines(lines),
          x_reserved(reserved),
          x_classes(
              low_first ? std::array{priority::low, priority::high, priority::normal}
                        : std::array{priority::high, priority::normal, priority::low}
          ),
          x_walk(lines, x_classes[0]),
          x_only_reserved(only_reserved) {
        std::ranges::sort(x_reserved, {}, [&entries](entry_index index) {
            return std::pair(entries[index].level, entries[index].order);
        });
    }

    entry_index next() {
        if (x_given == max_heads) {
            return no_entry;
        }
        ++x_given;
        if (x_given <= x_reserved.size()) {
            return x_reserved[x_given - 1];
        }
        if (x_only_reserved) {
            return no_entry;
        }
        for (;;) {
            const entry_index found = x_walk.next();
            if (found == no_entry) {
                if (++x_class == x_classes.size()) {
                    return no_entry;
                }
                x_walk = waiting_lines::walk(x_lines, x_classes[x_class]);
            } else if (x_entries[found].reserved == nullptr) {
                return found;
            }
        }
    }

private:
    const entry_table& x_entries;
    const waiting_lines& x_lines;
    std::vector<entry_index> x_reserved;
    std::array<priority, priority_count> x_classes;
    waiting_lines::walk x_walk;
    bool x_only_reserved;
    std::size_t x_class = 0;
    std::size_t x_given = 0;
};

}  // namespace

void scheduler::state::look_and_grant() {
    while (look_once()) {
        // Others head the queue now: none of them has seen the workers of earlier looks.
        unlooked = workers.all().size();
    }
}

/// Grants the first ticket that finds a worker; false if none does.
bool scheduler::state::look_once() {
    if (lines.size() == 0 || (workers.open_count() == 0 && reserved.empty())) {
        unlooked = 0;
        return false;
    }
    const bool low_owed = config.low_share > 0 && lines.size(priority::low) > 0 &&
                          grants_since_low + 1 >= config.low_share;
    look_order order(entries, lines, reserved, low_owed, workers.open_count() == 0);
    std::array<entry_index, max_heads> passed{};
    std::size_t passed_count = 0;
    search_truncated = false;
    for (entry_index index = order.next(); index != no_entry; index = order.next()) {
        placement found = place(entries[index]);
        if (found.where == nullptr) {
            passed[passed_count++] = index;
            if (entries[index].reserved == nullptr &&
                entries[index].passed_by >= config.max_bypass) {
                reserve(index);
            }
            continue;
        }
        if (found.kind == decision_why::in_order) {
            if (passed_count > 0) {
                found.kind = decision_why::bypass;
            } else if (low_owed && entries[index].level == priority::low) {
                found.kind = decision_why::low_share;
            }
        }
        for (std::size_t i = 0; i < passed_count; ++i) {
            entry& over = entries[passed[i]];
            if (over.reserved == nullptr && found.where->could_ever_hold(over.peak_kv)) {
                ++over.passed_by;
            }
        }
        grant(index, found);
        return true;
    }
    if (search_truncated) {
        workers.cursor = search_end;
        unlooked = std::min(unlooked, workers.open_count());
        unlooked = unlooked > max_looked ? unlooked - max_looked : 0;
    } else {
        unlooked = 0;
    }
    return false;
}

bool scheduler::state::is_open_for(const worker& which, const entry& newcomer) const {
    if (!which.takes_tickets() || which.free_slots() == 0) {
        return false;
    }
    if (which.reserved_for != no_entry && &entries[which.reserved_for] != &newcomer) {
        return false;
    }
    if (newcomer.avoid == which.number && newcomer.avoid_news == which.news) {
        return false;
    }
    return which.has_memory_for(newcomer);
}

scheduler::state::placement scheduler::state::place(const entry& newcomer) {
    if (newcomer.reserved != nullptr && is_open_for(*newcomer.reserved, newcomer)) {
        return {newcomer.reserved, decision_why::reservation};
    }
    if (newcomer.hints != nullptr) {
        for (const worker_number number : *newcomer.hints) {
            worker* hinted = workers.find(number);
            if (hinted != nullptr && is_open_for(*hinted, newcomer)) {
                return {hinted, decision_why::hint};
            }
        }
    }
    return {place_by_search(newcomer), decision_why::in_order};
}

/// The third way: the least used among the first few open workers of the ring.
worker* scheduler::state::place_by_search(const entry& newcomer) {
    worker* best = nullptr;
    std::size_t fitting = 0;
    std::size_t looked = 0;
    std::size_t at = workers.cursor;
    const std::size_t most = std::min(max_looked, workers.open_count());
    while (looked < most && fitting < max_fitting) {
        worker* candidate = workers.next_open(at);
        at = candidate->ring_position + 1;
        ++looked;
        if (!is_open_for(*candidate, newcomer)) {
            continue;
        }
        ++fitting;
        // in_use / slots as a cross product: no division, no rounding.
        if (best == nullptr || std::uint64_t{candidate->in_use()} * best->slots <
                                   std::uint64_t{best->in_use()} * candidate->slots) {
            best = candidate;
        }
    }
    if (best == nullptr && looked == max_looked && workers.open_count() > max_looked) {
        search_truncated = true;
        search_end = at;
    }
    return best;
}

void scheduler::state::grant(entry_index index, const placement& where) {
    entry& granted = entries[index];
    worker& onto = *where.where;
    if (where.kind != decision_why::reservation && where.kind != decision_why::hint) {
        workers.cursor = onto.ring_position + 1;
    }
    const priority level = granted.level;
    end_waiting(index);
    attach(index, onto, onto.free_index());
    granted.granted_at = now;
    granted.deadline_before_grant = granted.due;
    granted.due = now + config.permit_ttl;
    expiries.insert(index);
    if (onto.state == worker_state::suspect) {
        granted.trial = true;
        onto.trial_open = false;
        onto.trial_running = true;
    }
    workers.refresh(onto);
    grant_times[grant_count++ % grant_times.size()] = now;
    ++grants_total;
    count_low_share(level);
    decide(decision_kind::granted, where.kind, granted);
}

void scheduler::state::count_low_share(priority granted) {
    const bool low_waits = lines.size(priority::low) > 0;
    grants_since_low = granted == priority::low || !low_waits ? 0 : grants_since_low + 1;
}

void scheduler::state::reserve(entry_index index) {
    if (reserved.size() == max_reservations) {
        return;
    }
    entry& large = entries[index];
    worker* best = nullptr;
    instant best_at = never;
    for (const auto& one : workers.all()) {
        if (!one->present || one->state != worker_state::ready || one->reserved_for != no_entry ||
            one->slots == 0 || !one->could_ever_hold(large.peak_kv)) {
            continue;
        }
        const instant at = fits_at(*one, large);
        const bool better =
            best == nullptr || at < best_at ||
            (at == best_at && (one->capacity > best->capacity ||
                               (one->capacity == best->capacity && one->id < best->id)));
        if (better) {
            best = one.get();
            best_at = at;
        }
    }
    if (best == nullptr) {
        return;
    }
    best->reserved_for = index;
    large.reserved = best;
    reserved.push_back(index);
    workers.refresh(*best);
}

instant scheduler::state::fits_at(const worker& which, const entry& newcomer) const {
    struct end {
        instant at;
        std::uint32_t slot;
        bytes peak;
    };
    std::uint32_t free_slots = which.free_slots();
    bytes free_memory = which.free_memory_for(newcomer);
    const bytes need = which.need_of(newcomer);
    if (free_slots > 0 && need <= free_memory) {
        return now;
    }
    std::vector<end> ends;
    for (const entry_index index : which.by_slot) {
        if (index != no_entry) {
            const entry& one = entries[index];
            // As tokens of a µs each the product saturates instead of wrapping.
            const tokens length = one.predicted * pace.count();
            ends.push_back({one.granted_at + duration(length.count()), one.slot, one.peak_kv});
        }
    }
    std::ranges::sort(ends, [](const end& a, const end& b) {
        return a.at != b.at ? a.at < b.at : a.slot < b.slot;
    });
    // Slots above a lowered limit free nothing; counting in use against slots says when one does.
    std::uint32_t in_use = which.in_use();
    for (const end& one : ends) {
        --in_use;
        free_memory += one.peak;
        if (in_use < which.slots && need <= free_memory) {
            return one.at;
        }
    }
    return never;
}

}  // namespace sluice::core
