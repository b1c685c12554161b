#include "net/alarm.hpp"

#include <utility>

#include "net/loop.hpp"

namespace sluice::net {

struct alarm::state final : timer_entry {
    state(executor where, std::function<void()> to_call)
        : timer_entry(where), ring(std::move(to_call)) {}
    void on_expired() override {
        // A copy: ringing may destroy the alarm, and this with it.
        const auto call = ring;
        call();
    }

    std::function<void()> ring;
};

alarm::alarm(executor where, std::function<void()> ring)
    : x_state(std::make_unique<state>(where, std::move(ring))) {}

alarm::~alarm() = default;

void alarm::arm(duration after) {
    x_state->arm(after);
}

void alarm::disarm() {
    x_state->disarm();
}

}  // namespace sluice::net
