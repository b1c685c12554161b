// HTTP/1.1 server: one coroutine a connection, one `exchange` a request, handled by a function.
//
// Bounds: head size, body size (asked per request), connections, one write in flight a connection.
// A malformed head is answered by the server itself, which then closes: 400; 431 too large, 408 too
// slow, 417 an unknown expectation, 501 an unknown transfer coding, 505 an unknown version.
// A response that starts while body bytes have not been read closes the connection after it.
// A handler that throws, or returns without a response, is answered 500 (503 after abort_all());
// if the response had started, the connection is cut without its proper end.
// While the handler runs, the connection is watched: a reset always fires exchange::signal() with
// `peer_gone`; a clean half-close does so unless `half_close::tolerate`. Bytes of a pipelined next
// request are kept (bounded) and do not hide a later reset.
// With TLS, an end of input without close_notify counts as a reset.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"
#include "net/abort.hpp"
#include "net/asio.hpp"
#include "net/http.hpp"
#include "net/io_pool.hpp"
#include "net/tls.hpp"

namespace sluice::net {

/// What a client's FIN after its request means (B01).
enum class half_close : unsigned char { abort, tolerate };

struct server_options {
    std::string listen = "127.0.0.1:0";  ///< host:port; [v6]:port; port 0 picks one.
    bytes header_bytes = bytes(64 * 1024);
    std::size_t connections = 20'000;  ///< Over all threads; one more is closed at once with 503.
    duration head_timeout = std::chrono::seconds(30);        ///< From first byte to end of head.
    duration keep_alive_timeout = std::chrono::seconds(75);  ///< Idle between requests.
    duration write_timeout =
        std::chrono::seconds(60);  ///< A client that reads nothing for so long.
    /// No byte of an unfinished body for so long, or less than `slowest_body` on the average
    /// after so long.
    duration body_timeout = std::chrono::seconds(60);
    half_close on_half_close = half_close::abort;
    std::shared_ptr<tls_server> tls;  ///< The port speaks TLS; null: plain HTTP.
    /// Told of a client whose TLS handshake failed, or took longer than `head_timeout`. Any thread.
    std::function<void(std::string_view peer, std::string_view why)> on_handshake_failure;
    /// Body of the answers that the server gives itself (malformed head, connection limit, a
    /// handler that failed), of type `error_type`. None: the reason as plain text. Any thread.
    std::function<std::string(int status, std::string_view what)> error_body;
    std::string error_type = "application/json";
    /// A further field of these answers, for instance a code. Views of text that lasts.
    std::function<header_field(int status)> error_field;
    /// Told what a handler threw; for a log. Called on any thread.
    std::function<void(std::string_view what)> on_exception;
};

/// A client that sends its body more slowly, in bytes a second, is not waited for.
inline constexpr bytes slowest_body{8 * 1024};

/// A bound over many bodies: asked before one takes memory.
class body_room {
public:
    virtual ~body_room() = default;
    /// False: there is none for so much more.
    virtual bool take(bytes more) = 0;
};

/// One request and its response. Used by its handler only, on the connection's strand.
/// Every awaiting member returns false / an error once the client is gone; the handler then ends.
class exchange {
public:
    virtual ~exchange() = default;

    virtual const request_head& request() const = 0;
    virtual executor get_executor() const = 0;
    /// Index of the io_pool context that the connection lives on.
    virtual std::size_t thread_index() const = 0;
    /// Fires when the client leaves; the handler may add deadlines to it.
    virtual abort_signal& signal() = 0;
    /// Address and port of the client.
    virtual std::string peer_address() const = 0;

    /// The whole body (de-chunked), followed by at least 64 readable bytes (simdjson's padding).
    /// Valid until the exchange ends. Sends 100 Continue when it was expected.
    /// `limit_exceeded`: longer than `limit`; `unavailable`: `room` has none for it; `timed_out`:
    /// the client is too slow. Nothing more is read then, and the connection will close after the
    /// response.
    virtual task<result<std::string_view>> read_body(bytes limit, body_room* room = nullptr) = 0;

    /// The body is needed no longer: its memory goes back before the exchange ends.
    virtual void release_body() = 0;

    /// Sends a complete response. `fields` need not name content-length, date or connection.
    virtual task<bool> respond(
        int status, std::span<const header_field> fields, std::string_view body
    ) = 0;

    /// Starts a streamed response: known length, or chunked (close-delimited for HTTP/1.0). The
    /// head is held back and leaves with the first write(), flush() or finish(), in one segment.
    virtual void begin(
        int status, std::span<const header_field> fields, std::optional<std::uint64_t> length
    ) = 0;
    /// Sends `data` as one piece; resumes when the socket took it (back pressure).
    virtual task<bool> write(std::string_view data) = 0;
    /// Sends the head if it is still held back.
    virtual task<bool> flush() = 0;
    /// Ends the response properly.
    virtual task<bool> finish() = 0;
    /// write(last) and finish() in one system call. `trailers` follow a chunked body (announce them
    /// with a field `trailer`); with another framing they are dropped.
    virtual task<bool> finish(
        std::string_view last, std::span<const header_field> trailers = {}
    ) = 0;

    /// Whether a byte of the response has left (or begin()'s head was flushed).
    virtual bool response_started() const = 0;
    /// The connection closes after this response (also: ends a broken stream without its last chunk
    /// when finish() was not called).
    virtual void close_after() = 0;
};

using handler = std::function<task<void>(exchange&)>;

class server {
public:
    /// Connections are accepted on every context of `pool` (SO_REUSEPORT).
    server(io_pool& pool, server_options options, handler handle);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Binds and starts accepting. The error says what is in the way ("… is in use by …").
    result<void> start();
    /// Where it listens, for instance "127.0.0.1:40123".
    std::string address() const;

    /// Thread-safe. No new connections; idle ones close; running exchanges go on, each connection
    /// closes after its response.
    void stop_accepting();
    /// Thread-safe. Fires `shutdown` on every running exchange.
    void abort_all();
    /// Open connections / running exchanges, over all threads.
    std::size_t connection_count() const;
    std::size_t exchange_count() const;

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::net
