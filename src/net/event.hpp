// A coroutine waits until somebody on the same strand says "look again". The cheap replacement for
// a timer used as a condition variable.
//
// Invariants
//  1. One waiter at a time.
//  2. set() without a waiter is remembered once, and the next wait() returns at once: nothing is
//     lost between "checked" and "waiting".
//  3. A wait may end without cause: callers wait in a loop around their own condition.
//  4. The waiter is resumed through the executor, never inside set().
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <optional>

#include "net/abort.hpp"
#include "net/asio.hpp"

namespace sluice::net {

class event : public boost::intrusive::list_base_hook<
                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    explicit event(executor where);
    ~event();
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    /// Wakes the waiter, or the next one to come.
    void set();
    /// Forgets a set() that nobody waited for.
    void reset() { x_set = false; }

    /// Until set().
    task<> wait();
    /// Until set() or until `signal` fires; look at the signal afterwards.
    task<> wait(abort_signal& signal);

    /// As set(), but runs the waiter before it returns. Only as the last act of a completion
    /// handler.
    void set_and_run();
    /// The suspension alone, without looking at an earlier set(): one frame less than wait().
    task<> suspend();
    /// Whether a set() was remembered; forgets it.
    bool take() { return std::exchange(x_set, false); }

private:
    friend class loop;
    using waiter = asio::async_result<asio::use_awaitable_t<executor>, void()>::handler_type;

    executor x_executor;
    std::optional<waiter> x_waiter;
    bool x_set = false;
};

}  // namespace sluice::net
