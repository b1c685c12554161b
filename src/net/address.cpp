#include "net/address.hpp"

#include <algorithm>
#include <charconv>

#include "net/client.hpp"
#include "net/tls.hpp"

namespace sluice::net {

namespace {

std::unexpected<error> bad(std::string_view text, std::string_view why) {
    return fail(
        errc::invalid_argument,
        "'" + std::string(text) + "' is no address: " + std::string(why) +
            "; write host:port, for instance 127.0.0.1:8000 or [::1]:8000"
    );
}

}  // namespace

result<host_port> split_host_port(std::string_view text, unsigned default_port) {
    host_port out;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == text.npos) {
            return bad(text, "the bracket is not closed");
        }
        out.host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
        if (out.host.find(':') == std::string::npos) {
            return bad(text, "brackets hold an IPv6 address");
        }
    } else {
        const std::size_t colon = text.find(':');
        out.host = text.substr(0, colon);
        rest = colon == text.npos ? std::string_view() : text.substr(colon);
        if (rest.find(':', 1) != rest.npos) {
            return bad(text, "an IPv6 address needs brackets");
        }
    }
    for (const char c : out.host) {
        if (static_cast<unsigned char>(c) <= ' ' || c == '@' || c == '\x7f') {
            return bad(text, "the host holds a character that none has");
        }
    }
    if (rest.empty()) {
        if (default_port == 0) {
            return bad(text, "the port is missing");
        }
        out.port = default_port;
        return out;
    }
    const char* const end = rest.data() + rest.size();
    const auto [parsed, failure] = std::from_chars(rest.data() + 1, end, out.port);
    if (!rest.starts_with(':') || failure != std::errc() || parsed != end || out.port > 65535) {
        return bad(text, "the port is not a number between 0 and 65535");
    }
    return out;
}

std::string join_host_port(std::string_view host, std::string_view port) {
    std::string out;
    const bool brackets = host.find(':') != host.npos;
    out.append(brackets ? "[" : "").append(host).append(brackets ? "]:" : ":").append(port);
    return out;
}

std::string endpoint::to_string() const {
    return join_host_port(host, port);
}

namespace {

/// "%2F" in a file's name and the like.
std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            out.push_back(static_cast<char>(value));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

/// What stands behind the "?" of an https address.
result<void> secure(endpoint& to, std::string_view url, std::string_view query) {
    tls_client_files files;
    to.server_name = to.host;
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        const std::size_t equals = one.find('=');
        const std::string_view name = one.substr(0, equals);
        std::string value = equals == one.npos ? std::string() : decoded(one.substr(equals + 1));
        std::string* const place = name == "ca"            ? &files.ca
                                   : name == "cert"        ? &files.cert
                                   : name == "key"         ? &files.key
                                   : name == "server_name" ? &to.server_name
                                                           : nullptr;
        if (place == nullptr || value.empty()) {
            return fail(
                errc::invalid_argument,
                "'" + std::string(url) + "': '" + std::string(one) +
                    "' is no option; ca=FILE, cert=FILE, key=FILE and server_name=NAME are"
            );
        }
        *place = std::move(value);
    }
    auto client = tls_client::with(files);
    if (!client) {
        return fail(client.error().code, "'" + std::string(url) + "': " + client.error().message);
    }
    to.tls = *std::move(client);
    return {};
}

}  // namespace

result<endpoint> parse_endpoint(std::string_view url) {
    std::string_view rest = url;
    bool secured = false;
    if (const std::size_t scheme = url.find("://"); scheme != url.npos) {
        secured = iequals(url.substr(0, scheme), "https");
        if (!secured && !iequals(url.substr(0, scheme), "http")) {
            return fail(
                errc::invalid_argument,
                "'" + std::string(url) + "': only http:// and https:// addresses can be reached"
            );
        }
        rest = url.substr(scheme + 3);
    }
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    auto parts = split_host_port(authority, secured ? 443 : 80);
    if (!parts) {
        return std::unexpected(std::move(parts.error()));
    }
    if (parts->host.empty() || parts->port == 0) {
        return bad(url, "host and port must be given");
    }
    endpoint to{std::move(parts->host), std::to_string(parts->port), nullptr, {}};
    if (secured) {
        rest = rest.substr(0, rest.find('#'));
        const std::size_t query = rest.find('?');
        const auto done =
            secure(to, url, query == rest.npos ? std::string_view() : rest.substr(query + 1));
        if (!done) {
            return std::unexpected(done.error());
        }
    }
    return to;
}

}  // namespace sluice::net
