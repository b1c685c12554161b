// Questions about the state: R3 order, R4 room, R10.
#include "unit/core/reference.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace sluice::core::reference {

known_worker& scheduler::worker(worker_number number) {
    return x_workers[static_cast<std::size_t>(number)];
}

known_worker* scheduler::present(std::string_view id, worker_epoch epoch) {
    for (known_worker& one : x_workers) {
        if (one.present && one.id == id && one.epoch == epoch) {
            return &one;
        }
    }
    return nullptr;
}

bool scheduler::live_on(const running_permit& permit, const known_worker& worker) const {
    return worker.present && permit.worker == worker.number && permit.epoch == worker.epoch;
}

bool scheduler::listed(const known_worker& worker, const running_permit& permit) const {
    if (!worker.last) {
        return false;
    }
    return std::ranges::any_of(worker.last->listed, [&](fencing_token token) {
        return token == permit.token || (permit.old_token && token == *permit.old_token);
    });
}

std::int64_t scheduler::in_use(const known_worker& worker) const {
    std::set<fencing_token> tokens;
    for (const running_permit& permit : x_running) {
        if (live_on(permit, worker)) {
            tokens.insert(permit.token);
        }
    }
    if (worker.last) {
        for (fencing_token token : worker.last->listed) {
            const bool known_by_new_token = std::ranges::any_of(x_running, [&](const auto& permit) {
                return live_on(permit, worker) && permit.old_token && *permit.old_token == token;
            });
            if (!known_by_new_token) {
                tokens.insert(token);
            }
        }
    }
    return static_cast<std::int64_t>(tokens.size());
}

std::optional<std::uint32_t> scheduler::free_index(const known_worker& worker) const {
    for (std::uint32_t slot = 0; slot < worker.slots + x_wrong.extra_slots; ++slot) {
        const bool held = std::ranges::any_of(x_running, [&](const running_permit& permit) {
            return live_on(permit, worker) && permit.slot == slot;
        });
        const bool kept = std::ranges::any_of(worker.kept, [&](const kept_slot& one) {
            return one.slot == slot;
        });
        if (!held && !kept) {
            return slot;
        }
    }
    return std::nullopt;
}

bool scheduler::has_slot(const known_worker& worker) const {
    return std::int64_t{worker.slots} + x_wrong.extra_slots - in_use(worker) > 0 &&
           free_index(worker).has_value();
}

std::optional<std::pair<bytes, bytes>> scheduler::free_and_need(
    const known_worker& worker, const waiting_ticket& what
) const {
    bytes held;
    bytes unlisted;
    for (const running_permit& permit : x_running) {
        if (live_on(permit, worker)) {
            held += permit.what.peak_kv;
            if (!listed(worker, permit) && !x_wrong.forgets_unlisted) {
                unlisted += permit.what.peak_kv;
            }
        }
    }
    if (!worker.reports) {
        if (worker.capacity == bytes::max()) {
            return std::nullopt;
        }
        return std::pair(worker.capacity - held, what.peak_kv);
    }
    for (std::size_t row = 0; row < headroom_rows.size(); ++row) {
        if (headroom_rows[row] >= what.predicted.count()) {
            const bytes g = worker.last ? worker.last->headroom[row] : bytes::zero();
            return std::pair(g - unlisted, what.prompt_kv);
        }
    }
    const bytes g = worker.last ? worker.last->headroom.back() : bytes::zero();
    return std::pair(g - unlisted, what.peak_kv);
}

bool scheduler::avoided(const waiting_ticket& what, const known_worker& worker) const {
    return what.avoids && what.avoids->first == worker.number && what.avoids->second == worker.news;
}

bool scheduler::takes_tickets(const known_worker& worker) const {
    return worker.present && !worker.draining && (!worker.suspect || worker.trial_open);
}

bool scheduler::open_to(const known_worker& worker, const waiting_ticket& what) const {
    if (!takes_tickets(worker)) {
        return false;
    }
    if (worker.reserved_for && *worker.reserved_for != what.id) {
        return false;
    }
    if (avoided(what, worker) || !has_slot(worker)) {
        return false;
    }
    const bool alone = worker.last && in_use(worker) == 0 && worker.last->running == 0 &&
                       worker.last->waiting == 0;
    if (worker.reports && alone && what.peak_kv <= worker.last->headroom[0]) {
        return true;
    }
    const auto memory = free_and_need(worker, what);
    return !memory || memory->second <= memory->first;
}

bool scheduler::any_waiting(priority cls) const {
    return std::ranges::any_of(x_waiting, [&](const auto& one) { return one.cls == cls; });
}

bool scheduler::low_is_owed() const {
    return x_config.low_share > 0 && any_waiting(priority::low) &&
           x_others_in_a_row + 1 >= x_config.low_share;
}

std::vector<const waiting_ticket*> scheduler::walk_order() const {
    std::vector<const waiting_ticket*> order;
    for (const waiting_ticket& one : x_waiting) {
        order.push_back(&one);
    }
    const bool owed = low_is_owed();
    const auto rank = [&](const waiting_ticket* one) {
        const int cls = static_cast<int>(one->cls);
        const bool first = owed && one->cls == priority::low && !one->reserved;
        return std::tuple(one->reserved ? 0 : 1, first ? -1 : cls, one->order_key);
    };
    std::ranges::sort(order, [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    if (x_wrong.newest_first) {
        std::ranges::reverse(order);
    }
    return order;
}

duration scheduler::retry_after(instant now) const {
    if (x_grant_times.empty()) {
        return std::chrono::seconds(1);
    }
    const std::int64_t since = (now - x_grant_times.front()).count();
    const auto each =
        static_cast<__int128>(since / static_cast<std::int64_t>(x_grant_times.size()));
    const __int128 all = each * static_cast<__int128>(x_waiting.size() + 1);
    const __int128 most = duration(std::chrono::seconds(300)).count();
    const __int128 least = duration(std::chrono::seconds(1)).count();
    return duration(static_cast<std::int64_t>(std::clamp(all, least, most)));
}

instant scheduler::promotion_due(const waiting_ticket& what) const {
    if (what.cls == priority::high) {
        return never;
    }
    return what.arrival + x_config.ageing * (what.moved_up + 1);
}

bool scheduler::can_go_stale(const known_worker& worker) const {
    return worker.reports && takes_tickets(worker);
}

instant scheduler::stale_at(const known_worker& worker) const {
    return worker.reported_at + 3 * x_config.heartbeat;
}

instant scheduler::next_due() const {
    instant first = never;
    for (const running_permit& one : x_running) {
        first = std::min(first, one.expires);
    }
    for (const known_worker& one : x_workers) {
        if (can_go_stale(one)) {
            first = std::min(first, stale_at(one));
        }
    }
    for (const waiting_ticket& one : x_waiting) {
        first = std::min({first, one.deadline, promotion_due(one)});
    }
    return x_lost_sessions.empty() ? first : std::min(first, x_now);
}

running_permit* scheduler::permit_of(const ticket_id& id, fencing_token token) {
    for (running_permit& one : x_running) {
        if (one.what.id == id && one.token == token) {
            return &one;
        }
    }
    return nullptr;
}

}  // namespace sluice::core::reference
