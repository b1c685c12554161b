#include "openai/errors.hpp"

#include "base/assert.hpp"
#include "base/json_text.hpp"

namespace sluice::openai {

namespace {

struct entry {
    reason why;
    std::string_view name;
    int status;
    bool retryable;
};

// In order of declaration: the enum is the index.
constexpr std::array<entry, reason_count> entries{{
    {reason::ok, "ok", 200, false},
    {reason::bad_request, "bad_request", 400, false},
    {reason::too_large, "too_large", 400, false},
    {reason::unauthorized, "unauthorized", 401, false},
    {reason::model_not_found, "model_not_found", 404, false},
    {reason::stale_permit, "stale_permit", 409, false},
    {reason::no_permit, "no_permit", 409, false},
    {reason::permit_expired, "permit_expired", 409, false},
    {reason::not_held, "not_held", 409, false},
    {reason::body_too_large, "body_too_large", 413, false},
    {reason::queue_full, "queue_full", 429, true},
    {reason::quota_requests, "quota_requests", 429, true},
    {reason::quota_tokens, "quota_tokens", 429, true},
    {reason::tenant_concurrency, "tenant_concurrency", 429, true},
    {reason::shed, "shed", 429, true},
    {reason::deadline_unreachable, "deadline_unreachable", 429, true},
    {reason::client_gone, "client_gone", 499, false},
    {reason::worker_failed, "worker_failed", 502, true},
    {reason::upstream_error, "upstream_error", 502, true},
    {reason::queue_timeout, "queue_timeout", 503, true},
    {reason::no_worker, "no_worker", 503, true},
    {reason::backend_lost, "backend_lost", 503, true},
    {reason::draining, "draining", 503, true},
    {reason::headroom, "headroom", 503, true},
    {reason::first_token_timeout, "first_token_timeout", 504, true},
    {reason::idle_timeout, "idle_timeout", 504, true},
    {reason::total_timeout, "total_timeout", 504, true},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (static_cast<std::size_t>(entries[i].why) != i) {
            return false;
        }
    }
    return true;
}
static_assert(in_order());

const entry& look_up(reason why) {
    const auto index = static_cast<std::size_t>(why);
    SLUICE_ASSERT(index < entries.size());
    return entries[index];
}

}  // namespace

const std::array<reason, reason_count>& all_reasons() {
    static constexpr auto all = [] {
        std::array<reason, reason_count> list{};
        for (std::size_t i = 0; i < list.size(); ++i) {
            list[i] = entries[i].why;
        }
        return list;
    }();
    return all;
}

std::string_view to_string(reason why) {
    return look_up(why).name;
}

std::optional<reason> reason_from(std::string_view name) {
    for (const entry& each : entries) {
        if (each.name == name) {
            return each.why;
        }
    }
    return std::nullopt;
}

int default_status(reason why) {
    return look_up(why).status;
}

bool is_retryable(reason why) {
    return look_up(why).retryable;
}

std::string_view error_type(int status) {
    switch (status) {
        case 401:
            return "authentication_error";
        case 403:
            return "permission_error";
        case 429:
            return "rate_limit_error";
        default:
            return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

std::string error_body(
    reason why,
    std::string_view message,
    std::string_view param,
    std::string_view details,
    int status
) {
    std::string out = R"({"error":{"message":)";
    append_json_text(out, message);
    out += R"(,"type":)";
    append_json_text(out, error_type(status == 0 ? default_status(why) : status));
    out += R"(,"param":)";
    if (param.empty()) {
        out += "null";
    } else {
        append_json_text(out, param);
    }
    out += R"(,"code":)";
    append_json_text(out, to_string(why));
    if (!details.empty()) {
        out += R"(,"sluice":)";
        out += details;
    }
    out += "}}";
    return out;
}

std::string error_event(reason why, std::string_view message) {
    return "data: " + error_body(why, message) + "\n\n";
}

}  // namespace sluice::openai
