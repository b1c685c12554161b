#include "net/server.hpp"

#include <boost/asio/post.hpp>

#include "net/address.hpp"
#include "net/shard.hpp"

namespace sluice::net {

struct server::impl {
    io_pool& pool;
    std::shared_ptr<server_shared> common;
    std::vector<std::shared_ptr<shard>> shards;
    std::string address;

    template <class Action>
    void on_each(Action action) {
        for (const auto& one : shards) {
            asio::post(one->get_executor(), [one, action] { action(*one); });
        }
    }
};

server::server(io_pool& pool, server_options options, handler handle)
    : x_impl(std::make_shared<impl>(pool, std::make_shared<server_shared>())) {
    x_impl->common->options = std::move(options);
    x_impl->common->handle = std::move(handle);
    for (std::size_t i = 0; i < pool.size(); ++i) {
        x_impl->shards.push_back(std::make_shared<shard>(x_impl->common, pool.executor_of(i), i));
    }
}

server::~server() {
    x_impl->common->stopping = true;
    x_impl->on_each([](shard& one) { one.close(); });
}

namespace {

result<tcp::endpoint> resolve_here(asio::io_context& context, const std::string& listen) {
    auto parts = split_host_port(listen, 0);
    if (!parts) {
        return std::unexpected(std::move(parts.error()));
    }
    const auto port = static_cast<unsigned short>(parts->port);
    if (parts->host.empty() || parts->host == "*") {
        return tcp::endpoint(tcp::v4(), port);
    }
    error_code failure;
    if (const auto numeric = asio::ip::make_address(parts->host, failure); !failure) {
        return tcp::endpoint(numeric, port);
    }
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(parts->host, std::to_string(port), failure);
    if (failure || found.empty()) {
        return fail(
            errc::invalid_argument,
            "cannot listen on '" + listen + "': the host is unknown (" + failure.message() + ")"
        );
    }
    return found.begin()->endpoint();
}

error listen_error(const std::string& address, const error_code& failure) {
    if (failure == asio::error::address_in_use) {
        return {
            errc::already_exists,
            address + " is in use by another process; stop it or choose another address"
        };
    }
    return {errc::system_error, "cannot listen on " + address + ": " + failure.message()};
}

/// SO_REUSEPORT would share the port with another process of the same user without a word.
error_code probe(asio::io_context& context, const tcp::endpoint& at) {
    error_code failure;
    tcp::acceptor exclusive(context);
    exclusive.open(at.protocol(), failure);
    if (!failure) {
        exclusive.set_option(tcp::acceptor::reuse_address(true), failure);
    }
    if (!failure) {
        exclusive.bind(at, failure);
    }
    if (!failure) {
        exclusive.listen(1, failure);
    }
    return failure;
}

}  // namespace

result<void> server::start() {
    impl& all = *x_impl;
    const std::string& listen = all.common->options.listen;
    auto at = resolve_here(all.pool.context(0), listen);
    if (!at) {
        return std::unexpected(std::move(at.error()));
    }
    const bool shared_port = all.shards.size() > 1;
    if (shared_port && at->port() != 0) {
        if (const error_code failure = probe(all.pool.context(0), *at)) {
            return std::unexpected(listen_error(listen, failure));
        }
    }
    for (const auto& one : all.shards) {
        if (const error_code failure = one->listen(*at, shared_port)) {
            return std::unexpected(listen_error(listen, failure));
        }
        at->port(one->local_endpoint().port());
    }
    all.address = join_host_port(at->address().to_string(), std::to_string(at->port()));
    all.on_each([](shard& one) { one.accept(); });
    return {};
}

std::string server::address() const {
    return x_impl->address;
}

void server::stop_accepting() {
    x_impl->common->stopping = true;
    x_impl->on_each([](shard& one) { one.stop_accepting(); });
}

void server::abort_all() {
    x_impl->on_each([](shard& one) { one.abort_all(); });
}

std::size_t server::connection_count() const {
    return x_impl->common->connections;
}

std::size_t server::exchange_count() const {
    std::size_t count = 0;
    for (const auto& one : x_impl->shards) {
        count += one->exchanges();
    }
    return count;
}

}  // namespace sluice::net
