// Real loopback sockets for the tests of net: blocking raw peers outside, the room's own loop
// inside.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "net/client.hpp"
#include "net/server.hpp"

namespace sluice::net::testing {

using namespace std::chrono_literals;

inline constexpr auto patience = std::chrono::seconds(10);

/// Polls until `condition` holds; false after ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// A blocking socket that can misbehave.
class raw_peer {
public:
    explicit raw_peer(int fd) : x_fd(fd) {
        const int on = 1;
        ::setsockopt(x_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    /// Connects to "127.0.0.1:port".
    explicit raw_peer(const std::string& address, int receive_buffer = 0) {
        x_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer > 0) {
            ::setsockopt(x_fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        }
        const int on = 1;
        ::setsockopt(x_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(x_fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    }
    raw_peer(raw_peer&& other) noexcept : x_fd(std::exchange(other.x_fd, -1)) {}
    ~raw_peer() { close(); }

    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(x_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// Some bytes; empty at the end (or after a reset, or when nothing comes in ten seconds).
    std::string read_some() {
        pollfd wait{x_fd, POLLIN, 0};
        if (::poll(&wait, 1, 10'000) <= 0) {
            ADD_FAILURE() << "nothing was received in ten seconds";
            return {};
        }
        std::string out(65536, '\0');
        const ssize_t got = ::recv(x_fd, out.data(), out.size(), 0);
        x_was_reset = got < 0;
        out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return out;
    }
    std::string read_to_end() {
        std::string all = std::move(x_rest);
        for (std::string piece = read_some(); !piece.empty(); piece = read_some()) {
            all += piece;
        }
        return all;
    }
    /// Until `mark` was received; returns everything up to its end.
    std::string read_until(std::string_view mark) {
        std::size_t at = 0;
        while ((at = x_rest.find(mark)) == std::string::npos) {
            const std::string piece = read_some();
            if (piece.empty()) {
                return std::exchange(x_rest, {});
            }
            x_rest += piece;
        }
        std::string out = x_rest.substr(0, at + mark.size());
        x_rest.erase(0, out.size());
        return out;
    }
    /// Whether something (bytes, the end, an error) is there within `time`.
    bool readable(std::chrono::milliseconds time) {
        pollfd wait{x_fd, POLLIN, 0};
        return !x_rest.empty() || ::poll(&wait, 1, static_cast<int>(time.count())) > 0;
    }
    bool was_reset() const { return x_was_reset; }
    void half_close() { ::shutdown(x_fd, SHUT_WR); }
    void reset() {
        const linger hard{1, 0};
        ::setsockopt(x_fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }
    void close() {
        if (x_fd >= 0) {
            ::close(std::exchange(x_fd, -1));
        }
    }

private:
    int x_fd = -1;
    std::string x_rest;
    bool x_was_reset = false;
};

/// A worker by hand: every accepted connection is given to `script`, one after the other.
class raw_server {
public:
    explicit raw_server(std::function<void(raw_peer&, int nth)> script)
        : x_script(std::move(script)) {
        x_listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(x_listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
        EXPECT_EQ(::listen(x_listener, 64), 0);
        socklen_t size = sizeof at;
        ::getsockname(x_listener, reinterpret_cast<sockaddr*>(&at), &size);
        x_address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
        x_thread = std::jthread([this] {
            for (int nth = 0;; ++nth) {
                const int fd = ::accept4(x_listener, nullptr, nullptr, SOCK_CLOEXEC);
                if (fd < 0) {
                    return;
                }
                raw_peer peer(fd);
                x_script(peer, nth);
            }
        });
    }
    ~raw_server() {
        ::shutdown(x_listener, SHUT_RDWR);
        x_thread.join();
        ::close(x_listener);
    }
    const std::string& address() const { return x_address; }

private:
    std::function<void(raw_peer&, int)> x_script;
    int x_listener = -1;
    std::string x_address;
    std::jthread x_thread;
};

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
