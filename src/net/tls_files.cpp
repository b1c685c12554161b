// From PEM files to contexts.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>

#include "net/tls.hpp"
#include "net/tls_session.hpp"

namespace sluice::net {

namespace {

struct freed_by_openssl {
    void operator()(X509* one) const { X509_free(one); }
    void operator()(BIO* one) const { BIO_free(one); }
};

/// The oldest reason in the queue: later ones only say who passed it on.
std::unexpected<error> refused(std::string_view role, const std::string& file) {
    const unsigned long code = ERR_peek_error();
    const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return fail(
        errc::invalid_argument,
        std::string(role) + " " + file + " is not usable" +
            (reason == nullptr ? std::string() : std::string(": ") + reason) + "; it must be PEM"
    );
}

/// OpenSSL says "system lib" for a file that cannot be opened.
result<void> readable(std::string_view role, const std::string& file) {
    errno = 0;
    const std::ifstream stream(file);
    if (!stream) {
        return fail(
            errc::not_found,
            std::string(role) + " " + file + " cannot be read: " + std::strerror(errno)
        );
    }
    return {};
}

/// An encrypted key must not make a server ask its terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) {
    return 0;
}

/// Only HTTP/1.1 is spoken here; a peer that asks for other protocols alone learns it at once.
int choose_protocol(
    SSL* /*session*/,
    const unsigned char** chosen,
    unsigned char* size,
    const unsigned char* offered,
    unsigned int offered_size,
    void* /*unused*/
) {
    static constexpr unsigned char spoken[] = "\x08http/1.1\x08http/1.0";
    unsigned char* found = nullptr;
    const int outcome =
        SSL_select_next_proto(&found, size, spoken, sizeof spoken - 1, offered, offered_size);
    if (outcome != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

tls_context make_context(const SSL_METHOD* method) {
    tls_context made(SSL_CTX_new(method), SSL_CTX_free);
    if (made) {
        SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
        SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        // Idle connections keep no record buffers; a busy one reads as much as there is at once.
        SSL_CTX_set_mode(
            made.get(),
            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                SSL_MODE_RELEASE_BUFFERS
        );
        SSL_CTX_set_read_ahead(made.get(), 1);
        SSL_CTX_set_default_passwd_cb(made.get(), no_passphrase);
    }
    return made;
}

result<void> use_certificate(SSL_CTX& to, const std::string& cert, const std::string& key) {
    ERR_clear_error();
    if (auto there = readable("the certificate", cert); !there) {
        return there;
    }
    if (SSL_CTX_use_certificate_chain_file(&to, cert.c_str()) != 1) {
        return refused("the certificate", cert);
    }
    if (auto there = readable("the key", key); !there) {
        return there;
    }
    if (SSL_CTX_use_PrivateKey_file(&to, key.c_str(), SSL_FILETYPE_PEM) != 1) {
        return refused("the key", key);
    }
    if (SSL_CTX_check_private_key(&to) != 1) {
        return refused("the key", key);
    }
    return {};
}

result<void> trust(SSL_CTX& to, const std::string& ca) {
    ERR_clear_error();
    if (auto there = readable("the authority", ca); !there) {
        return there;
    }
    if (SSL_CTX_load_verify_file(&to, ca.c_str()) != 1) {
        return refused("the authority", ca);
    }
    return {};
}

std::chrono::system_clock::time_point end_of(SSL_CTX& context) {
    const X509* const own = SSL_CTX_get0_certificate(&context);
    std::tm parts{};
    if (own == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(own), &parts) != 1) {
        return std::chrono::system_clock::time_point::max();
    }
    return std::chrono::system_clock::from_time_t(timegm(&parts));
}

result<tls_context> server_context(const tls_server_files& files) {
    tls_context made = make_context(TLS_server_method());
    if (!made) {
        return fail(errc::system_error, "TLS cannot be set up: " + take_openssl_error());
    }
    if (auto used = use_certificate(*made, files.cert, files.key); !used) {
        return std::unexpected(std::move(used.error()));
    }
    SSL_CTX_set_alpn_select_cb(made.get(), choose_protocol, nullptr);
    SSL_CTX_set_num_tickets(made.get(), 1);
    static constexpr unsigned char session_scope[] = "sluice";
    SSL_CTX_set_session_id_context(made.get(), session_scope, sizeof session_scope - 1);
    if (!files.client_ca.empty()) {
        if (auto trusted = trust(*made, files.client_ca); !trusted) {
            return std::unexpected(std::move(trusted.error()));
        }
        SSL_CTX_set_client_CA_list(made.get(), SSL_load_client_CA_file(files.client_ca.c_str()));
        SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return made;
}

result<tls_context> client_context(const tls_client_files& files) {
    tls_context made = make_context(TLS_client_method());
    if (!made) {
        return fail(errc::system_error, "TLS cannot be set up: " + take_openssl_error());
    }
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
    static constexpr unsigned char offered[] = "\x08http/1.1";
    SSL_CTX_set_alpn_protos(made.get(), offered, sizeof offered - 1);
    if (files.ca.empty()) {
        SSL_CTX_set_default_verify_paths(made.get());
    } else if (auto trusted = trust(*made, files.ca); !trusted) {
        return std::unexpected(std::move(trusted.error()));
    }
    if (!files.cert.empty()) {
        if (auto used = use_certificate(*made, files.cert, files.key); !used) {
            return std::unexpected(std::move(used.error()));
        }
    }
    return made;
}

/// All clients of the process, so that equal files give the same object.
struct client_registry {
    std::mutex mutex;
    std::map<tls_client_files, std::weak_ptr<tls_client>> known;

    static client_registry& instance() {
        static client_registry only;
        return only;
    }
};

}  // namespace

result<std::shared_ptr<tls_server>> tls_server::load(tls_server_files files) {
    std::shared_ptr<tls_server> made(new tls_server(std::move(files)));
    if (auto loaded = made->reload(); !loaded) {
        return std::unexpected(std::move(loaded.error()));
    }
    return made;
}

result<void> tls_server::reload() {
    auto fresh = server_context(x_files);
    if (!fresh) {
        return std::unexpected(std::move(fresh.error()));
    }
    const auto end = end_of(**fresh);
    const std::lock_guard lock(x_mutex);
    x_context = *std::move(fresh);
    x_expires_at = end;
    return {};
}

tls_context tls_server::context() const {
    const std::lock_guard lock(x_mutex);
    return x_context;
}

std::chrono::system_clock::time_point tls_server::expires_at() const {
    const std::lock_guard lock(x_mutex);
    return x_expires_at;
}

result<std::shared_ptr<tls_client>> tls_client::with(const tls_client_files& files) {
    if (files.cert.empty() != files.key.empty()) {
        return fail(
            errc::invalid_argument, "a client certificate needs its key: give both cert and key"
        );
    }
    client_registry& all = client_registry::instance();
    const std::lock_guard lock(all.mutex);
    std::weak_ptr<tls_client>& place = all.known[files];
    if (auto known = place.lock()) {
        return known;
    }
    std::shared_ptr<tls_client> made(new tls_client(files));
    if (auto loaded = made->reload(); !loaded) {
        all.known.erase(files);
        return std::unexpected(std::move(loaded.error()));
    }
    place = made;
    return made;
}

std::vector<error> tls_client::reload_all() {
    client_registry& all = client_registry::instance();
    const std::lock_guard lock(all.mutex);
    std::vector<error> problems;
    for (auto one = all.known.begin(); one != all.known.end();) {
        const auto client = one->second.lock();
        if (!client) {
            one = all.known.erase(one);
            continue;
        }
        if (auto loaded = client->reload(); !loaded) {
            problems.push_back(std::move(loaded.error()));
        }
        ++one;
    }
    return problems;
}

result<void> tls_client::reload() {
    auto fresh = client_context(x_files);
    if (!fresh) {
        return std::unexpected(std::move(fresh.error()));
    }
    const std::lock_guard lock(x_mutex);
    x_context = *std::move(fresh);
    return {};
}

tls_context tls_client::context() const {
    const std::lock_guard lock(x_mutex);
    return x_context;
}

}  // namespace sluice::net
