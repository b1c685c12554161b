#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <charconv>

#include "net/client_impl.hpp"
#include "net/event.hpp"

namespace sluice::net {

namespace {

/// Resolving and connecting, until it works, fails, takes too long or is given up. Shared with its
/// completion handlers: a resolver may answer long after nobody waits any more.
class connecting final : public std::enable_shared_from_this<connecting>, private timer_entry {
public:
    enum class outcome : unsigned char { pending, connected, failed, timed_out, given_up };

    explicit connecting(executor where)
        : timer_entry(where), socket(where), done(where), x_resolver(where) {}

    void start(const endpoint& to, duration limit) {
        arm(limit);
        error_code failure;
        const auto address = asio::ip::make_address(to.host, failure);
        unsigned short port = 0;
        std::from_chars(to.port.data(), to.port.data() + to.port.size(), port);
        if (!failure && port != 0) {
            connect(std::array{tcp::endpoint(address, port)});
            return;
        }
        x_resolver.async_resolve(
            to.host,
            to.port,
            [self = shared_from_this()](error_code why, const tcp::resolver::results_type& found) {
                if (why) {
                    self->finish(outcome::failed, why);
                } else if (self->result == outcome::pending) {
                    self->connect(found);
                }
            }
        );
    }

    void finish(outcome how, error_code why) {
        if (result != outcome::pending) {
            return;
        }
        result = how;
        failure_code = why;
        disarm();
        if (how != outcome::connected) {
            error_code ignored;
            x_resolver.cancel();
            socket.close(ignored);
        }
        done.set();
    }

    tcp_socket socket;
    event done;
    outcome result = outcome::pending;
    error_code failure_code;

private:
    template <class Endpoints>
    void connect(const Endpoints& candidates) {
        asio::async_connect(
            socket,
            candidates,
            [self = shared_from_this()](error_code why, const tcp::endpoint&) {
                self->finish(why ? outcome::failed : outcome::connected, why);
            }
        );
    }
    void on_expired() override { finish(outcome::timed_out, {}); }

    asio::ip::basic_resolver<tcp, executor> x_resolver;
};

std::string seconds_text(duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count()) +
           " ms";
}

}  // namespace

client_pool::impl::bucket& client_pool::impl::bucket_of(const endpoint& to) {
    bucket& found = buckets[to];
    if (found.host_field.empty()) {
        found.host_field = to.to_string();
    }
    if (to.tls) {
        tls_context now = to.tls->context();
        if (now != found.context) {
            found.context = std::move(now);
            found.idle.clear();
        }
    }
    return found;
}

std::unique_ptr<upstream::impl> client_pool::impl::take(bucket& from) {
    while (!from.idle.empty()) {
        std::unique_ptr<upstream::impl> youngest = std::move(from.idle.back());
        from.idle.pop_back();
        if (youngest->is_quiet()) {
            return youngest;
        }
    }
    return nullptr;
}

void client_pool::impl::put(std::unique_ptr<upstream::impl> back) {
    bucket& home = *back->home;
    if (closed || home.idle.size() >= options.idle_per_endpoint) {
        return;
    }
    back->recycle();
    back->idle_since = std::chrono::steady_clock::now();
    home.idle.push_back(std::move(back));
    if (!armed()) {
        arm(options.idle_timeout);
    }
}

void client_pool::impl::close() {
    closed = true;
    disarm();
    for (auto& [to, one] : buckets) {
        one.idle.clear();
    }
}

/// Drops what has idled too long; runs again when the oldest of the rest is due.
void client_pool::impl::on_expired() {
    const steady_instant now = std::chrono::steady_clock::now();
    std::optional<steady_instant> oldest;
    for (auto& [to, one] : buckets) {
        const auto due = [&](const std::unique_ptr<upstream::impl>& idle) {
            return idle->idle_since + options.idle_timeout <= now;
        };
        // Oldest first: what is due is in front.
        const auto rest = std::ranges::find_if_not(one.idle, due);
        one.idle.erase(one.idle.begin(), rest);
        if (!one.idle.empty() && (!oldest || one.idle.front()->idle_since < *oldest)) {
            oldest = one.idle.front()->idle_since;
        }
    }
    if (oldest) {
        arm(std::chrono::ceil<duration>(*oldest + options.idle_timeout - now));
    }
}

client_pool::client_pool(executor where, client_options options)
    : x_impl(std::make_shared<impl>(where, options)) {}

client_pool::~client_pool() {
    x_impl->close();
}

task<result<upstream>> client_pool::open(
    const endpoint& to, duration connect_timeout, abort_signal& signal, bool fresh
) {
    const std::shared_ptr<impl> pool = x_impl;
    impl::bucket& home = pool->bucket_of(to);
    if (signal.aborted()) {
        co_return fail(errc::cancelled, "connecting to " + home.host_field + " was given up");
    }
    if (!fresh) {
        if (std::unique_ptr<upstream::impl> idle = pool->take(home)) {
            idle->pool = pool;
            co_return upstream(std::move(idle));
        }
    }
    const steady_instant start = std::chrono::steady_clock::now();
    const auto attempt = std::make_shared<connecting>(pool->x_executor);
    attempt->start(to, connect_timeout);
    while (attempt->result == connecting::outcome::pending) {
        co_await attempt->done.wait(signal);
        if (signal.aborted()) {
            attempt->finish(connecting::outcome::given_up, {});
        }
    }
    switch (attempt->result) {
        case connecting::outcome::connected:
            break;
        case connecting::outcome::timed_out:
            co_return fail(
                errc::connection_failed,
                "cannot connect to " + home.host_field + " within " + seconds_text(connect_timeout)
            );
        case connecting::outcome::given_up:
            co_return fail(errc::cancelled, "connecting to " + home.host_field + " was given up");
        default:
            co_return fail(
                errc::connection_failed,
                "cannot connect to " + home.host_field + ": " + attempt->failure_code.message()
            );
    }
    auto made = std::make_unique<upstream::impl>(pool, home);
    made->socket = std::move(attempt->socket);
    error_code ignored;
    made->socket.non_blocking(true, ignored);
    made->socket.set_option(tcp::no_delay(true), ignored);
    if (to.tls) {
        const auto spent = std::chrono::ceil<duration>(std::chrono::steady_clock::now() - start);
        const auto secured = co_await made->greet(
            home.context, to.server_name, std::max(connect_timeout - spent, duration(1)), signal
        );
        if (!secured) {
            co_return fail(
                secured.error().code,
                "cannot connect to " + home.host_field + ": " + secured.error().message
            );
        }
    }
    co_return upstream(std::move(made));
}

}  // namespace sluice::net
