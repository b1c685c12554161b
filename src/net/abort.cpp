#include "net/abort.hpp"

#include "net/loop.hpp"

namespace sluice::net {

struct deadline::state final : timer_entry {
    state(executor where, abort_signal& to_fire, unsigned its_tag)
        : timer_entry(where), signal(to_fire), tag(its_tag) {}
    void on_expired() override { signal.fire({abort_kind::deadline, tag}); }

    abort_signal& signal;
    unsigned tag;
};

deadline::deadline(executor where, abort_signal& signal, unsigned tag)
    : x_state(std::make_unique<state>(where, signal, tag)) {}

deadline::~deadline() = default;

void deadline::arm(duration after) {
    x_state->arm(after);
}

void deadline::disarm() {
    x_state->disarm();
}

}  // namespace sluice::net
