#include "net/address.hpp"

#include <charconv>

#include "net/client.hpp"

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

result<endpoint> parse_endpoint(std::string_view url) {
    std::string_view rest = url;
    if (const std::size_t scheme = url.find("://"); scheme != url.npos) {
        if (!iequals(url.substr(0, scheme), "http")) {
            return fail(
                errc::invalid_argument,
                "'" + std::string(url) + "': only http:// addresses can be reached"
            );
        }
        rest = url.substr(scheme + 3);
    }
    rest = rest.substr(0, rest.find_first_of("/?#"));
    auto parts = split_host_port(rest, 80);
    if (!parts) {
        return std::unexpected(std::move(parts.error()));
    }
    if (parts->host.empty() || parts->port == 0) {
        return bad(url, "host and port must be given");
    }
    return endpoint{std::move(parts->host), std::to_string(parts->port)};
}

}  // namespace sluice::net
