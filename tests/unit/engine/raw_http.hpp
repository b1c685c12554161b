// A blocking HTTP client over plain sockets: what it does to a connection (leave, reset,
// half-close) happens when it says so, and it shares no code with the server under test.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::engine::test {

struct raw_response {
    int status = 0;
    std::string head;
    std::string body;
    bool complete = false;  ///< Ended as its framing says.
};

class raw_connection {
public:
    /// "127.0.0.1:40123"
    explicit raw_connection(std::string_view address) {
        const std::size_t colon = address.rfind(':');
        std::uint16_t port = 0;
        std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
        x_socket = ::socket(AF_INET, SOCK_STREAM, 0);
        const timeval patience{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(x_socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const int one = 1;
        ::setsockopt(x_socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        ::inet_pton(AF_INET, std::string(address.substr(0, colon)).c_str(), &to.sin_addr);
        x_connected = ::connect(x_socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }
    ~raw_connection() { leave(); }
    raw_connection(raw_connection&& other) noexcept
        : x_socket(std::exchange(other.x_socket, -1)),
          x_connected(other.x_connected),
          x_read(std::move(other.x_read)) {}
    raw_connection& operator=(raw_connection&&) = delete;

    bool connected() const { return x_connected; }
    void leave() {
        if (x_socket >= 0) {
            ::close(std::exchange(x_socket, -1));
        }
    }
    void reset() {
        const linger hard{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(x_socket, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        leave();
    }
    void half_close() { ::shutdown(x_socket, SHUT_WR); }

    void send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t sent = ::send(x_socket, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return;
            }
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    void post(std::string_view path, std::string_view body) {
        send(
            "POST " + std::string(path) + " HTTP/1.1\r\nhost: test\r\ncontent-length: " +
            std::to_string(body.size()) + "\r\n\r\n" + std::string(body)
        );
    }
    void get(std::string_view path) {
        send("GET " + std::string(path) + " HTTP/1.1\r\nhost: test\r\n\r\n");
    }

    /// False when the connection ends (or 20 s pass) before `text` has been received.
    bool read_until(std::string_view text) {
        while (x_read.find(text) == std::string::npos) {
            if (!read_more()) {
                return false;
            }
        }
        return true;
    }
    /// Everything received so far and not taken by a response.
    const std::string& received() const { return x_read; }

    raw_response response() {
        raw_response answer;
        if (!read_until("\r\n\r\n")) {
            answer.head = x_read;
            return answer;
        }
        const std::size_t end = x_read.find("\r\n\r\n") + 4;
        answer.head = x_read.substr(0, end);
        x_read.erase(0, end);
        std::from_chars(answer.head.data() + 9, answer.head.data() + 12, answer.status);
        if (const auto length = field(answer.head, "content-length")) {
            std::size_t wanted = 0;
            std::from_chars(length->data(), length->data() + length->size(), wanted);
            while (x_read.size() < wanted && read_more()) {
            }
            answer.complete = x_read.size() >= wanted;
            answer.body = x_read.substr(0, wanted);
            x_read.erase(0, wanted);
        } else if (field(answer.head, "transfer-encoding")) {
            answer.complete = read_chunks(answer.body);
        }
        return answer;
    }

    static std::optional<std::string> field(std::string_view head, std::string_view name) {
        for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
             at = head.find("\r\n", at + 2)) {
            const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
            const std::size_t colon = line.find(':');
            if (colon == name.size() && ::strncasecmp(line.data(), name.data(), name.size()) == 0) {
                const std::size_t begin = line.find_first_not_of(' ', colon + 1);
                return std::string(begin == std::string_view::npos ? "" : line.substr(begin));
            }
        }
        return std::nullopt;
    }

private:
    bool read_more() {
        char piece[16 * 1024];
        const ssize_t got = x_socket < 0 ? -1 : ::recv(x_socket, piece, sizeof piece, 0);
        if (got <= 0) {
            return false;
        }
        x_read.append(piece, static_cast<std::size_t>(got));
        return true;
    }
    bool read_chunks(std::string& body) {
        for (;;) {
            if (!read_until("\r\n")) {
                return false;
            }
            std::size_t size = 0;
            std::from_chars(x_read.data(), x_read.data() + x_read.size(), size, 16);
            const std::size_t begin = x_read.find("\r\n") + 2;
            while (x_read.size() < begin + size + 2) {
                if (!read_more()) {
                    body += x_read.substr(begin);
                    return false;
                }
            }
            body += x_read.substr(begin, size);
            x_read.erase(0, begin + size + 2);
            if (size == 0) {
                return true;
            }
        }
    }

    int x_socket = -1;
    bool x_connected = false;
    std::string x_read;
};

}  // namespace sluice::engine::test
