// HTTP/1.1 heads as plain values. Views point into the connection's buffer and live as long as the
// exchange; whoever needs them longer copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

struct header_field {
    std::string_view name;
    std::string_view value;
};

/// ASCII case-insensitive equality, as field names want it.
bool iequals(std::string_view a, std::string_view b);

/// First value of `name` among `fields`, or nothing.
std::optional<std::string_view> find_field(
    std::span<const header_field> fields, std::string_view name
);

struct request_head {
    std::string_view method;
    std::string_view target;
    /// 10 or 11.
    int version = 11;
    std::vector<header_field> fields;
    std::optional<std::uint64_t> content_length;
    bool chunked = false;
    bool keep_alive = true;
    bool expect_continue = false;

    std::optional<std::string_view> field(std::string_view name) const {
        return find_field(fields, name);
    }
};

struct response_head {
    int status = 0;
    std::string_view reason;
    int version = 11;
    std::vector<header_field> fields;
    std::optional<std::uint64_t> content_length;
    bool chunked = false;
    bool keep_alive = true;

    std::optional<std::string_view> field(std::string_view name) const {
        return find_field(fields, name);
    }
};

/// Whether a proxy must drop this field (RFC 9110 7.6.1: Connection and what it usually names,
/// Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade).
bool is_hop_by_hop(std::string_view name);

/// Standard reason phrase, or "" for an unknown status.
std::string_view reason_phrase(int status);

}  // namespace sluice::net
