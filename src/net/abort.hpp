// One way to stop an exchange early: whoever learns that it must end (the client left, a deadline
// passed, the process stops) fires the signal; whoever waits has registered how to be woken.
//
// Invariants
//  1. The first cause wins; later ones have no effect.
//  2. The registered action runs at most once, on the strand of the exchange, and only while its
//     `abort_action` lives.
//  3. An action registered after the signal fired runs at once.
// Not thread-safe: everything happens on the io_context of the exchange.
#pragma once

#include <functional>
#include <utility>

#include "base/units.hpp"
#include "net/alarm.hpp"
#include "net/asio.hpp"

namespace sluice::net {

/// Why an exchange must end before its natural end.
enum class abort_kind : unsigned char {
    none,       ///< It need not.
    peer_gone,  ///< The client closed or reset its connection.
    deadline,   ///< A deadline passed; `abort_cause::tag` says which.
    shutdown,   ///< The process ends and its grace period is over.
};

struct abort_cause {
    abort_kind kind = abort_kind::none;
    /// Chosen by the owner of the deadline (queue, first token, idle, total …).
    unsigned tag = 0;
};

class abort_signal {
public:
    bool aborted() const { return x_cause.kind != abort_kind::none; }
    abort_cause cause() const { return x_cause; }

    /// First call: stores the cause and runs the registered action. Later calls: no effect.
    void fire(abort_cause cause) {
        if (aborted()) {
            return;
        }
        x_cause = cause;
        if (x_action) {
            std::exchange(x_action, nullptr)();
        }
    }
    /// Ready for the next exchange on the same connection.
    void reset() {
        x_cause = {};
        x_action = nullptr;
    }

private:
    friend class abort_action;
    abort_cause x_cause;
    std::function<void()> x_action;
};

/// While it lives, `wake` is what the signal runs. Actions nest: the innermost one is run, and the
/// outer one is in place again afterwards.
class abort_action {
public:
    abort_action(abort_signal& signal, std::function<void()> wake) : x_signal(signal) {
        if (signal.aborted()) {
            wake();
            return;
        }
        x_outer = std::exchange(signal.x_action, std::move(wake));
    }
    ~abort_action() {
        if (!x_signal.aborted()) {
            x_signal.x_action = std::move(x_outer);
        }
    }
    abort_action(const abort_action&) = delete;
    abort_action& operator=(const abort_action&) = delete;

private:
    abort_signal& x_signal;
    std::function<void()> x_outer;
};

/// A deadline that fires an abort_signal with its tag. Re-arming is a store, not a timer operation:
/// the running timer looks at the target again when it fires (so an idle time-out that every chunk
/// pushes back costs nothing per chunk). Destroying or disarming it cancels. One strand.
class deadline {
public:
    deadline(executor where, abort_signal& signal, unsigned tag)
        : x_alarm(where, [&signal, tag] { signal.fire({abort_kind::deadline, tag}); }) {}

    /// Fires `after` from now unless armed again or disarmed. Zero or less fires on the next turn.
    void arm(duration after) { x_alarm.arm(after); }
    void disarm() { x_alarm.disarm(); }

private:
    alarm x_alarm;
};

}  // namespace sluice::net
