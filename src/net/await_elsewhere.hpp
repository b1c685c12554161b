// Awaits a value that somebody hands over on another thread, once.
#pragma once

#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "net/asio.hpp"
#include "net/event.hpp"

namespace sluice::net {

/// Runs `start` on the caller's thread with a function that takes the value, on any thread, once.
/// Resumes on `here`, the caller's executor, when the value has come. If it never comes, the caller
/// waits until its context is torn down.
template <class Value>
task<Value> await_elsewhere(
    executor here, std::function<void(std::function<void(Value)> done)> start
) {
    struct state {
        explicit state(executor where) : ready(where) {}
        event ready;
        std::optional<Value> value;
    };
    const auto shared = std::make_shared<state>(here);
    start([shared, here](Value value) {
        asio::post(here, [shared, value = std::move(value)]() mutable {
            shared->value = std::move(value);
            shared->ready.set();
        });
    });
    while (!shared->value) {
        co_await shared->ready.wait();
    }
    co_return std::move(*shared->value);
}

}  // namespace sluice::net
