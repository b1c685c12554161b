// HTTP/1.1 client side: keep-alive connections to workers, pooled per io_context and address.
//
// `upstream` is one request and its response on one connection, an RAII value: destroyed after a
// complete, reusable response the connection returns to its pool, otherwise it is closed.
#pragma once

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

namespace sluice::net {

class tls_client;

/// "http://host:port" (path ignored), "host:port", "http://[::1]:9000", "https://host:8443".
/// `https://…?ca=FILE&cert=FILE&key=FILE&server_name=NAME`: whom to trust instead of the system's
/// authorities, what to show, and the name that the certificate must have instead of the host's.
struct endpoint {
    std::string host;
    std::string port;
    std::shared_ptr<tls_client> tls = nullptr;  ///< Null: plain HTTP.
    std::string server_name = {};               ///< With TLS: whom the certificate must name.
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
    /// "host:port".
    std::string to_string() const;
    /// "http" or "https".
    std::string_view scheme() const { return tls ? "https" : "http"; }
};
/// Reads the files that it names.
result<endpoint> parse_endpoint(std::string_view url);

struct request_out {
    std::string_view method = "POST";
    std::string_view target = "/";
    std::span<const header_field> fields;  ///< Without host, content-length, connection.
    std::string_view body;
};

class upstream {
public:
    upstream();
    ~upstream();
    upstream(upstream&&) noexcept;
    upstream& operator=(upstream&&) noexcept;

    /// Writes head and body in one gathered write.
    task<result<void>> send(const request_out& request);
    /// Valid until the next read_body() call that returns data after it; copy what is needed.
    task<result<const response_head*>> read_head();
    /// Next piece of the body, framing removed; empty at the proper end. An end that the framing
    /// does not confirm is `protocol_error`. The view lives until the next call.
    task<result<std::string_view>> read_body();
    /// Whether the proper end has been seen: the last read_body() view was the last one.
    bool complete() const;
    /// Trailer fields of a chunked response, after the end.
    std::span<const header_field> trailers() const;

    /// Whether the connection had served an earlier request (a stale one may be retried, B27).
    bool reused() const;
    /// Whether any byte of the response has come.
    bool received_any() const;
    /// Cancels whatever is pending (it completes with `cancelled`) and closes. Any time, same
    /// strand.
    void close();

private:
    friend class client_pool;
    struct impl;
    explicit upstream(std::unique_ptr<impl> state);
    std::unique_ptr<impl> x_impl;
};

struct client_options {
    std::size_t idle_per_endpoint = 256;
    duration idle_timeout = std::chrono::seconds(30);
    bytes header_bytes = bytes(64 * 1024);
};

/// One per io_context; used on its thread only.
class client_pool {
public:
    explicit client_pool(executor where, client_options options = {});
    ~client_pool();
    client_pool(const client_pool&) = delete;
    client_pool& operator=(const client_pool&) = delete;

    /// An idle connection, or a new one within `connect_timeout`. `signal` aborts the wait.
    /// `connection_failed` names the address and what the system said.
    task<result<upstream>> open(
        const endpoint& to, duration connect_timeout, abort_signal& signal, bool fresh = false
    );

private:
    friend class upstream;
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::net
