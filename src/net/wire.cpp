#include "net/wire.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "net/tls_session.hpp"

namespace sluice::net {

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name);
    out.append(": ");
    const std::size_t at = out.size();
    out.append(value);
    bool unsafe = false;
    for (const char c : value) {
        unsafe |= c == '\r' || c == '\n' || c == '\0';
    }
    if (unsafe) {
        for (std::size_t i = at; i < out.size(); ++i) {
            if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0') {
                out[i] = ' ';
            }
        }
    }
    out.append("\r\n");
}

std::string_view date_field() {
    thread_local std::time_t formatted = 0;
    thread_local std::array<char, 48> text{};
    thread_local std::size_t size = 0;
    const std::time_t now = std::time(nullptr);
    if (now != formatted) {
        std::tm parts{};
        gmtime_r(&now, &parts);
        // The process keeps the "C" locale, whose names are the ones the protocol wants.
        size =
            std::strftime(text.data(), text.size(), "date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        formatted = now;
    }
    return {text.data(), size};
}

read_result receive(tcp_socket& socket, std::span<char> room) {
    for (;;) {
        const ssize_t count =
            ::recv(socket.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
        if (count > 0) {
            return {.what = got::bytes, .count = static_cast<std::size_t>(count)};
        }
        if (count == 0) {
            return {.what = got::end};
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return {.what = got::nothing};
        }
        if (errno != EINTR) {
            return {
                .what = got::failed, .failure = error_code(errno, boost::system::system_category())
            };
        }
    }
}

gather::outcome gather::send(tcp_socket& socket, tls_session* tls, error_code& failure) {
    return tls == nullptr ? send(socket, failure) : tls->send(*this, failure);
}

std::string_view gather::front(std::span<char> staging) const {
    const auto view = [](const iovec& part) {
        return std::string_view(static_cast<const char*>(part.iov_base), part.iov_len);
    };
    const std::string_view first = view(x_parts[x_first]);
    if (x_first + 1 == x_count || first.size() >= staging.size()) {
        return first.substr(0, staging.size());
    }
    std::size_t size = 0;
    for (std::size_t i = x_first; i < x_count && size < staging.size(); ++i) {
        const std::string_view piece = view(x_parts[i]).substr(0, staging.size() - size);
        std::memcpy(staging.data() + size, piece.data(), piece.size());
        size += piece.size();
    }
    return {staging.data(), size};
}

gather::outcome gather::send(tcp_socket& socket, error_code& failure) {
    while (x_first < x_count) {
        msghdr message{};
        message.msg_iov = x_parts.data() + x_first;
        message.msg_iovlen = x_count - x_first;
        const ssize_t sent =
            ::sendmsg(socket.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            consume(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return outcome::would_block;
        } else if (errno != EINTR) {
            failure.assign(errno, boost::system::system_category());
            return outcome::failed;
        }
    }
    return outcome::done;
}

void gather::consume(std::size_t sent) {
    while (x_first < x_count && sent >= x_parts[x_first].iov_len) {
        sent -= x_parts[x_first].iov_len;
        ++x_first;
    }
    if (x_first < x_count) {
        iovec& part = x_parts[x_first];
        part.iov_base = static_cast<char*>(part.iov_base) + sent;
        part.iov_len -= sent;
    }
}

}  // namespace sluice::net
