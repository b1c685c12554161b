// The handshake in front of the first request.
#include "net/connection.hpp"

namespace sluice::net {

/// False: the connection ends here.
task<bool> connection::greet() {
    x_phase = phase::greeting;
    arm(x_home->common().options.head_timeout);
    for (;;) {
        const tls_session::step step = x_tls->handshake();
        if (step == tls_session::step::done) {
            disarm();
            co_return true;
        }
        if (step == tls_session::step::failed) {
            co_await greet_failed(x_tls->why());
            co_return false;
        }
        if (!x_reading) {
            await_handshake(step);
        }
        co_await input_event();
        if (x_timed_out) {
            co_await greet_failed("the handshake did not end in time");
            co_return false;
        }
        if (x_close || x_gone || x_input != input_end::none) {
            co_return false;
        }
    }
}

void connection::await_handshake(tls_session::step step) {
    x_reading = true;
    x_socket.async_wait(
        step == tls_session::step::wants_write ? tcp::socket::wait_write : tcp::socket::wait_read,
        [self = shared_from_this()](error_code failure) {
            self->x_reading = false;
            if (failure) {
                self->x_input = input_end::broken;
            }
            if (self->x_awaiting_input) {
                self->x_input_event.set_and_run();
            }
        }
    );
}

task<> connection::greet_failed(std::string_view why) {
    const bool plain_http = x_tls->met_plain_http();
    if (const auto& told = x_home->common().options.on_handshake_failure) {
        told(peer_address(), plain_http ? "the client speaks plain HTTP" : why);
    }
    if (plain_http) {
        x_tls.reset();
        co_await refuse(400, "this port speaks TLS; the address begins with https://");
    }
}

}  // namespace sluice::net
