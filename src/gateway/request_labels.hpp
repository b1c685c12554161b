// What the head of a request says beside its method and target: id, class, tenant, patience, trace.
//
// Pure. Nothing that a client sends goes further than it was checked for here: ids and tenants are
// bounded, visible ASCII.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "core/types.hpp"
#include "net/http.hpp"
#include "openai/inspect.hpp"

namespace sluice::gateway {

inline constexpr std::size_t max_request_id = 128;
inline constexpr std::size_t max_tenant = 64;
/// Longest time in the queue that a client may ask for.
inline constexpr duration max_patience = std::chrono::hours(1);

struct request_labels {
    core::priority cls = core::priority::normal;
    bool class_given = false;  ///< By header; a body's priority does not change it then.
    core::priority most = core::priority::high;  ///< What the key allows; apply() sets it.
    bool lowered = false;                        ///< The class was above it.
    std::string tenant;
    std::optional<duration> patience;  ///< x-sluice-timeout-ms
};

/// The client's x-request-id when it is usable, or nothing.
std::optional<std::string_view> usable_request_id(const net::request_head& head);

/// Reads the x-sluice-* fields. The error names the field and what is allowed. A client that may
/// not name tenants is not heard on them.
std::expected<request_labels, openai::bad_request> read_labels(
    const net::request_head& head, bool names_tenants = true
);

/// The class that a body's whole-number `priority` stands for.
core::priority class_of(std::int64_t priority, config::body_priority_mode mode);

/// Takes a body's `priority` for the class, unless a header has named one or it says nothing (0,
/// or mode off).
void take_body_priority(
    request_labels& labels, std::int64_t priority, config::body_priority_mode mode
);

/// A class above what the key allows is lowered to that.
void lower_to_most(request_labels& labels);

/// Whether `value` is a traceparent (W3C Trace Context, version 00 or a later one's prefix).
bool is_traceparent(std::string_view value);

/// Thirty-two hexadecimal digits out of two numbers.
std::string make_request_id(std::uint64_t high, std::uint64_t low);

}  // namespace sluice::gateway
