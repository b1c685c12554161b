// The room's own loop for its tests, and requests as text; raw peers are in raw.hpp.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <string>
#include <thread>

#include "net/client.hpp"
#include "net/server.hpp"
#include "raw.hpp"

namespace sluice::net::testing {

/// A server on its own thread(s).
class running_server {
public:
    explicit running_server(handler handle, server_options options = {}, std::size_t threads = 1)
        : pool(threads), web(pool, std::move(options), std::move(handle)) {
        const auto started = web.start();
        EXPECT_TRUE(started) << (started ? "" : started.error().message);
        x_thread = std::jthread([this] { pool.run(); });
    }
    ~running_server() {
        pool.stop();
        x_thread.join();
    }
    std::string address() const { return web.address(); }

    io_pool pool;
    server web;

private:
    std::jthread x_thread;
};

/// Runs one coroutine to its end on a fresh loop; what it throws fails the test.
inline void run(const std::function<task<>(executor)>& body) {
    asio::io_context context(1);
    bool finished = false;
    asio::co_spawn(context.get_executor(), body(context.get_executor()), [&](std::exception_ptr e) {
        finished = true;
        EXPECT_FALSE(e) << "the coroutine threw";
        context.stop();
    });
    context.run_for(std::chrono::seconds(30));
    EXPECT_TRUE(finished) << "the coroutine did not end within 30 s";
}

inline std::string get(std::string_view target, std::string_view more = {}) {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) +
           "\r\n";
}

inline std::string post(std::string_view body, std::string_view more = {}) {
    return "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + std::string(more) + "\r\n" + std::string(body);
}

/// Answers with the target and the body that came.
inline task<> echo(exchange& x) {
    const auto body = co_await x.read_body(bytes(1 << 20));
    if (!body) {
        co_await x.respond(body.error().code == errc::limit_exceeded ? 413 : 400, {}, "refused");
        co_return;
    }
    const std::string text = std::string(x.request().target) + "|" + std::string(*body);
    co_await x.respond(200, {}, text);
}

}  // namespace sluice::net::testing
