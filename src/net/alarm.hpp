// Rings once at a time, unless armed again or disarmed first. Re-arming for later is a store, not a
// timer operation; destroying it silences it. One strand; must not outlive the io_context.
#pragma once

#include <functional>
#include <memory>

#include "base/units.hpp"
#include "net/asio.hpp"

namespace sluice::net {

class alarm {
public:
    /// `ring` may destroy the alarm.
    alarm(executor where, std::function<void()> ring);
    ~alarm();
    alarm(const alarm&) = delete;
    alarm& operator=(const alarm&) = delete;

    /// Rings `after` from now, never within this call.
    void arm(duration after);
    void disarm();

private:
    struct state;
    std::unique_ptr<state> x_state;
};

}  // namespace sluice::net
