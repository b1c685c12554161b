#include "net/shard.hpp"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>

#include "net/connection.hpp"
#include "net/loop.hpp"
#include "net/wire.hpp"

namespace sluice::net {

namespace {

constexpr auto accept_pause = std::chrono::milliseconds(50);
constexpr std::size_t farewells_at_once = 64;

/// A refused connection that stays until the client has read why.
class farewell final : public std::enable_shared_from_this<farewell>, private timer_entry {
public:
    farewell(executor where, tcp_socket socket, std::size_t& count)
        : timer_entry(where), x_socket(std::move(socket)), x_count(count) {
        ++x_count;
    }
    ~farewell() override { --x_count; }

    void say(std::string_view text) {
        error_code ignored;
        gather out;
        out.add(text).send(x_socket, ignored);
        x_socket.shutdown(tcp::socket::shutdown_send, ignored);
        arm(std::chrono::seconds(2));
        read();
    }

private:
    void read() {
        x_socket.async_read_some(
            asio::buffer(x_scratch),
            [self = shared_from_this()](error_code failure, std::size_t) {
                if (!failure) {
                    self->read();
                }
            }
        );
    }
    void on_expired() override {
        error_code ignored;
        x_socket.close(ignored);
    }

    tcp_socket x_socket;
    std::size_t& x_count;
    std::array<char, 512> x_scratch;
};

}  // namespace

std::string error_text(const server_options& options, int status, std::string_view what) {
    return options.error_body ? options.error_body(status, what) : std::string(what) + "\n";
}

error_fields::error_fields(const server_options& options, int status) {
    x_fields[0] = {
        "content-type", options.error_body ? std::string_view(options.error_type) : "text/plain"
    };
    if (options.error_field) {
        x_fields[x_count++] = options.error_field(status);
    }
}

shard::shard(std::shared_ptr<server_shared> common, executor where, std::size_t index)
    : x_common(std::move(common)),
      x_executor(where),
      x_index(index),
      x_acceptor(where),
      x_incoming(where),
      x_retry(where) {}

error_code shard::listen(const tcp::endpoint& at, bool shared_port) {
    error_code failure;
    x_acceptor.open(at.protocol(), failure);
    if (!failure) {
        x_acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
    }
    if (!failure && shared_port) {
        const int on = 1;
        ::setsockopt(x_acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    }
    if (!failure) {
        // Accepted sockets inherit it: one system call a connection less.
        x_acceptor.set_option(tcp::no_delay(true), failure);
    }
    if (!failure) {
        x_acceptor.bind(at, failure);
    }
    if (!failure) {
        x_acceptor.listen(tcp::acceptor::max_listen_connections, failure);
    }
    if (failure) {
        error_code ignored;
        x_acceptor.close(ignored);
    }
    return failure;
}

tcp::endpoint shard::local_endpoint() const {
    error_code ignored;
    return x_acceptor.local_endpoint(ignored);
}

void shard::accept() {
    if (!x_acceptor.is_open()) {
        return;
    }
    x_acceptor.async_accept(x_incoming, x_peer, [self = shared_from_this()](error_code failure) {
        self->on_accept(failure);
    });
}

void shard::on_accept(error_code failure) {
    if (!x_acceptor.is_open()) {
        error_code ignored;
        x_incoming.close(ignored);
        return;
    }
    if (failure == asio::error::no_descriptors || failure == asio::error::no_memory ||
        failure == asio::error::no_buffer_space ||
        failure == boost::system::errc::too_many_files_open_in_system) {
        // Nothing is wrong with the peer; descriptors come back when connections end.
        x_retry.expires_after(accept_pause);
        x_retry.async_wait([self = shared_from_this()](error_code stopped) {
            if (!stopped) {
                self->accept();
            }
        });
        return;
    }
    if (!failure) {
        if (x_common->connections.load(std::memory_order_relaxed) >=
            x_common->options.connections) {
            turn_away();
        } else {
            error_code ignored;
            x_incoming.non_blocking(true, ignored);
            auto fresh =
                std::make_shared<connection>(shared_from_this(), std::move(x_incoming), x_peer);
            asio::co_spawn(x_executor, fresh->run(), [fresh](const std::exception_ptr& thrown) {
                // run() deals with the handler's exceptions; what is left is lack of memory.
                if (thrown) {
                    fresh->close();
                }
            });
        }
    }
    accept();
}

/// One connection too many.
void shard::turn_away() {
    const server_options& options = x_common->options;
    const std::string body =
        error_text(options, 503, "the limit of connections is reached; try again later");
    std::string text =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n";
    const error_fields fields(options, 503);
    for (const header_field& one : std::span<const header_field>(fields)) {
        append_field(text, one.name, one.value);
    }
    append_field(text, "content-length", std::to_string(body.size()));
    text.append("\r\n").append(body);
    error_code ignored;
    if (x_turning_away < farewells_at_once) {
        std::make_shared<farewell>(x_executor, std::move(x_incoming), x_turning_away)->say(text);
    } else {
        gather out;
        out.add(text).send(x_incoming, ignored);
        x_incoming.close(ignored);
    }
}

void shard::add(connection& one) {
    one.x_place = x_connections.size();
    x_connections.push_back(&one);
    x_common->connections.fetch_add(1, std::memory_order_relaxed);
}

void shard::remove(connection& one) {
    x_connections.back()->x_place = one.x_place;
    x_connections[one.x_place] = x_connections.back();
    x_connections.pop_back();
    x_common->connections.fetch_sub(1, std::memory_order_relaxed);
}

void shard::stop_accepting() {
    error_code ignored;
    x_acceptor.close(ignored);
    x_retry.cancel();
    for (connection* const one : x_connections) {
        one->stop();
    }
}

void shard::abort_all() {
    std::vector<std::shared_ptr<connection>> all;
    for (connection* const one : x_connections) {
        all.push_back(one->shared_from_this());
    }
    for (const auto& one : all) {
        one->abort();
    }
}

void shard::close() {
    stop_accepting();
    abort_all();
    std::vector<std::shared_ptr<connection>> all;
    for (connection* const one : x_connections) {
        all.push_back(one->shared_from_this());
    }
    for (const auto& one : all) {
        one->close();
    }
}

}  // namespace sluice::net
