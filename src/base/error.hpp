// Expected failures as values: one enum, one error type, one result alias.
//
// Decisions (queued, refused, expired) are not errors: they are ordinary values of the core.
// What a person reads is `message`: what happened, to what, what to do.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Why an operation failed. Append only; names are part of logs.
enum class errc {
    invalid_argument,   ///< The caller's input can never work; the message names the part.
    not_found,          ///< The named thing does not exist.
    already_exists,     ///< The name is taken (a worker id, a listening port).
    not_held,           ///< Release or renewal of a permit that the caller does not hold.
    permit_expired,     ///< The permit ran out before the call.
    stale_epoch,        ///< The call names an earlier incarnation of a worker.
    limit_exceeded,     ///< A configured bound (size, count, time) was passed.
    timed_out,          ///< A bounded wait ended.
    cancelled,          ///< The caller gave up.
    connection_failed,  ///< A peer cannot be reached or went away.
    protocol_error,     ///< A peer sent what the protocol forbids.
    unavailable,        ///< A store or service is away for now.
    corrupt_input,      ///< A file or recording cannot be read as what it claims to be.
    system_error,       ///< The operating system refused; the message carries its words.
};

/// Snake-case name of `code`, as it appears in logs.
std::string_view to_string(errc code);

/// Whether the same call may succeed later without any change.
bool is_retryable(errc code);
/// Whether the failure says that a peer or store is away.
bool is_unavailable(errc code);

/// A failure with its explanation.
struct error {
    errc code = errc::invalid_argument;
    std::string message;

    friend bool operator==(const error&, const error&) = default;
};

template <class Value>
using result = std::expected<Value, error>;

/// `return fail(errc::not_found, "pool 'x' is not configured; add it under pools:")`
inline std::unexpected<error> fail(errc code, std::string message) {
    return std::unexpected(error{code, std::move(message)});
}

}  // namespace sluice
