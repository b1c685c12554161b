// The admin port: a live page, the state as JSON, metrics, health.
//
// Opened by the app with the gateway's live_view. Its own port and connections on the gateway's
// io_pool; state is read on the strand of the pools and printed on the thread of the connection.
//
//  1. Reads only; nothing here changes the gateway.
//  2. Every list is bounded: `listed_at_most` tickets a pool, `events_at_most` open event streams.
//  3. Names reach the page as text, never as markup; the page loads nothing from elsewhere.
//
//   GET /                  the live page
//   GET /api/v1/pools  /api/v1/workers  /api/v1/permits  /api/v1/queue     JSON arrays
//   GET /api/v1/events     the same as server-sent events, at most four a second
//   GET /metrics, /health, /live, /livez, /ready, /readyz
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "coord/live_view.hpp"
#include "net/io_pool.hpp"

namespace sluice::admin {

inline constexpr std::size_t listed_at_most = 1000;
inline constexpr std::size_t events_at_most = 64;

class console {
public:
    console(net::io_pool& pool, std::string listen, coord::live_view view);
    ~console();
    console(const console&) = delete;
    console& operator=(const console&) = delete;

    result<void> start();
    /// "127.0.0.1:40123"
    std::string address() const;

private:
    struct impl;
    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::admin
