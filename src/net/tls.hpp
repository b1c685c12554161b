// TLS of a server's port and of connections to workers: contexts made of PEM files, which can be
// read again while connections run. TLS 1.2 and later, no renegotiation, OpenSSL's own defaults
// for the rest.
//
//  1. A context in use never changes: a reload makes a new one for the connections to come.
//  2. A reload that fails changes nothing.
//  3. Key files are read without a passphrase; their text goes into no message.
#pragma once

#include <chrono>
#include <compare>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.hpp"

struct ssl_ctx_st;

namespace sluice::net {

using tls_context = std::shared_ptr<ssl_ctx_st>;

struct tls_server_files {
    std::string cert;       ///< Chain, the server's own certificate first.
    std::string key;        ///< Its private key.
    std::string client_ca;  ///< Clients must show a certificate of these authorities; empty: none.
};

/// Thread-safe.
class tls_server {
public:
    /// The error names the file and what is wrong with it.
    static result<std::shared_ptr<tls_server>> load(tls_server_files files);

    result<void> reload();
    tls_context context() const;
    /// When the certificate in use ends to be valid.
    std::chrono::system_clock::time_point expires_at() const;
    const tls_server_files& files() const { return x_files; }

private:
    explicit tls_server(tls_server_files files) : x_files(std::move(files)) {}

    tls_server_files x_files;
    mutable std::mutex x_mutex;  // guards what follows
    tls_context x_context;
    std::chrono::system_clock::time_point x_expires_at;
};

struct tls_client_files {
    std::string ca;    ///< Authorities to trust; empty: the system's.
    std::string cert;  ///< What the client shows; empty: nothing.
    std::string key;
    friend auto operator<=>(const tls_client_files&, const tls_client_files&) = default;
};

/// How connections to a worker are secured. Thread-safe.
class tls_client {
public:
    /// The same object for the same files as long as one is in use, so that connections of equal
    /// endpoints are pooled together.
    static result<std::shared_ptr<tls_client>> with(const tls_client_files& files);
    /// Reads the files of all that are in use again; what went wrong.
    static std::vector<error> reload_all();

    tls_context context() const;
    const tls_client_files& files() const { return x_files; }

private:
    explicit tls_client(tls_client_files files) : x_files(std::move(files)) {}
    result<void> reload();

    tls_client_files x_files;
    mutable std::mutex x_mutex;  // guards x_context
    tls_context x_context;
};

}  // namespace sluice::net
