#include "app/signals.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

namespace sluice::app {

struct stop_signals::impl : std::enable_shared_from_this<impl> {
    impl(net::executor where, std::vector<std::function<void()>> wanted)
        : signals(where, SIGINT, SIGTERM), steps(std::move(wanted)) {}

    void wait() {
        signals.async_wait([self = shared_from_this()](net::error_code problem, int number) {
            if (problem) {
                return;
            }
            if (self->next == self->steps.size()) {
                std::_Exit(128 + number);
            }
            const auto step = self->steps[self->next++];
            self->wait();
            step();
        });
    }

    net::asio::basic_signal_set<net::executor> signals;
    std::vector<std::function<void()>> steps;
    std::size_t next = 0;
};

stop_signals::stop_signals(net::executor where, std::vector<std::function<void()>> steps)
    : x_impl(std::make_shared<impl>(where, std::move(steps))) {
    x_impl->wait();
}

stop_signals::~stop_signals() {
    cancel();
}

void stop_signals::cancel() {
    x_impl->signals.cancel();
}

struct reload_signal::impl : std::enable_shared_from_this<impl> {
    impl(net::executor where, std::function<void()> wanted)
        : signals(where, SIGHUP), action(std::move(wanted)) {}

    void wait() {
        signals.async_wait([self = shared_from_this()](net::error_code problem, int /*number*/) {
            if (problem) {
                return;
            }
            self->wait();
            self->action();
        });
    }

    net::asio::basic_signal_set<net::executor> signals;
    std::function<void()> action;
};

reload_signal::reload_signal(net::executor where, std::function<void()> action)
    : x_impl(std::make_shared<impl>(where, std::move(action))) {
    x_impl->wait();
}

reload_signal::~reload_signal() {
    x_impl->signals.cancel();
}

}  // namespace sluice::app
