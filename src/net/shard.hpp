// What one io_context of a server holds: its acceptor and its connections. Internal to net.
// Everything except the counters of server_shared happens on the context's thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "net/server.hpp"

namespace sluice::net {

class connection;

/// Of all shards. No Asio object in here: it may be destroyed after any of the contexts.
struct server_shared {
    server_options options;
    handler handle;
    std::atomic<bool> stopping = false;
    std::atomic<std::size_t> connections = 0;
};

/// The reason as the owner wants it, or as text.
std::string error_text(const server_options& options, int status, std::string_view what);

/// The fields of such an answer.
class error_fields {
public:
    error_fields(const server_options& options, int status);
    // NOLINTNEXTLINE(google-explicit-constructor): it is a list of fields
    operator std::span<const header_field>() const { return {x_fields.data(), x_count}; }

private:
    std::array<header_field, 2> x_fields;
    std::size_t x_count = 1;
};

class shard : public std::enable_shared_from_this<shard> {
public:
    shard(std::shared_ptr<server_shared> common, executor where, std::size_t index);

    /// Binds without accepting yet. `shared_port`: SO_REUSEPORT.
    error_code listen(const tcp::endpoint& at, bool shared_port);
    tcp::endpoint local_endpoint() const;
    void accept();

    void stop_accepting();
    void abort_all();
    /// Closes the acceptor and every connection.
    void close();

    std::size_t index() const { return x_index; }
    executor get_executor() const { return x_executor; }
    const server_shared& common() const { return *x_common; }
    std::size_t exchanges() const { return x_exchanges.load(std::memory_order_relaxed); }

    void add(connection& one);
    void remove(connection& one);
    void exchange_began() { x_exchanges.fetch_add(1, std::memory_order_relaxed); }
    void exchange_ended() { x_exchanges.fetch_sub(1, std::memory_order_relaxed); }

private:
    void on_accept(error_code failure);
    void turn_away();

    std::shared_ptr<server_shared> x_common;
    executor x_executor;
    std::size_t x_index;
    tcp_acceptor x_acceptor;
    tcp_socket x_incoming;
    tcp::endpoint x_peer;
    steady_timer x_retry;
    std::vector<connection*> x_connections;
    std::size_t x_turning_away = 0;
    std::atomic<std::size_t> x_exchanges = 0;
};

}  // namespace sluice::net
