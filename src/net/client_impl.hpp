// The connection behind an `upstream`, and the pool it returns to. Internal to net.
//
// Invariants
//  1. A connection is in the pool or in use, never both; only one whose response ended properly,
//     with nothing behind it, returns.
//  2. The read buffer starts small, grows with what the peer sends at a time up to `largest_read`
//     (up to the head limit for a head), and is given back while the connection idles.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "net/client.hpp"
#include "net/http_parser.hpp"
#include "net/loop.hpp"
#include "net/read_buffer.hpp"
#include "net/tls_session.hpp"

namespace sluice::net {

using steady_instant = std::chrono::steady_clock::time_point;

struct client_pool::impl final : std::enable_shared_from_this<impl>, private timer_entry {
    struct bucket {
        std::string host_field;
        tls_context context;  ///< What the idle ones were opened with; null: plain HTTP.
        std::vector<std::unique_ptr<upstream::impl>> idle;  ///< Oldest first.
    };

    impl(executor where, client_options its_options)
        : timer_entry(where), x_executor(where), options(its_options) {}

    /// Idle connections from before a reload of certificates are dropped.
    bucket& bucket_of(const endpoint& to);
    /// The youngest idle connection that is still alive, or null.
    std::unique_ptr<upstream::impl> take(bucket& from);
    void put(std::unique_ptr<upstream::impl> back);
    void close();
    void on_expired() override;

    executor x_executor;
    client_options options;
    std::map<endpoint, bucket> buckets;
    bool closed = false;
};

struct upstream::impl {
    impl(std::shared_ptr<client_pool::impl> its_pool, client_pool::impl::bucket& its_home);

    enum class state : unsigned char { ready, sent, in_body, complete, failed };

    bool reusable() const;
    /// Ready for the next request.
    void recycle();
    std::unexpected<error> broken(error_code failure, std::string_view during);
    std::unexpected<error> malformed();
    task<error_code> read_more(std::size_t room);
    task<read_result> read_secured(std::span<char> space);
    gather::outcome send_now(gather& pieces, error_code& failure);
    task<error_code> drain(gather& rest);
    /// TLS on a connection just made; the error says what failed, without the address.
    task<result<void>> greet(
        tls_context context, const std::string& server_name, duration limit, abort_signal& signal
    );
    /// Idle, it has nothing to say: an end, an error or a byte makes it useless.
    bool is_quiet();
    bool response_waits();

    tcp_socket socket;
    std::unique_ptr<tls_session> tls;
    std::shared_ptr<client_pool::impl> pool;  ///< Only while in use.
    client_pool::impl::bucket* home;
    read_buffer in;
    std::size_t read_size;
    std::size_t used = 0;  ///< Bytes in front of `in` whose view was handed out.
    response_parser parser;
    response_head head;
    std::string out;
    state phase = state::ready;
    unsigned served = 0;
    bool received = false;
    bool closed_here = false;
    bool no_body = false;
    bool peer_ended = false;
    steady_instant idle_since;
};

}  // namespace sluice::net
