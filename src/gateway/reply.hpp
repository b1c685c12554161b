// Answers that the gateway gives itself: refusals and errors in the OpenAI shape, with the headers
// that clients read (x-sluice-reason, Retry-After, retry-after-ms, x-should-retry).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/field_list.hpp"
#include "gateway/hall.hpp"
#include "gateway/request_record.hpp"
#include "net/server.hpp"

namespace sluice::gateway {

struct failure {
    openai::reason why = openai::reason::bad_request;
    std::string message{};
    std::string param{};
    int status = 0;                       ///< Zero: as the reason says.
    std::optional<refusal> from_queue{};  ///< Adds error.sluice and Retry-After.
    std::string_view allow{};             ///< For 405.
    std::string_view details{};           ///< JSON of error.sluice; a literal.
};

/// What a person reads of a refusal by the queue.
std::string refusal_message(const refusal& why, const pool& of);

/// The client's x-request-id when it is usable, or a new one.
std::string request_id_for(hall& in, const net::exchange& with);

/// Fields that every answer of a known request carries.
void add_request_fields(field_list& fields, const request_record& record);

/// Sends the error and notes outcome and status in `record`.
net::task<void> answer_failure(net::exchange& with, hall& in, request_record& record, failure what);

}  // namespace sluice::gateway
