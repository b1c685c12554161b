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

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace sluice::net::testing {

using namespace std::chrono_literals;

inline constexpr auto patience = std::chrono::seconds(10);

/// A moment for the other threads.
inline void pause() {
    // lint-allow(call): this thread is outside of every loop, and nothing tells it of the moment
    std::this_thread::sleep_for(1ms);
}

/// "127.0.0.1:port" for the system.
inline sockaddr_in loopback(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return to;
}

/// Polls until `condition` holds; false after ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pause();
    }
    return true;
}

/// Whether somebody listens at "127.0.0.1:port".
inline bool accepts(const std::string& address) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in to = loopback(address);
    const bool taken = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    ::close(fd);
    return taken;
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
        const sockaddr_in to = loopback(address);
        EXPECT_EQ(::connect(x_fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
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

}  // namespace sluice::net::testing
