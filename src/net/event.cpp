#include "net/event.hpp"

#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>

#include "net/loop.hpp"

namespace sluice::net {

event::event(executor where) : x_executor(where) {}

event::~event() = default;

void event::set() {
    if (!x_waiter) {
        x_set = true;
        return;
    }
    unlink();
    waiter ready = std::move(*x_waiter);
    x_waiter.reset();
    asio::post(x_executor, std::move(ready));
}

void event::set_and_run() {
    if (!x_waiter) {
        x_set = true;
        return;
    }
    unlink();
    waiter ready = std::move(*x_waiter);
    x_waiter.reset();
    std::move(ready)();
}

task<> event::suspend() {
    return asio::async_initiate<const asio::use_awaitable_t<executor>, void()>(
        [this](auto handler) {
            x_waiter.emplace(std::move(handler));
            loop::of(x_executor).add_waiting(*this);
        },
        asio::use_awaitable_t<executor>{}
    );
}

task<> event::wait() {
    if (!take()) {
        co_await suspend();
    }
}

task<> event::wait(abort_signal& signal) {
    if (take() || signal.aborted()) {
        co_return;
    }
    const abort_action wake(signal, [this] { set(); });
    co_await suspend();
}

}  // namespace sluice::net
