// What an io_context keeps for this room: all deadlines in one ordered set behind one Asio timer,
// and the coroutines that wait on an event. Internal to net; reached through the executor.
//
// Invariants
//  1. Arming later than before is a store: the entry stays where it is in the set and moves when
//     its old place is reached. Only an earlier target touches the set.
//  2. At most one Asio wait is pending, for the front of the set; none when the set is empty.
//  3. When the context is torn down, coroutines that wait on an event are unwound like those that
//     wait on I/O: an object and the coroutine that owns it may refer to each other.
// Not thread-safe: used on the context's own thread.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <chrono>

#include "base/units.hpp"
#include "net/asio.hpp"

namespace sluice::net {

class event;
class loop;

/// Something that happens at a time. Derived from; must not outlive the io_context.
class timer_entry : public boost::intrusive::set_base_hook<> {
public:
    explicit timer_entry(executor where);
    virtual ~timer_entry();
    timer_entry(const timer_entry&) = delete;
    timer_entry& operator=(const timer_entry&) = delete;

    /// on_expired() runs `after` from now, unless armed again or disarmed; never within this call.
    void arm(duration after);
    void disarm() { x_target = clock::time_point::max(); }
    bool armed() const { return x_target != clock::time_point::max(); }

protected:
    /// May destroy the entry and arm or destroy others.
    virtual void on_expired() = 0;

private:
    friend class loop;
    using clock = std::chrono::steady_clock;
    struct by_place;

    loop& x_loop;
    clock::time_point x_place;  ///< Order in the set; never after x_target.
    clock::time_point x_target = clock::time_point::max();
};

struct timer_entry::by_place {
    bool operator()(const timer_entry& a, const timer_entry& b) const {
        return a.x_place < b.x_place;
    }
};

class loop final : public asio::execution_context::service {
public:
    // NOLINTNEXTLINE(readability-identifier-naming): Asio looks for this name.
    static inline asio::execution_context::id id;

    explicit loop(asio::execution_context& context);
    ~loop() override;
    static loop& of(executor where);

    void add_waiting(event& one);

private:
    friend class timer_entry;
    using clock = timer_entry::clock;

    void shutdown() override;
    void insert(timer_entry& one, clock::time_point place);
    void remove(timer_entry& one);
    void schedule();
    void tick();

    boost::intrusive::multiset<
        timer_entry,
        boost::intrusive::compare<timer_entry::by_place>,
        boost::intrusive::constant_time_size<false>>
        x_timers;
    std::unique_ptr<steady_timer> x_timer;
    clock::time_point x_scheduled = clock::time_point::max();
    bool x_ticking = false;
    struct waiting_list;
    std::unique_ptr<waiting_list> x_waiting;
};

}  // namespace sluice::net
