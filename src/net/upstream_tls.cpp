// TLS towards a worker.
#include <boost/asio/error.hpp>

#include "net/alarm.hpp"
#include "net/client_impl.hpp"

namespace sluice::net {

namespace {

tcp::socket::wait_type wait_for(tls_session::step step) {
    return step == tls_session::step::wants_write ? tcp::socket::wait_write
                                                  : tcp::socket::wait_read;
}

}  // namespace

task<result<void>> upstream::impl::greet(
    tls_context context, const std::string& server_name, duration limit, abort_signal& signal
) {
    tls = tls_session::connect(std::move(context), socket.native_handle(), server_name);
    if (!tls) {
        co_return fail(errc::system_error, "TLS cannot be set up for '" + server_name + "'");
    }
    const auto give_up = [this] {
        error_code ignored;
        socket.close(ignored);
    };
    alarm out_of_time(socket.get_executor(), give_up);
    out_of_time.arm(limit);
    const abort_action left(signal, give_up);
    while (socket.is_open()) {
        const tls_session::step step = tls->handshake();
        if (step == tls_session::step::done) {
            co_return result<void>();
        }
        if (step == tls_session::step::failed) {
            co_return fail(errc::connection_failed, "TLS: " + tls->why());
        }
        co_await socket.async_wait(wait_for(step), as_result);
    }
    if (signal.aborted()) {
        co_return fail(errc::cancelled, "it was given up");
    }
    co_return fail(errc::connection_failed, "the TLS handshake did not end in time");
}

task<read_result> upstream::impl::read_secured(std::span<char> space) {
    for (;;) {
        read_result input = tls->read(space);
        if (input.what == got::end) {
            input.failure = asio::error::eof;
        }
        if (input.what != got::nothing) {
            co_return input;
        }
        const auto [failure] = co_await socket.async_wait(
            input.wants_write ? tcp::socket::wait_write : tcp::socket::wait_read, as_result
        );
        if (failure) {
            co_return read_result{.what = got::failed, .failure = failure};
        }
    }
}

bool upstream::impl::is_quiet() {
    if (tls) {
        return tls->is_quiet();
    }
    char byte = 0;
    const ssize_t count = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace sluice::net
