#include "engine/broken_port.hpp"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>

namespace sluice::engine {

namespace asio = net::asio;

namespace {

constexpr std::string_view garbage = "THIS IS NOT HTTP\r\n\x01\x02\xff\r\n\r\n";

}  // namespace

struct broken_port::acceptor : std::enable_shared_from_this<acceptor> {
    explicit acceptor(net::executor where) : listener(where) {}

    void accept() {
        listener.async_accept([self = shared_from_this(
                               )](net::error_code failure, net::tcp_socket socket) {
            if (failure) {
                return;
            }
            auto peer = std::make_shared<net::tcp_socket>(std::move(socket));
            // Only once the request has come: an answer before it is a different fault.
            peer->async_wait(net::tcp_socket::wait_read, [peer](net::error_code broken) {
                if (broken) {
                    return;
                }
                asio::async_write(
                    *peer,
                    asio::buffer(garbage),
                    [peer](net::error_code, std::size_t) {
                        net::error_code ignored;
                        peer->shutdown(net::tcp_socket::shutdown_send, ignored);
                    }
                );
            });
            self->accept();
        });
    }

    net::tcp_acceptor listener;
};

broken_port::broken_port(net::executor where) : x_acceptor(std::make_shared<acceptor>(where)) {}

broken_port::~broken_port() {
    close();
}

result<void> broken_port::bind(std::string_view listen) {
    const std::size_t colon = listen.rfind(':');
    const std::string_view digits =
        colon == std::string_view::npos ? std::string_view() : listen.substr(colon + 1);
    std::string host(listen.substr(0, colon));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    std::uint16_t port = 0;
    const auto [end, unreadable] =
        std::from_chars(digits.data(), digits.data() + digits.size(), port);
    net::error_code failure;
    const auto address = asio::ip::make_address(host, failure);
    if (failure || unreadable != std::errc{} || end != digits.data() + digits.size()) {
        return fail(
            errc::invalid_argument,
            fmt::format("cannot take '{}'; write a numeric address, as in 127.0.0.1:8000", listen)
        );
    }
    const net::tcp::endpoint at(address, port);
    net::tcp_acceptor& listener = x_acceptor->listener;
    listener.open(at.protocol(), failure);
    if (!failure) {
        listener.set_option(net::tcp_acceptor::reuse_address(true), failure);
        listener.bind(at, failure);
    }
    if (failure) {
        return fail(
            errc::system_error,
            fmt::format("cannot take {}: {}; choose another address", listen, failure.message())
        );
    }
    const std::uint16_t taken = listener.local_endpoint().port();
    x_address =
        address.is_v6() ? fmt::format("[{}]:{}", host, taken) : fmt::format("{}:{}", host, taken);
    return {};
}

result<void> broken_port::answer_garbage() {
    net::error_code failure;
    x_acceptor->listener.listen(asio::socket_base::max_listen_connections, failure);
    if (failure) {
        return fail(
            errc::system_error, fmt::format("cannot listen on {}: {}", x_address, failure.message())
        );
    }
    x_acceptor->accept();
    return {};
}

void broken_port::close() {
    net::error_code ignored;
    x_acceptor->listener.close(ignored);
}

}  // namespace sluice::engine
