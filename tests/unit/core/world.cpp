#include "unit/core/world.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::core::reference {

namespace {

duration draw(random_source& random, duration low, duration high) {
    return duration(random.between(low.count(), high.count()));
}

/// Largest need over time (policies: k · r_k + Σ a_i over the k that run longest).
std::int64_t peak_need(std::vector<std::pair<std::int64_t, std::int64_t>> left_and_held) {
    std::ranges::sort(left_and_held, std::greater<>());
    std::int64_t held = 0;
    std::int64_t need = 0;
    std::int64_t count = 0;
    for (const auto& [left, now] : left_and_held) {
        held += now;
        ++count;
        need = std::max(need, count * left + held);
    }
    return need;
}

}  // namespace

world_options draw_options(random_source& random) {
    using std::chrono::milliseconds;
    world_options drawn;
    drawn.honest = random.chance(1, 2);
    drawn.workers = static_cast<std::size_t>(
        random.chance(1, 12) ? random.between(40, 70) : random.between(1, 6)
    );
    drawn.slots_most = static_cast<std::uint32_t>(random.between(1, 8));
    constexpr std::array<std::int64_t, 4> capacities = {60, 400, 5'000, 60'000};
    drawn.capacity = capacities[random.below(capacities.size())];
    drawn.reporting = static_cast<std::uint32_t>(random.below(5));
    drawn.unknown_capacity = random.chance(1, 6);
    drawn.mishaps = random.chance(1, 5) ? 0 : static_cast<std::uint32_t>(random.between(10, 150));
    drawn.submits = static_cast<std::uint32_t>(random.between(150, 550));
    drawn.wait_most = draw(random, milliseconds(50), milliseconds(20'000));
    drawn.step_most = draw(random, milliseconds(1), milliseconds(400));
    scheduler_config& config = drawn.config;
    config.max_length = static_cast<std::size_t>(
        random.chance(1, 3) ? random.between(1, 8) : random.between(20, 300)
    );
    config.max_bytes = bytes(random.chance(1, 3) ? random.between(10, 300) : 1'000'000);
    config.ageing = draw(random, milliseconds(20), milliseconds(8'000));
    config.max_bypass = static_cast<std::uint32_t>(random.chance(1, 6) ? 16 : random.below(5));
    config.low_share = static_cast<std::uint32_t>(random.chance(1, 2) ? 0 : random.between(1, 6));
    config.permit_ttl = draw(random, milliseconds(100), milliseconds(20'000));
    config.heartbeat = draw(random, milliseconds(20), milliseconds(3'000));
    config.token_floor = fencing_token{random.below(1000)};
    return drawn;
}

std::string describe(const world_options& options) {
    return (options.honest ? "honest" : "lying") + std::string(" world of ") +
           std::to_string(options.workers) + " workers, capacity " +
           std::to_string(options.capacity) + ", mishaps " + std::to_string(options.mishaps);
}

world::world(const world_options& options, std::uint64_t seed)
    : x_options(options), x_random(seed) {
    x_lies = !options.honest;
    for (std::size_t at = 0; at < options.workers; ++at) {
        engine one;
        // Names do not follow the order of joining.
        one.id = "w" + std::to_string((at * 7 + 3) % 100);
        one.epoch = worker_epoch{static_cast<std::uint64_t>(x_random.between(1, 3))};
        one.slots = static_cast<std::uint32_t>(x_random.between(1, options.slots_most));
        const bool unknown = options.unknown_capacity && x_random.chance(1, 2);
        one.capacity = unknown ? bytes::max()
                               : bytes(x_random.between(options.capacity / 2, options.capacity));
        one.reports = !unknown && x_random.chance(options.reporting, 4);
        one.max_token = fencing_token{x_random.below(50)};
        x_engines.push_back(std::move(one));
    }
}

// ------------------------------------------------------------------------------ the engines' side

bytes world::headroom(const engine& from, std::int64_t row) const {
    // Largest p such that the test still passes: a newcomer adds p to every sum it is part of.
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const engine_run& one : from.runs) {
        all.emplace_back(one.predicted - one.produced, one.prompt + one.produced);
    }
    const std::int64_t capacity = from.capacity.count();
    std::int64_t low = -1;
    std::int64_t high = capacity;
    while (low < high) {
        const std::int64_t middle = low + (high - low + 1) / 2;
        auto with = all;
        with.emplace_back(row, middle);
        if (peak_need(with) <= capacity) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return bytes(std::max<std::int64_t>(low, 0));
}

report world::make_report(engine& from) {
    report made;
    made.worker = from.id;
    made.epoch = from.epoch;
    made.number = ++from.number;
    made.age = x_random.chance(3, 4) ? duration::zero()
                                     : draw(x_random, duration::zero(), x_options.config.heartbeat);
    made.running = static_cast<std::uint32_t>(from.runs.size());
    made.kv_capacity = from.capacity;
    made.max_token = from.max_token;
    for (const engine_run& one : from.runs) {
        made.kv_used += bytes(one.prompt + one.produced);
        made.listed.push_back(one.token);
    }
    from.written[made.number] = from.runs;
    if (from.written.size() > 64) {
        from.written.erase(from.written.begin());
    }
    for (std::size_t row = 0; row < headroom_rows.size(); ++row) {
        made.headroom[row] = headroom(from, headroom_rows[row]);
    }
    if (x_lies) {
        lie(made, from);
    }
    return made;
}

void world::lie(report& about, const engine& from) {
    if (x_random.chance(1, 3)) {
        for (bytes& row : about.headroom) {
            row = bytes(x_random.between(-10, from.capacity.count()));
        }
    }
    if (x_random.chance(1, 3)) {
        about.listed.push_back(fencing_token{x_random.below(200)});
    }
    if (x_random.chance(1, 3) && !about.listed.empty()) {
        about.listed.erase(about.listed.begin());
    }
    if (x_random.chance(1, 6) && !about.listed.empty()) {
        about.listed.push_back(about.listed.front());
    }
    if (x_random.chance(1, 8)) {
        about.age = x_options.config.heartbeat * x_random.between(0, 5);
    }
    if (x_random.chance(1, 8)) {
        about.max_token = fencing_token{x_random.below(3000)};
    }
}

const report* world::carried_report(engine& from) {
    x_carried_now.reset();
    if (!from.alive || !from.reports || x_random.chance(1, 2)) {
        return nullptr;
    }
    x_carried_now = make_report(from);
    return &*x_carried_now;
}

void world::engines_work() {
    for (engine& from : x_engines) {
        for (engine_run& one : from.runs) {
            one.produced += x_random.between(0, one.actual - one.produced);
        }
        if (from.reports && from.alive && x_random.chance(1, 8) && from.under_way.size() < 8) {
            from.under_way.push_back(make_report(from));
        }
    }
    for (holder& one : x_holders) {
        if (one.where == phase::granted && x_random.chance(1, 2)) {
            start(one);
        } else if (one.where == phase::runs && x_random.chance(1, 5)) {
            finish(one, false);
            one.where = phase::finished;
        }
    }
    // Streams whose permit is gone end at some time too.
    if (!x_orphans.empty() && x_random.chance(1, 20)) {
        finish(x_orphans.front().was, false);
        x_orphans.pop_front();
    }
}

void world::start(holder& one) {
    engine& host = x_engines[one.engine];
    if (host.epoch != one.epoch) {
        return;
    }
    engine_run run;
    run.id = one.what.id;
    run.token = one.token;
    run.prompt = one.what.prompt_kv.count();
    run.predicted = one.what.predicted.count();
    run.actual = x_random.between(0, run.predicted);
    host.runs.push_back(run);
    host.max_token = std::max(host.max_token, one.token);
    one.where = phase::runs;
}

/// The permit of `one` ends.
void world::finish(holder& one, bool leave_running) {
    engine& host = x_engines[one.engine];
    const auto run = std::ranges::find(host.runs, one.what.id, &engine_run::id);
    if (run == host.runs.end()) {
        return;
    }
    if (!leave_running) {
        host.runs.erase(run);
    }
}

std::optional<std::string> world::overcommitted() const {
    for (const engine& host : x_engines) {
        if (!x_options.honest || !host.reports) {
            continue;
        }
        std::vector<std::pair<std::int64_t, std::int64_t>> all;
        for (const engine_run& one : host.shown) {
            all.emplace_back(one.predicted - one.produced, one.prompt + one.produced);
        }
        const bool too_much_by_itself = peak_need(all) > host.capacity.count();
        for (const holder& one : x_holders) {
            if (one.where != phase::waits && &x_engines[one.engine] == &host &&
                one.epoch == host.epoch && one.granted_on == host.applied) {
                all.emplace_back(one.what.predicted.count(), one.what.prompt_kv.count());
            }
        }
        const std::int64_t need = peak_need(std::move(all));
        if (need > host.capacity.count() && !too_much_by_itself) {
            return "I1: " + host.id + " will need " + std::to_string(need) + " of " +
                   std::to_string(host.capacity.count());
        }
    }
    return std::nullopt;
}

void world::note_applied(const report& what) {
    for (engine& host : x_engines) {
        if (host.id == what.worker && host.epoch == what.epoch && host.alive &&
            what.number > host.applied) {
            host.applied = what.number;
            host.shown = host.written[what.number];
        }
    }
}

// ------------------------------------------------------------------------------ what is observed

world::holder* world::holder_of(const ticket_id& id) {
    const auto at =
        std::ranges::find_if(x_holders, [&](const holder& one) { return one.what.id == id; });
    return at == x_holders.end() ? nullptr : &*at;
}

world::holder* world::some_holder(phase first, phase last) {
    std::vector<holder*> fitting;
    for (holder& one : x_holders) {
        if (one.where >= first && one.where <= last) {
            fitting.push_back(&one);
        }
    }
    return fitting.empty() ? nullptr : fitting[x_random.below(fitting.size())];
}

void world::forget(const ticket_id& id) {
    const auto at =
        std::ranges::find_if(x_holders, [&](const holder& one) { return one.what.id == id; });
    if (at == x_holders.end()) {
        return;
    }
    x_former.push_back(*at);
    if (x_former.size() > 16) {
        x_former.erase(x_former.begin());
    }
    x_holders.erase(at);
}

void world::observe(const std::vector<decision>& decisions) {
    const bool refused = std::ranges::any_of(decisions, [](const decision& one) {
        return one.kind == decision_kind::call_failed;
    });
    if (x_carried_now && !refused) {
        note_applied(*x_carried_now);
    }
    x_carried_now.reset();
    for (const decision& one : decisions) {
        holder* who = holder_of(one.ticket);
        if (who == nullptr) {
            continue;
        }
        switch (one.kind) {
            case decision_kind::granted:
            case decision_kind::adopted:
                who->where = one.kind == decision_kind::adopted ? phase::runs : phase::granted;
                who->engine = static_cast<std::size_t>(one.worker);
                who->epoch = one.epoch;
                who->slot = one.slot;
                who->token = one.token;
                who->order_key = one.order_key;
                who->granted_on = one.kind == decision_kind::granted
                                      ? x_engines[who->engine].applied
                                      : ~std::uint64_t{0};
                break;
            case decision_kind::requeued:
                who->where = phase::waits;
                break;
            case decision_kind::lost: {
                const bool goes_on = who->where == phase::runs && x_random.chance(1, 2);
                finish(*who, goes_on);
                if (goes_on) {
                    x_orphans.push_back({*who});
                }
                forget(one.ticket);
                break;
            }
            case decision_kind::rejected:
            case decision_kind::timed_out:
            case decision_kind::cancelled:
            case decision_kind::released:
                forget(one.ticket);
                break;
            case decision_kind::call_failed:
                if (std::holds_alternative<permit_adopted>(x_event.what)) {
                    x_orphans.push_back({*who});
                    forget(one.ticket);
                }
                break;
            case decision_kind::worker_suspect:
            case decision_kind::worker_ready:
                break;
        }
    }
}

}  // namespace sluice::core::reference
