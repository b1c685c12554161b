#include "net/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/error.hpp>
#include <cerrno>

namespace sluice::net {

namespace {

constexpr std::size_t record_size = 16 * 1024;

int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

/// What the system said, as OpenSSL wants to hear it.
int outcome_of(BIO* bio, ssize_t count, bool reading) {
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        reading ? BIO_set_retry_read(bio) : BIO_set_retry_write(bio);
    }
    if (reading && count == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return static_cast<int>(count);
}

int write_to_socket(BIO* bio, const char* data, int size) {
    ssize_t sent = 0;
    do {
        sent = ::send(
            socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT
        );
    } while (sent < 0 && errno == EINTR);
    return outcome_of(bio, sent, false);
}

int read_from_socket(BIO* bio, char* room, int size) {
    ssize_t got = 0;
    do {
        got = ::recv(socket_of(bio), room, static_cast<std::size_t>(size), MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    return outcome_of(bio, got, true);
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    switch (command) {
        case BIO_CTRL_FLUSH:
            return 1;
        case BIO_CTRL_EOF:
            return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
        default:
            return 0;
    }
}

/// OpenSSL's own socket BIO raises SIGPIPE. Lives as long as the process.
BIO_METHOD* socket_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* made =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "non-blocking socket");
        BIO_meth_set_write(made, write_to_socket);
        BIO_meth_set_read(made, read_from_socket);
        BIO_meth_set_ctrl(made, control);
        return made;
    }();
    return method;
}

SSL* make_session(SSL_CTX* context, int socket) {
    SSL* const made = SSL_new(context);
    BIO* const bio = made == nullptr ? nullptr : BIO_new(socket_method());
    if (bio == nullptr) {
        SSL_free(made);
        return nullptr;
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(made, bio, bio);
    return made;
}

}  // namespace

std::string take_openssl_error() {
    const unsigned long code = ERR_peek_error();
    const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return reason == nullptr ? "OpenSSL gives no reason" : reason;
}

void tls_session::freed::operator()(ssl_st* one) const {
    SSL_free(one);
}

tls_session::tls_session(tls_context context, ssl_st* session)
    : x_context(std::move(context)), x_session(session) {}

tls_session::~tls_session() = default;

std::unique_ptr<tls_session> tls_session::accept(tls_context context, int socket) {
    SSL* const session = make_session(context.get(), socket);
    if (session == nullptr) {
        return nullptr;
    }
    SSL_set_accept_state(session);
    return std::unique_ptr<tls_session>(new tls_session(std::move(context), session));
}

std::unique_ptr<tls_session> tls_session::connect(
    tls_context context, int socket, const std::string& server_name
) {
    SSL* const session = make_session(context.get(), socket);
    if (session == nullptr) {
        return nullptr;
    }
    SSL_set_connect_state(session);
    std::unique_ptr<tls_session> made(new tls_session(std::move(context), session));
    X509_VERIFY_PARAM* const wanted = SSL_get0_param(session);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    // A numeric address is looked for among the addresses of the certificate, and is no SNI.
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, server_name.c_str()) != 1) {
        ERR_clear_error();
        if (SSL_set1_host(session, server_name.c_str()) != 1 ||
            SSL_set_tlsext_host_name(session, server_name.c_str()) != 1) {
            ERR_clear_error();
            return nullptr;
        }
    }
    return made;
}

void tls_session::explain() {
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_REASON(code);
    x_met_plain_http = ERR_GET_LIB(code) == ERR_LIB_SSL &&
                       (reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST);
    const long verdict = SSL_get_verify_result(x_session.get());
    if (code == 0) {
        x_why = errno == 0 ? "the peer closed the connection"
                           : error_code(errno, boost::system::system_category()).message();
    } else if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        x_why = "the peer closed the connection";
    } else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        x_why = std::string("certificate refused: ") + X509_verify_cert_error_string(verdict);
    } else {
        const char* const words = ERR_reason_error_string(code);
        x_why = words == nullptr ? "unknown reason" : words;
    }
    ERR_clear_error();
}

tls_session::step tls_session::handshake() {
    ERR_clear_error();
    errno = 0;
    const int outcome = SSL_do_handshake(x_session.get());
    if (outcome == 1) {
        return step::done;
    }
    switch (SSL_get_error(x_session.get(), outcome)) {
        case SSL_ERROR_WANT_READ:
            return step::wants_read;
        case SSL_ERROR_WANT_WRITE:
            return step::wants_write;
        default:
            x_broken = true;
            explain();
            return step::failed;
    }
}

read_result tls_session::read(std::span<char> room) {
    ERR_clear_error();
    std::size_t count = 0;
    // Whole records until the room is full: each is at most 16 KB.
    while (count < room.size()) {
        std::size_t got = 0;
        const int outcome =
            SSL_read_ex(x_session.get(), room.data() + count, room.size() - count, &got);
        count += got;
        if (outcome == 1) {
            continue;
        }
        if (count > 0) {
            break;  // the next call meets the reason again
        }
        switch (SSL_get_error(x_session.get(), outcome)) {
            case SSL_ERROR_WANT_READ:
                return {.what = got::nothing};
            case SSL_ERROR_WANT_WRITE:
                return {.what = got::nothing, .wants_write = true};
            case SSL_ERROR_ZERO_RETURN:
                return {.what = got::end};
            default:
                x_broken = true;
                ERR_clear_error();
                return {.what = got::failed, .failure = asio::error::connection_reset};
        }
    }
    ERR_clear_error();
    return {.what = got::bytes, .count = count};
}

gather::outcome tls_session::send(gather& pieces, error_code& failure) {
    // Small pieces share a record, hence a system call.
    thread_local std::array<char, record_size> staging;
    ERR_clear_error();
    while (!pieces.done()) {
        const std::string_view next = pieces.front(staging);
        std::size_t sent = 0;
        const int outcome = SSL_write_ex(x_session.get(), next.data(), next.size(), &sent);
        if (outcome == 1) {
            pieces.consume(sent);
            continue;
        }
        const int why = SSL_get_error(x_session.get(), outcome);
        if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ) {
            return gather::outcome::would_block;
        }
        x_broken = true;
        ERR_clear_error();
        failure = asio::error::broken_pipe;
        return gather::outcome::failed;
    }
    return gather::outcome::done;
}

bool tls_session::has_pending() const {
    return SSL_has_pending(x_session.get()) == 1;
}

bool tls_session::is_quiet() {
    ERR_clear_error();
    char byte = 0;
    const int outcome = SSL_peek(x_session.get(), &byte, 1);
    const bool quiet =
        outcome <= 0 && SSL_get_error(x_session.get(), outcome) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return quiet;
}

void tls_session::say_end() {
    // After a failure, and within a handshake, OpenSSL forbids it.
    if (!x_broken && SSL_is_init_finished(x_session.get()) == 1) {
        ERR_clear_error();
        SSL_shutdown(x_session.get());
        ERR_clear_error();
    }
}

}  // namespace sluice::net
