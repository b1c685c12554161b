// A blocking client for tests: what it sends is exactly what the test wrote.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace sluice::gateway::testing {

/// A blocking client: one request a connection.
class browser {
public:
    explicit browser(const std::string& address) {
        x_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        timeval patience{10, 0};
        ::setsockopt(x_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(x_fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    }
    ~browser() { close(); }
    browser(const browser&) = delete;
    browser& operator=(const browser&) = delete;

    browser& send(const std::string& bytes) {
        EXPECT_EQ(
            ::send(x_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size())
        );
        return *this;
    }
    browser& chat(const std::string& body, const std::string& fields = {}) {
        return send(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nConnection: close\r\n" + fields +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body
        );
    }
    browser& get(const std::string& path) {
        return send("GET " + path + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    }
    /// Everything to the end of the connection.
    std::string read() {
        std::string all;
        char piece[4096];
        for (;;) {
            const ssize_t got = ::recv(x_fd, piece, sizeof piece, 0);
            EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << all;
            if (got <= 0) {
                return all;
            }
            all.append(piece, static_cast<std::size_t>(got));
        }
    }
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
};

}  // namespace sluice::gateway::testing
