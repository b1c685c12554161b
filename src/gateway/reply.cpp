#include "gateway/reply.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/request_labels.hpp"

namespace sluice::gateway {

namespace {

constexpr duration usual_retry_after = std::chrono::seconds(1);

/// Whole seconds, rounded up, at least one.
std::int64_t whole_seconds(duration span) {
    return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(span).count(), 1);
}

std::int64_t whole_millis(duration span) {
    return std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(span).count(), 1);
}

/// Refusals of a request that would be welcome later say when.
bool says_when(openai::reason why, int status) {
    return openai::is_retryable(why) && (status == 429 || status == 503);
}

std::string details_of(const refusal& why) {
    return fmt::format(
        R"({{"position":{},"queue_length":{},"eta_ms":{}}})",
        why.queue_length + 1,
        why.queue_length,
        whole_millis(why.retry_after)
    );
}

bool speaks_of_queue(openai::reason why) {
    return why == openai::reason::queue_full || why == openai::reason::queue_timeout;
}

}  // namespace

std::string refusal_message(const refusal& why, const pool& of) {
    const std::string& name = of.options.name;
    switch (why.why) {
        case openai::reason::too_large:
            return fmt::format(
                "the request needs more memory than any worker of pool '{}' has; shorten the "
                "prompt or lower the output limit",
                name
            );
        case openai::reason::queue_full:
            return fmt::format(
                "the queue of pool '{}' is full ({} waiting); retry after the time in Retry-After",
                name,
                why.queue_length
            );
        case openai::reason::queue_timeout:
            return fmt::format(
                "no worker of pool '{}' became free in time ({} waiting); retry later or send "
                "x-sluice-timeout-ms to wait longer",
                name,
                why.queue_length
            );
        case openai::reason::no_worker:
            return fmt::format("pool '{}' has no worker; retry when one is registered", name);
        case openai::reason::draining:
            return "this gateway is shutting down; retry, another one will answer";
        default:
            return fmt::format("pool '{}' cannot admit requests now; retry later", name);
    }
}

std::string request_id_for(hall& in, const net::exchange& with) {
    if (const auto given = usable_request_id(with.request())) {
        return std::string(*given);
    }
    random_source& ids = in.thread(with.thread_index()).ids;
    const std::uint64_t high = ids.next();
    return make_request_id(high, ids.next());
}

void add_request_fields(field_list& fields, const request_record& record) {
    if (!record.id.empty()) {
        fields.borrow("x-request-id", record.id);
    }
    if (!record.worker.empty()) {
        fields.borrow("x-sluice-worker", record.worker);
        fields.add("x-sluice-attempts", record.attempts);
    }
    if (record.in != nullptr) {
        fields.add_real("x-sluice-queue-ms", record.queue_ms(request_record::clock::now()));
    }
    if (record.lowered) {
        fields.borrow("x-sluice-class", core::to_string(record.cls));
    }
}

net::task<void> answer_failure(
    net::exchange& with, hall& in, request_record& record, failure what
) {
    const int status = what.status != 0 ? what.status : in.status_of(what.why);
    record.outcome = what.why;
    record.status = status;
    const bool queue = what.from_queue && speaks_of_queue(what.why);
    const std::string body = openai::error_body(
        what.why,
        what.message,
        what.param,
        queue ? details_of(*what.from_queue) : std::string(what.details),
        status
    );
    field_list fields;
    fields.borrow("content-type", "application/json");
    fields.borrow("x-sluice-reason", openai::to_string(what.why));
    add_request_fields(fields, record);
    if (what.why == openai::reason::unauthorized) {
        fields.borrow("www-authenticate", "Bearer");
    }
    if (!what.allow.empty()) {
        fields.borrow("allow", what.allow);
    }
    if (says_when(what.why, status)) {
        const duration after = what.from_queue && what.from_queue->retry_after > duration::zero()
                                   ? what.from_queue->retry_after
                                   : usual_retry_after;
        fields.add("retry-after", whole_seconds(after));
        fields.add("retry-after-ms", whole_millis(after));
    } else if (!openai::is_retryable(what.why)) {
        fields.borrow("x-should-retry", "false");
    }
    co_await with.respond(status, fields.fields(), body);
}

}  // namespace sluice::gateway
