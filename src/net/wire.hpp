// Heads as text and gathered writes: what server and client share. Internal to net.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>
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

/// What a read that does not wait brought.
enum class got : unsigned char { bytes, nothing, end, failed };
struct read_result {
    got what = got::nothing;
    std::size_t count = 0;
    error_code failure = {};
    bool wants_write = false;  ///< Nothing: until the socket can be written.
};
read_result receive(tcp_socket& socket, std::span<char> room);

class tls_session;

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
    /// The same, through `tls` unless it is null.
    outcome send(tcp_socket& socket, tls_session* tls, error_code& failure);

    /// What leaves next, one piece, or several small ones together in `staging`. Only while not
    /// done().
    std::string_view front(std::span<char> staging) const;
    void consume(std::size_t sent);

private:
    std::array<iovec, 4> x_parts;
    std::size_t x_first = 0;
    std::size_t x_count = 0;
};

}  // namespace sluice::net
