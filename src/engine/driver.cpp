#include "engine/driver.hpp"

#include <boost/asio/dispatch.hpp>

namespace sluice::engine {

namespace asio = net::asio;

namespace {

sim::engine_settings with_tokens(sim::engine_settings settings) {
    settings.token_events = true;
    return settings;
}

}  // namespace

generation_handle::generation_handle(
    std::shared_ptr<driver> owner, sim::engine_request_id id, std::shared_ptr<generation> what
)
    : x_owner(std::move(owner)), x_id(id), x_generation(std::move(what)) {}

generation_handle::~generation_handle() {
    // An end that is on its way from another thread is no contradiction: the model then knows the
    // request no more and ignores the abort.
    if (x_owner && !x_generation->ended() && !x_owner->x_closed) {
        x_owner->abort(x_id);
    }
}

driver::driver(net::executor where, const sim::engine_settings& settings)
    : x_executor(where),
      x_start(std::chrono::steady_clock::now()),
      x_model(with_tokens(settings)),
      x_timer(std::make_unique<net::steady_timer>(where)) {}

instant driver::now() const {
    return instant(std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - x_start)
    );
}

generation_handle driver::submit(tokens prompt, tokens output, net::executor home) {
    const sim::engine_request_id id{x_next_id.fetch_add(1, std::memory_order_relaxed)};
    auto what = std::make_shared<generation>(home);
    asio::dispatch(
        x_executor,
        [self = shared_from_this(), request = sim::engine_request{id, prompt, output}, what] {
            self->submit_on_strand(request, what);
        }
    );
    return {shared_from_this(), id, std::move(what)};
}

void driver::submit_on_strand(
    const sim::engine_request& request, std::shared_ptr<generation> what
) {
    const sim::submit_outcome verdict = x_model.submit(now(), request, x_events);
    const generation_state state = verdict == sim::submit_outcome::accepted
                                       ? generation_state::running
                                       : generation_state::refused;
    if (state == generation_state::running) {
        x_open.emplace(static_cast<std::uint64_t>(request.id), entry{.what = what});
    }
    const net::executor home = what->home;
    asio::dispatch(home, [what = std::move(what), state, verdict] {
        what->state = state;
        what->verdict = verdict;
        what->changed.set();
    });
    settle();
}

void driver::abort(sim::engine_request_id id) {
    asio::dispatch(x_executor, [self = shared_from_this(), id] {
        if (self->x_model.abort(self->now(), id, self->x_events)) {
            self->x_open.erase(static_cast<std::uint64_t>(id));
        }
        self->settle();
    });
}

void driver::crash_after(duration after) {
    asio::dispatch(x_executor, [self = shared_from_this(), after] {
        auto timer = std::make_unique<net::steady_timer>(self->x_executor, after);
        timer->async_wait([weak = self->weak_from_this()](net::error_code failure) {
            if (const auto alive = weak.lock(); alive && !failure) {
                alive->x_model.crash(alive->now(), alive->x_events);
                alive->settle();
            }
        });
        self->x_crash_timers.push_back(std::move(timer));
    });
}

void driver::close() {
    x_closed = true;
    x_timer.reset();
    x_crash_timers.clear();
    x_open.clear();
}

void driver::tick() {
    x_armed_for = never;
    x_model.advance(now(), x_events);
    settle();
}

void driver::settle() {
    for (const sim::engine_event& event : x_events) {
        note(event);
    }
    x_events.clear();
    for (const sim::engine_request_id id : x_touched) {
        hand_over(id);
    }
    x_touched.clear();
    {
        const std::lock_guard held(x_mutex);
        x_stats = x_model.stats();
        x_up_again_at = x_model.up_again_at();
    }
    arm();
}

void driver::note(const sim::engine_event& event) {
    const auto found = x_open.find(static_cast<std::uint64_t>(event.id));
    if (found == x_open.end()) {
        return;  // Its handler left in the same instant.
    }
    entry& mine = found->second;
    mine.generated = event.generated.count();
    switch (event.kind) {
        case sim::engine_event_kind::first_token:
        case sim::engine_event_kind::token:
            break;
        case sim::engine_event_kind::preempted:
            return;  // Its client sees a pause and nothing else.
        case sim::engine_event_kind::finished:
            mine.state = generation_state::finished;
            break;
        case sim::engine_event_kind::crashed:
            mine.state = generation_state::crashed;
            break;
        case sim::engine_event_kind::out_of_memory:
            mine.state = generation_state::out_of_memory;
            break;
    }
    if (!mine.touched) {
        mine.touched = true;
        x_touched.push_back(event.id);
    }
}

void driver::hand_over(sim::engine_request_id id) {
    const auto found = x_open.find(static_cast<std::uint64_t>(id));
    entry& mine = found->second;
    mine.touched = false;
    asio::dispatch(
        mine.what->home,
        [what = mine.what, state = mine.state, generated = mine.generated] {
            what->state = state;
            what->generated = generated;
            what->changed.set();
        }
    );
    if (mine.state != generation_state::running) {
        x_open.erase(found);
    }
}

void driver::arm() {
    const instant next = x_model.next_wakeup();
    if (next == x_armed_for || next == never) {
        return;
    }
    x_armed_for = next;
    x_timer->expires_at(x_start + next.time_since_epoch());
    x_timer->async_wait([weak = weak_from_this()](net::error_code failure) {
        if (const auto alive = weak.lock(); alive && !failure) {
            alive->tick();
        }
    });
}

sim::engine_stats driver::stats() const {
    const std::lock_guard held(x_mutex);
    return x_stats;
}

bool driver::restarting() const {
    const std::lock_guard held(x_mutex);
    return x_stats.crashes > 0 && now() < x_up_again_at;
}

}  // namespace sluice::engine
