#include "core/scheduler.hpp"

#include <algorithm>

#include "core/scheduler_state.hpp"

namespace sluice::core {

scheduler::scheduler(scheduler_config config) : x_state(std::make_unique<state>(config)) {}
scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;
scheduler& scheduler::operator=(scheduler&&) noexcept = default;

instant scheduler::step(instant now, const input& what, std::vector<decision>& out) {
    state& s = *x_state;
    s.out = &out;
    // Before `never`, at which nothing falls due.
    s.now = std::min(std::max(s.now, now), never - duration(1));
    s.submitted = no_entry;
    const bool moved = s.do_due_work();
    std::visit([&s](const auto& happened) { s.apply(happened); }, what);
    if (!s.has_due_work()) {
        if (moved || !std::holds_alternative<tick>(what)) {
            s.unlooked = s.workers.all().size();
        }
        s.look_and_grant();
    }
    if (s.refuse_if_over_limit()) {
        s.unlooked = s.workers.all().size();
        s.look_and_grant();
    }
    return s.has_due_work() ? s.now : s.next_wakeup();
}

void scheduler::reconfigure(const scheduler_config& config) {
    state& s = *x_state;
    // Forgotten workers have raised the floor: their tokens must not come back.
    const fencing_token floor = std::max(s.config.token_floor, config.token_floor);
    s.config = config;
    s.config.token_floor = floor;
    // The heartbeat may have become shorter: look at every report again.
    s.stale_bound = s.now;
}

std::size_t scheduler::waiting() const {
    return x_state->lines.size();
}

std::size_t scheduler::running() const {
    return x_state->entries.size() - x_state->lines.size();
}

std::optional<worker_number> scheduler::find_worker(std::string_view id) const {
    const worker* found = x_state->workers.find(id);
    if (found == nullptr || !found->present) {
        return std::nullopt;
    }
    return found->number;
}

std::string_view scheduler::worker_id(worker_number number) const {
    const worker* found = x_state->workers.find(number);
    return found == nullptr ? std::string_view() : std::string_view(found->id);
}

std::size_t scheduler::memory_bytes() const {
    const state& s = *x_state;
    return s.entries.memory_bytes() + s.deadlines.memory_bytes() + s.expiries.memory_bytes() +
           s.workers.memory_bytes();
}

}  // namespace sluice::core
