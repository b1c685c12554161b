// Looking at the scheduler from outside: snapshot, dump, fingerprint, and the audit of its books.
#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "core/scheduler_state.hpp"

namespace sluice::core {

namespace {

void append(std::string& text, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), end);
}

void field(std::string& text, std::string_view name, std::int64_t value) {
    text.append(" ").append(name).append("=");
    append(text, value);
}

void field(std::string& text, std::string_view name, std::string_view value) {
    text.append(" ").append(name).append("=").append(value);
}

std::int64_t micros(instant at) {
    return at.time_since_epoch().count();
}

std::vector<entry_index> by_order(const entry_table& entries) {
    std::vector<entry_index> all;
    all.reserve(entries.size());
    entries.for_each([&all](entry_index index) { all.push_back(index); });
    std::ranges::sort(all, {}, [&entries](entry_index index) {
        return std::pair(entries[index].order, entries[index].id);
    });
    return all;
}

worker_snapshot describe(const worker& one, instant now) {
    worker_snapshot shown;
    shown.id = one.id;
    shown.number = one.number;
    shown.epoch = one.epoch;
    shown.state = one.state;
    shown.slots = one.slots;
    shown.in_use = one.in_use();
    shown.kv_capacity = one.capacity;
    shown.kv_reserved = one.live_peak;
    const bytes free = one.reports                    ? one.headroom[0] - one.unlisted_peak
                       : one.capacity == bytes::max() ? bytes::max()
                                                      : one.capacity - one.live_peak;
    shown.kv_headroom = std::max(free, bytes::zero());
    shown.reports = one.reports;
    shown.report_age = one.reports ? now - one.report_at : duration::zero();
    shown.running = one.reports ? one.running : one.live;
    shown.waiting = one.waiting;
    shown.kv_used = one.kv_used;
    return shown;
}

}  // namespace

pool_snapshot scheduler::snapshot(instant at, std::size_t waiting_at_most) const {
    const state& s = *x_state;
    const instant now = std::max(at, s.now);
    pool_snapshot shown;
    for (const auto& one : s.workers.all()) {
        if (one->present) {
            shown.workers.push_back(describe(*one, now));
        }
        for (const entry_index index : one->by_slot) {
            if (index == no_entry) {
                continue;
            }
            const entry& permit = s.entries[index];
            shown.permits.push_back(
                {permit.id,
                 one->number,
                 permit.slot,
                 permit.token,
                 std::string(s.tenants.name(permit.tenant)),
                 permit.cls,
                 permit.peak_kv,
                 now - permit.granted_at,
                 permit.due - now}
            );
        }
    }
    const duration interval = s.grant_interval();
    for (std::size_t level = 0; level < priority_count; ++level) {
        shown.waiting[level] = s.lines.size(static_cast<priority>(level));
        waiting_lines::walk walk(s.lines, static_cast<priority>(level));
        for (entry_index index = walk.next();
             index != no_entry && shown.queue.size() < waiting_at_most;
             index = walk.next()) {
            const entry& one = s.entries[index];
            const std::size_t position = shown.queue.size() + 1;
            shown.queue.push_back(
                {one.id,
                 one.level,
                 std::string(s.tenants.name(one.tenant)),
                 one.peak_kv,
                 position,
                 now - one.arrival,
                 interval * static_cast<std::int64_t>(position)}
            );
            shown.oldest_wait = std::max(shown.oldest_wait, now - one.arrival);
        }
    }
    shown.grants_total = s.grants_total;
    const duration since = s.grant_count == 0 ? duration::zero() : interval;
    shown.grants_per_1000_s = since > duration::zero() ? 1'000'000'000 / since.count() : 0;
    return shown;
}

std::string scheduler::dump() const {
    const state& s = *x_state;
    std::string text = "scheduler";
    field(text, "now", micros(s.now));
    field(text, "waiting", static_cast<std::int64_t>(s.lines.size()));
    field(text, "next_order", static_cast<std::int64_t>(s.next_order));
    text.append("\n");
    for (const auto& one : s.workers.all()) {
        text.append("worker ").append(one->id);
        field(text, "present", std::int64_t{one->present});
        field(text, "epoch", static_cast<std::int64_t>(one->epoch));
        field(text, "state", to_string(one->state));
        field(text, "slots", one->slots);
        field(text, "live", one->live);
        field(text, "ghosts", one->ghosts);
        field(text, "capacity", one->capacity.count());
        field(text, "live_peak", one->live_peak.count());
        field(text, "unlisted_peak", one->unlisted_peak.count());
        field(text, "last_token", static_cast<std::int64_t>(one->last_token));
        text.append("\n");
    }
    for (const entry_index index : by_order(s.entries)) {
        const entry& one = s.entries[index];
        text.append(one.state == entry_state::waiting ? "waiting " : "running ");
        append(text, static_cast<std::int64_t>(one.id.session));
        text.append("/");
        append(text, static_cast<std::int64_t>(one.id.number));
        field(text, "order", static_cast<std::int64_t>(one.order));
        field(text, "class", to_string(one.level));
        field(text, "prompt", one.prompt_kv.count());
        field(text, "peak", one.peak_kv.count());
        field(text, "due", micros(one.due));
        field(text, "passed_by", one.passed_by);
        if (one.where != nullptr) {
            field(text, "worker", one.where->id);
            field(text, "slot", one.slot);
            field(text, "token", static_cast<std::int64_t>(one.token));
        }
        if (one.reserved != nullptr) {
            field(text, "reserved", one.reserved->id);
        }
        text.append("\n");
    }
    return text;
}

std::uint64_t scheduler::state_hash() const {
    const state& s = *x_state;
    stable_hash hash;
    hash.add(s.next_order).add(std::uint64_t{s.grants_since_low}).add(s.pace.count());
    for (const auto& one : s.workers.all()) {
        hash.add(one->id).add(static_cast<std::uint64_t>(one->epoch));
        hash.add(std::uint64_t{one->present}).add(static_cast<std::uint64_t>(one->state));
        hash.add(std::uint64_t{one->slots}).add(one->capacity.count());
        hash.add(static_cast<std::uint64_t>(one->last_token)).add(one->report_number);
        hash.add(std::uint64_t{one->trial_open}).add(std::uint64_t{one->trial_running});
        hash.add(one->unlisted_peak.count()).add(std::uint64_t{one->ghosts});
    }
    for (const entry_index index : by_order(s.entries)) {
        const entry& one = s.entries[index];
        hash.add(static_cast<std::uint64_t>(one.id.session)).add(one.id.number).add(one.order);
        hash.add(static_cast<std::uint64_t>(one.state)).add(static_cast<std::uint64_t>(one.level));
        hash.add(micros(one.due)).add(one.prompt_kv.count()).add(one.peak_kv.count());
        hash.add(std::uint64_t{one.passed_by}).add(s.tenants.name(one.tenant));
        if (one.where != nullptr) {
            hash.add(one.where->id).add(std::uint64_t{one.slot});
            hash.add(static_cast<std::uint64_t>(one.token));
        }
        hash.add(one.reserved != nullptr ? std::string_view(one.reserved->id) : std::string_view());
    }
    return hash.value();
}

}  // namespace sluice::core
