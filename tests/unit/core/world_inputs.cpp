// The inputs that a world draws.
#include <algorithm>
#include <array>

#include "unit/core/world.hpp"

namespace sluice::core::reference {

namespace {

constexpr std::array<std::string_view, 4> tenants = {"a", "b", "tenant c", ""};

template <class Call>
Call call_on(const ticket_id& id, fencing_token token) {
    Call what;
    what.id = id;
    what.token = token;
    return what;
}

}  // namespace

input world::join_of(const engine& one) const {
    worker_joined what;
    what.worker = one.id;
    what.epoch = one.epoch;
    what.slots = one.slots;
    what.kv_capacity = one.capacity;
    what.reports = one.reports;
    what.max_token = one.max_token;
    return what;
}

void world::let_time_pass(instant wakeup) {
    if (x_burst > 0 || x_random.chance(1, 4)) {
        return;
    }
    if (wakeup < never && wakeup > x_now && x_random.chance(1, 5)) {
        x_now = wakeup;
    } else if (x_options.mishaps > 0 && x_random.chance(1, 300)) {
        x_now += duration(x_random.between(0, 40'000'000));
    } else {
        const auto most = x_options.step_most.count() / (x_random.chance(3, 4) ? 20 : 1);
        x_now += duration(x_random.between(0, std::max<std::int64_t>(most, 1)));
    }
}

const world::event& world::next(instant wakeup) {
    engines_work();
    let_time_pass(wakeup);
    x_event.now = x_now;
    x_event.what = tick{};
    if (x_options.mishaps > 0 && x_random.chance(1, 50)) {
        x_event.now -= duration(x_random.between(0, 3'000'000));
    }
    if (x_joined < x_engines.size()) {
        x_event.what = join_of(x_engines[x_joined++]);
        return x_event;
    }
    if (state_again()) {
        return x_event;
    }
    if (x_burst > 0) {
        --x_burst;
        submit();
        return x_event;
    }
    if (x_random.below(1000) < x_options.mishaps && mishap()) {
        return x_event;
    }
    if (x_random.below(1000) < x_options.submits && submit()) {
        return x_event;
    }
    const std::uint64_t kind = x_random.below(100);
    if (kind < 45) {
        release(kind < 40);
    } else if (kind < 52) {
        requeue();
    } else if (kind < 60) {
        renew();
    } else if (kind < 90) {
        deliver_report();
    } else if (kind < 93) {
        probe();
    } else if (kind < 96) {
        cancel();
    }
    return x_event;
}

const world::event& world::next_of_the_end(instant wakeup) {
    x_lies = false;
    engines_work();
    x_event.what = tick{};
    const bool all_here = std::ranges::all_of(x_engines, [](const engine& one) {
        return one.alive && !one.draining;
    });
    if (wakeup <= x_now && x_random.chance(1, 2)) {
        // The scheduler asked for another turn.
    } else if (!all_here && x_random.chance(1, 2) && join_again()) {
        // A fresh incarnation.
    } else if (x_random.chance(1, 8) && cancel_what_can_never_run()) {
        // The workers that could hold it have shrunk since.
    } else if (!release(true) && !release(false) && !(x_random.chance(3, 4) && deliver_report())) {
        if (!(x_random.chance(1, 4) && probe())) {
            x_now = std::max(x_now, wakeup == never ? x_now : wakeup);
        }
    }
    x_event.now = x_now;
    return x_event;
}

bool world::cancel_what_can_never_run() {
    bytes most;
    for (const engine& one : x_engines) {
        most = std::max(most, one.capacity);
    }
    for (const holder& one : x_holders) {
        if (one.where == phase::waits && one.what.peak_kv > most) {
            return emit(ticket_cancelled{one.what.id});
        }
    }
    return false;
}

bool world::submit() {
    if (x_burst == 0 && x_options.mishaps > 0 && x_random.chance(1, 250)) {
        x_burst = static_cast<std::uint32_t>(x_random.between(40, 160));
        x_burst_wait = duration(x_random.between(0, x_options.wait_most.count()));
    }
    holder one;
    ticket& what = one.what;
    what.id = {session_id{x_random.below(4) + 1}, x_next_ticket++};
    constexpr std::array<priority, 4> classes = {
        priority::high, priority::normal, priority::normal, priority::low
    };
    what.cls = classes[x_random.below(classes.size())];
    what.tenant = tenants[x_random.below(tenants.size())];
    const std::int64_t most = x_random.chance(1, 20)  ? x_options.capacity * 6 / 5
                              : x_random.chance(1, 4) ? x_options.capacity * 7 / 10
                                                      : x_options.capacity / 5;
    what.prompt_kv = bytes(x_random.between(1, std::max<std::int64_t>(most, 1)));
    what.predicted = tokens(x_random.between(0, std::max<std::int64_t>(most / 2, 1)));
    what.peak_kv = what.prompt_kv + bytes(what.predicted.count());
    what.wait =
        x_burst > 0 ? x_burst_wait : duration(x_random.between(0, x_options.wait_most.count()));
    if (x_random.chance(1, 12)) {
        what.wait = duration(quantity_limit);
    }
    what.queued_bytes = bytes(x_random.between(0, 40));
    while (x_random.chance(1, 4) && what.hints.size() < 12) {
        const bool unknown = x_random.chance(1, 8);
        what.hints.push_back(
            {unknown ? "nobody" : x_engines[x_random.below(x_engines.size())].id, tokens(16)}
        );
    }
    ticket_submitted submitted{what};
    x_holders.push_back(std::move(one));
    return emit(std::move(submitted));
}

bool world::release(bool only_finished) {
    holder* one = some_holder(only_finished ? phase::finished : phase::granted, phase::finished);
    if (one == nullptr) {
        return false;
    }
    permit_released what;
    what.id = one->what.id;
    what.token = one->token;
    what.prompt = tokens(one->what.prompt_kv.count());
    const bool leave_running =
        one->where == phase::runs && x_options.mishaps > 0 && x_random.chance(1, 6);
    if (one->where == phase::finished) {
        what.output = tokens(x_random.between(0, one->what.predicted.count()));
        what.outcome = x_random.chance(1, 15) ? release_outcome::failed : release_outcome::ok;
    } else {
        const bool may_hang = x_options.mishaps > 0 && x_random.chance(1, 4);
        what.outcome = may_hang ? release_outcome::hung : release_outcome::aborted;
    }
    finish(*one, leave_running);
    if (leave_running) {
        // Still there, but nobody's: its end is drawn with the orphans'.
        x_orphans.push_back({*one});
    }
    what.carried = carried_report(x_engines[one->engine]);
    return emit(what);
}

bool world::requeue() {
    holder* one = some_holder(phase::granted, phase::runs);
    if (one == nullptr) {
        return false;
    }
    permit_requeued what;
    what.id = one->what.id;
    what.token = one->token;
    what.why = one->where == phase::granted ? requeue_why::refused : requeue_why::failed;
    finish(*one, false);
    one->where = phase::granted;
    what.carried = carried_report(x_engines[one->engine]);
    return emit(what);
}

bool world::renew() {
    const holder* one = some_holder(phase::granted, phase::finished);
    if (one == nullptr) {
        return false;
    }
    permit_renewed what;
    what.id = one->what.id;
    what.token = one->token;
    what.ttl = duration(x_random.between(1, 2 * x_options.config.permit_ttl.count()));
    return emit(what);
}

bool world::cancel() {
    const holder* one = some_holder(phase::waits, phase::granted);
    return one != nullptr && emit(ticket_cancelled{one->what.id});
}

bool world::deliver_report() {
    engine& from = x_engines[x_random.below(x_engines.size())];
    if (!from.reports || !from.alive) {
        return false;
    }
    const bool late = !from.under_way.empty() && x_random.chance(1, 3);
    if (late) {
        const std::size_t at = x_random.below(from.under_way.size());
        x_report = from.under_way[at];
        if (x_random.chance(3, 4)) {
            from.under_way.erase(from.under_way.begin() + static_cast<std::ptrdiff_t>(at));
        }
    } else {
        x_report = make_report(from);
    }
    note_applied(x_report);
    return emit(worker_reported{&x_report});
}

bool world::probe() {
    const engine& from = x_engines[x_random.below(x_engines.size())];
    return emit(worker_probed{from.id, from.epoch});
}

bool world::mishap() {
    switch (x_random.below(8)) {
        case 0:
            return lose_worker();
        case 1:
        case 2:
            return join_again();
        case 3:
            return x_random.chance(1, 2) ? drain() : lose_session();
        case 4:
        case 5:
            return adopt();
        default:
            return wrong_call();
    }
}

bool world::lose_worker() {
    engine& from = x_engines[x_random.below(x_engines.size())];
    from.alive = false;
    return emit(worker_lost{from.id, from.epoch});
}

/// A new incarnation, changed figures in place, a repeated or an old registration.
bool world::join_again() {
    engine& one = x_engines[x_random.below(x_engines.size())];
    if (!one.alive || one.draining || x_random.chance(1, 4)) {
        one.epoch = worker_epoch{static_cast<std::uint64_t>(one.epoch) + 1};
        one.alive = true;
        one.draining = false;
        one.number = 0;
        one.applied = 0;
        one.shown.clear();
        one.written.clear();
        one.under_way.clear();
        if (x_random.chance(1, 2)) {
            one.runs.clear();
        }
        return emit(join_of(one));
    }
    if (x_random.chance(1, 3)) {
        worker_joined old = std::get<worker_joined>(join_of(one));
        old.epoch = worker_epoch{static_cast<std::uint64_t>(one.epoch) - 1};
        return emit(old);
    }
    one.slots = static_cast<std::uint32_t>(x_random.between(1, x_options.slots_most));
    if (!x_options.honest && !one.reports && one.capacity != bytes::max()) {
        one.capacity = bytes(x_random.between(x_options.capacity / 3, x_options.capacity));
    }
    return emit(join_of(one));
}

bool world::drain() {
    engine& one = x_engines[x_random.below(x_engines.size())];
    if (!x_random.chance(1, 3)) {
        return false;
    }
    one.draining = one.alive;
    return emit(worker_draining{one.id, one.epoch});
}

bool world::lose_session() {
    return emit(session_lost{session_id{x_random.below(4) + 1}});
}

fencing_token world::restart() {
    fencing_token newest = x_options.config.token_floor;
    for (engine& one : x_engines) {
        newest = std::max(newest, one.max_token);
        if (!one.alive) {
            one.alive = true;
            one.epoch = worker_epoch{static_cast<std::uint64_t>(one.epoch) + 1};
            one.runs.clear();
        }
        one.draining = false;
        one.applied = 0;
        one.shown.clear();
    }
    for (holder& one : x_holders) {
        newest = std::max(newest, one.token);
        one.unstated = true;
    }
    x_joined = 0;
    return newest;
}

/// Running requests first: their keys come from before, and new ones continue above them.
bool world::state_again() {
    for (const bool running : {true, false}) {
        for (holder& one : x_holders) {
            if (!one.unstated || (one.where != phase::waits) != running) {
                continue;
            }
            one.unstated = false;
            if (!running) {
                return emit(ticket_submitted{one.what});
            }
            return emit(adoption_of(one));
        }
    }
    return false;
}

permit_adopted world::adoption_of(const holder& one) const {
    permit_adopted what;
    what.what = one.what;
    what.worker = x_engines[one.engine].id;
    what.epoch = one.epoch;
    what.slot = one.slot;
    what.old_token = one.token;
    what.order_key = one.order_key;
    return what;
}

bool world::adopt() {
    if (x_orphans.empty()) {
        return false;
    }
    holder one = x_orphans.front().was;
    x_orphans.pop_front();
    if (holder_of(one.what.id) != nullptr) {
        return false;
    }
    permit_adopted what = adoption_of(one);
    what.slot = x_random.chance(1, 10) ? static_cast<std::uint32_t>(x_random.below(9)) : one.slot;
    what.order_key = x_random.chance(1, 4) ? 0 : one.order_key;
    one.where = phase::runs;
    x_holders.push_back(one);
    return emit(what);
}

bool world::wrong_call() {
    if (x_former.empty() || x_random.chance(1, 3)) {
        const holder* held = some_holder(phase::waits, phase::finished);
        if (held == nullptr) {
            return false;
        }
        const fencing_token other{static_cast<std::uint64_t>(held->token) + 1};
        switch (x_random.below(4)) {
            case 0:
                return emit(call_on<permit_released>(held->what.id, other));
            case 1:
                return emit(call_on<permit_renewed>(held->what.id, other));
            case 2:
                return emit(call_on<permit_requeued>(held->what.id, other));
            default:
                return emit(ticket_submitted{held->what});
        }
    }
    const holder& former = x_former[x_random.below(x_former.size())];
    switch (x_random.below(4)) {
        case 0:
            return emit(call_on<permit_released>(former.what.id, former.token));
        case 1:
            return emit(call_on<permit_renewed>(former.what.id, former.token));
        case 2:
            return emit(call_on<permit_requeued>(former.what.id, former.token));
        default:
            return emit(ticket_cancelled{former.what.id});
    }
}

}  // namespace sluice::core::reference
