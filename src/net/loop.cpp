#include "net/loop.hpp"

#include "net/event.hpp"

namespace sluice::net {

struct loop::waiting_list {
    boost::intrusive::list<event, boost::intrusive::constant_time_size<false>> events;
};

loop::loop(asio::execution_context& context)
    : service(context),
      x_timer(std::make_unique<steady_timer>(static_cast<asio::io_context&>(context).get_executor())
      ),
      x_waiting(std::make_unique<waiting_list>()) {}

loop::~loop() = default;

loop& loop::of(executor where) {
    return asio::use_service<loop>(where.context());
}

void loop::add_waiting(event& one) {
    x_waiting->events.push_back(one);
}

void loop::shutdown() {
    while (!x_waiting->events.empty()) {
        event& one = x_waiting->events.front();
        one.unlink();
        // Destroying the handler unwinds the coroutine, later, through the scheduler's own
        // shutdown.
        const std::optional<event::waiter> dropped = std::exchange(one.x_waiter, std::nullopt);
    }
    x_timers.clear();
    x_timer.reset();
}

void loop::insert(timer_entry& one, clock::time_point place) {
    if (!x_timer) {
        return;  // the context is being torn down: nothing expires any more
    }
    one.x_place = place;
    x_timers.insert(one);
    if (!x_ticking) {
        schedule();
    }
}

void loop::remove(timer_entry& one) {
    x_timers.erase(x_timers.iterator_to(one));
    if (x_timer && !x_ticking && x_timers.empty()) {
        // A wait for nothing would keep io_context::run() from returning.
        x_scheduled = clock::time_point::max();
        x_timer->cancel();
    }
}

void loop::schedule() {
    if (x_timers.empty() || x_timers.begin()->x_place >= x_scheduled) {
        return;
    }
    x_scheduled = x_timers.begin()->x_place;
    x_timer->expires_at(x_scheduled);
    x_timer->async_wait([this](error_code failure) {
        if (!failure) {
            tick();
        }
    });
}

void loop::tick() {
    x_scheduled = clock::time_point::max();
    x_ticking = true;
    const clock::time_point now = clock::now();
    while (!x_timers.empty() && x_timers.begin()->x_place <= now) {
        timer_entry& one = *x_timers.begin();
        x_timers.erase(x_timers.begin());
        if (one.x_target > now) {
            if (one.armed()) {
                one.x_place = one.x_target;
                x_timers.insert(one);
            }
            continue;
        }
        one.disarm();
        one.on_expired();  // `one` may be gone now
    }
    x_ticking = false;
    schedule();
}

timer_entry::timer_entry(executor where) : x_loop(loop::of(where)) {}

timer_entry::~timer_entry() {
    if (is_linked()) {
        x_loop.remove(*this);
    }
}

void timer_entry::arm(duration after) {
    // At least one tick ahead: an entry that arms itself again must not hold tick() for ever.
    const auto ahead = std::max<clock::duration>(after, clock::duration(1));
    x_target = clock::now() + ahead;
    if (is_linked()) {
        if (x_target >= x_place) {
            return;
        }
        x_loop.remove(*this);
    }
    x_loop.insert(*this, x_target);
}

}  // namespace sluice::net
