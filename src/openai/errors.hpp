// The one place that names every reason for which Sluice refuses or fails a request, with its
// status, and that prints errors as OpenAI clients read them.
//
// Called wherever an answer other than the worker's is given; pure functions.
//  1. Every text returned is valid UTF-8 and valid JSON whatever bytes the arguments hold (B40).
//  2. Names are public (header x-sluice-reason, error.code, metric label): append only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::openai {

/// Why a request ended. Status defaults in brackets; `status_map:` of the configuration changes
/// them.
enum class reason {
    ok,                    ///< [200] answered.
    bad_request,           ///< [400] the body or a parameter can never work.
    too_large,             ///< [400] more memory than any worker of the pool has.
    unauthorized,          ///< [401] no key, or an unknown one.
    model_not_found,       ///< [404] no pool serves the model.
    stale_permit,          ///< [409] the permit names an earlier epoch or fencing token.
    no_permit,             ///< [409] the agent wants a permit and none came.
    permit_expired,        ///< [409] the permit ran out.
    not_held,              ///< [409] release of a permit that the caller does not hold.
    body_too_large,        ///< [413] over limits.body_bytes.
    queue_full,            ///< [429] the pool's queue is at its length or bytes.
    quota_requests,        ///< [429] requests a minute are spent.
    quota_tokens,          ///< [429] tokens a minute are spent.
    tenant_concurrency,    ///< [429] the tenant's own cap is reached.
    shed,                  ///< [429] dropped under overload.
    deadline_unreachable,  ///< [429] would start after its deadline.
    client_gone,           ///< [499] log only: the client left.
    worker_failed,         ///< [502] connection refused, cut, or a stream without its end.
    upstream_error,        ///< [502] the worker answered with an error or with nonsense.
    queue_timeout,         ///< [503] waited queue.timeout.
    no_worker,             ///< [503] no worker of the pool is up.
    backend_lost,          ///< [503] the coordination store is away.
    draining,              ///< [503] this gateway is shutting down.
    headroom,              ///< [503] the agent had no memory left at its door.
    first_token_timeout,   ///< [504] no first token in time.
    idle_timeout,          ///< [504] silence inside the answer.
    total_timeout,         ///< [504] the whole answer took too long.
};

inline constexpr std::size_t reason_count = 27;
/// Every reason, in order of declaration.
const std::array<reason, reason_count>& all_reasons();

std::string_view to_string(reason why);
/// The reason called `name`, as configuration files write it.
std::optional<reason> reason_from(std::string_view name);
int default_status(reason why);
/// Whether the same request may succeed later. False: the answer carries x-should-retry: false.
bool is_retryable(reason why);
/// The `type` of the OpenAI error object that belongs to an HTTP status.
std::string_view error_type(int status);

/// {"error":{"message","type","param","code"}}. `param` empty: null. `details`, when not empty, is
/// the JSON value of error.sluice ({position, queue_length, …}) and must be valid JSON; `status`
/// zero means the default one (it decides `type`).
std::string error_body(
    reason why,
    std::string_view message,
    std::string_view param = {},
    std::string_view details = {},
    int status = 0
);

/// The same as one server-sent event, `data: {"error":…}\n\n`: how a stream that has begun fails.
std::string error_event(reason why, std::string_view message);

}  // namespace sluice::openai
