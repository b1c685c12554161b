// What the probes of coroutine shapes share: an object that counts its lives, awaitables that
// finish at once or after a real suspension, and a runner that reports what was left behind.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "net/asio.hpp"

namespace sluice::toolchain {

namespace asio = net::asio;
using net::task;

/// Owns heap memory, so that a double destruction is visible to sanitizers and usually to the
/// allocator; counts, so that it is visible to a test in any case.
class counted {
public:
    explicit counted(int value) : x_value(value), x_text(40, static_cast<char>('a' + value % 26)) {
        ++alive;
    }
    counted(const counted& other) : x_value(other.x_value), x_text(other.x_text) { ++alive; }
    counted(counted&& other) noexcept
        : x_value(std::exchange(other.x_value, -1)), x_text(std::move(other.x_text)) {
        ++alive;
    }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&& other) noexcept {
        x_value = std::exchange(other.x_value, -1);
        x_text = std::move(other.x_text);
        return *this;
    }
    ~counted() { --alive; }

    /// The value, or -2 when the text no longer belongs to it.
    int value() const {
        const bool whole = x_text == std::string(40, static_cast<char>('a' + x_value % 26));
        return whole ? x_value : -2;
    }

    static inline int alive = 0;

private:
    int x_value;
    std::string x_text;
};

/// Whether awaits of the probes really suspend or finish on the spot: compilers differ in both.
enum class pace { immediate, suspending };

inline task<void> breathe(pace how) {
    if (how == pace::suspending) {
        co_await asio::post(asio::use_awaitable_t<net::executor>{});
    }
}

inline task<counted> make(pace how, int value) {
    co_await breathe(how);
    co_return counted(value);
}

inline task<bool> answer(pace how, bool value) {
    co_await breathe(how);
    co_return value;
}

/// Runs `body` to its end and gives its result; an exception of the coroutine comes out here.
template <class Result>
Result run(task<Result> body) {
    asio::io_context context(1);
    std::exception_ptr problem;
    std::unique_ptr<Result> result;
    asio::co_spawn(context, std::move(body), [&](std::exception_ptr thrown, Result value) {
        problem = thrown;
        result = std::make_unique<Result>(std::move(value));
    });
    context.run();
    if (problem) {
        std::rethrow_exception(problem);
    }
    return std::move(*result);
}

}  // namespace sluice::toolchain
