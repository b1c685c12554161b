// SIGINT and SIGTERM: ask once politely, then leave. SIGHUP: read again what may have changed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "net/asio.hpp"

namespace sluice::app {

/// While it lives, the n-th signal runs the n-th step, on `where`; one more than there are steps
/// ends the process at once with 128 + its number.
class stop_signals {
public:
    stop_signals(net::executor where, std::vector<std::function<void()>> steps);
    ~stop_signals();
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;

    /// Stops listening, so that the io_context can run out of work.
    void cancel();

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

/// While it lives, every SIGHUP runs `action` on `where`.
class reload_signal {
public:
    reload_signal(net::executor where, std::function<void()> action);
    ~reload_signal();
    reload_signal(const reload_signal&) = delete;
    reload_signal& operator=(const reload_signal&) = delete;

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::app
