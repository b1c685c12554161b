// Heads as text and gathered writes: what server and client share. Internal to net.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/asio.hpp"
#include "net/http.hpp"

namespace sluice::net {

/// Appends "name: value\r\n". Line ends and NUL inside the value become spaces: whatever a caller
/// quotes, it cannot add a field or a second message.
void append_field(std::string& out, std::string_view name, std::string_view value);

template <class Integer>
void append_number(std::string& out, Integer value, int base = 10) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base);
    out.append(digits.data(), end.ptr);
}

/// "Date: …\r\n" for now; formatted once a second and thread.
std::string_view date_field();

/// Up to four pieces that leave in one system call. The pieces belong to the caller.
class gather {
public:
    gather& add(std::string_view piece) {
        if (!piece.empty()) {
            // writev's interface is not const; the bytes are only read.
            x_parts[x_count++] = {const_cast<char*>(piece.data()), piece.size()};
        }
        return *this;
    }
    bool done() const { return x_first == x_count; }

    enum class outcome : unsigned char { done, would_block, failed };
    /// Writes what the socket takes now. Never raises SIGPIPE.
    outcome send(tcp_socket& socket, error_code& failure);

private:
    void consume(std::size_t sent);

    std::array<iovec, 4> x_parts;
    std::size_t x_first = 0;
    std::size_t x_count = 0;
};

}  // namespace sluice::net
