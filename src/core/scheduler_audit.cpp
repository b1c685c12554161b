// The audit: every sum and index of the scheduler recomputed from scratch.
#include <algorithm>
#include <set>

#include "core/scheduler_state.hpp"

namespace sluice::core {

namespace {

using finding = std::optional<std::string>;

struct worker_sums {
    std::uint32_t live = 0;
    bytes peak;
    bytes unlisted;
    std::set<fencing_token> tokens;
};

finding check_slots(const worker& one, const entry_table& entries, worker_sums& sums) {
    for (std::uint32_t slot = 0; slot < one.by_slot.size(); ++slot) {
        const entry_index index = one.by_slot[slot];
        if (index == no_entry) {
            continue;
        }
        const entry& permit = entries[index];
        if (permit.state != entry_state::running || permit.where != &one || permit.slot != slot ||
            permit.epoch != one.epoch) {
            return "a slot names an entry that does not hold it";
        }
        if (permit.token > one.last_token) {
            return "a permit carries a token newer than the newest given out";
        }
        ++sums.live;
        sums.peak += permit.peak_kv;
        sums.tokens.insert(permit.token);
        if (permit.old_token != fencing_token{}) {
            sums.tokens.insert(permit.old_token);
        }
        const bool listed = one.lists(permit.token) ||
                            (permit.old_token != fencing_token{} && one.lists(permit.old_token));
        if (listed != permit.listed) {
            return "a permit's listed flag disagrees with the report";
        }
        if (!listed) {
            sums.unlisted += permit.peak_kv;
        }
    }
    return std::nullopt;
}

finding check_worker(const worker& one, const entry_table& entries) {
    worker_sums sums;
    if (finding found = check_slots(one, entries, sums)) {
        return found;
    }
    if (sums.live != one.live || sums.peak != one.live_peak || sums.unlisted != one.unlisted_peak) {
        return "a worker's sums disagree with its slots";
    }
    const auto ghosts = std::ranges::count_if(one.listed, [&sums](fencing_token token) {
        return !sums.tokens.contains(token);
    });
    if (static_cast<std::uint32_t>(ghosts) != one.ghosts) {
        return "a worker's count of listed tokens without a permit is wrong";
    }
    if (one.live > one.permits) {
        return "a worker has more live permits than permits";
    }
    return std::nullopt;
}

finding check_entry(const entry& one, entry_index index, std::size_t& waiting, bytes& body) {
    if (one.state == entry_state::unused) {
        return "a known ticket neither waits nor runs";
    }
    if (one.state == entry_state::running && one.where == nullptr) {
        return "a running ticket has no worker";
    }
    if (one.reserved != nullptr &&
        (one.reserved->reserved_for != index || one.state != entry_state::waiting)) {
        return "a reservation is not mutual";
    }
    if (one.state == entry_state::waiting) {
        ++waiting;
        body += one.queued_bytes;
        if (one.level > one.cls) {
            return "a ticket has sunk below its class";
        }
    }
    return std::nullopt;
}

finding check_lines(const waiting_lines& lines, const entry_table& entries) {
    std::size_t met = 0;
    for (std::size_t level = 0; level < priority_count; ++level) {
        waiting_lines::walk walk(lines, static_cast<priority>(level));
        std::size_t here = 0;
        std::uint64_t last = 0;
        for (entry_index index = walk.next(); index != no_entry; index = walk.next()) {
            if (entries[index].state != entry_state::waiting || entries[index].order < last) {
                return "a class is out of order";
            }
            last = entries[index].order;
            ++here;
        }
        if (here != lines.size(static_cast<priority>(level))) {
            return "a class is miscounted";
        }
        met += here;
    }
    if (met != lines.size()) {
        return "the queue is miscounted";
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> scheduler::check_invariants() const {
    const state& s = *x_state;
    std::size_t present = 0;
    std::size_t open = 0;
    std::size_t reservations = 0;
    for (const auto& one : s.workers.all()) {
        if (finding found = check_worker(*one, s.entries)) {
            return one->id + ": " + *found;
        }
        present += one->present ? 1 : 0;
        const bool is_open =
            one->takes_tickets() && one->reserved_for == no_entry && one->free_slots() > 0;
        open += is_open ? 1 : 0;
        const worker* met = s.workers.next_open(one->ring_position);
        if (is_open != (met == one.get())) {
            return one->id + ": the open set is wrong about it";
        }
        if (one->reserved_for != no_entry) {
            ++reservations;
            if (s.entries[one->reserved_for].reserved != one.get()) {
                return one->id + ": its reservation is not mutual";
            }
        }
    }
    if (present != s.workers.present_count() || open != s.workers.open_count()) {
        return "workers are miscounted";
    }
    if (reservations != s.reserved.size() || reservations > max_reservations) {
        return "reservations are miscounted";
    }
    std::size_t waiting = 0;
    bytes body;
    finding broken;
    s.entries.for_each([&](entry_index index) {
        if (!broken) {
            broken = check_entry(s.entries[index], index, waiting, body);
        }
    });
    if (broken) {
        return broken;
    }
    if (waiting != s.lines.size() || body != s.waiting_bytes) {
        return "the waiting tickets or their bytes are miscounted";
    }
    return check_lines(s.lines, s.entries);
}

}  // namespace sluice::core
