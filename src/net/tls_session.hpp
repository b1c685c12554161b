// TLS on one connected, non-blocking socket. Internal to net.
//
// Nothing here waits: every call does what the socket allows and says what it would wait for.
// A send that would block must be repeated with the same bytes before others follow.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "net/tls.hpp"
#include "net/wire.hpp"

struct ssl_st;

namespace sluice::net {

/// What OpenSSL complained about last on this thread; forgotten afterwards.
std::string take_openssl_error();

class tls_session {
public:
    /// The socket stays the caller's. `server_name`: whom the certificate must name, a host or a
    /// numeric address. Null: out of memory.
    static std::unique_ptr<tls_session> accept(tls_context context, int socket);
    static std::unique_ptr<tls_session> connect(
        tls_context context, int socket, const std::string& server_name
    );
    ~tls_session();
    tls_session(const tls_session&) = delete;
    tls_session& operator=(const tls_session&) = delete;

    enum class step : unsigned char { done, wants_read, wants_write, failed };
    step handshake();
    /// Why the handshake failed, in words.
    const std::string& why() const { return x_why; }
    /// The peer spoke plain HTTP: it can be told so without TLS.
    bool met_plain_http() const { return x_met_plain_http; }

    /// `end` is the peer's close_notify; an end without it is a failure.
    read_result read(std::span<char> room);
    gather::outcome send(gather& pieces, error_code& failure);
    /// Whether something was received that read() has not looked at: the socket may stay silent.
    bool has_pending() const;
    /// Whether an idle connection has nothing to say (session tickets are taken in silently).
    bool is_quiet();
    /// Sends close_notify, if the socket takes it now.
    void say_end();

private:
    tls_session(tls_context context, ssl_st* session);
    void explain();

    struct freed {
        void operator()(ssl_st* one) const;
    };
    tls_context x_context;  // a session's own reference does not run our deleter
    std::unique_ptr<ssl_st, freed> x_session;
    std::string x_why;
    bool x_met_plain_http = false;
    bool x_broken = false;
};

}  // namespace sluice::net
