// One request and the verdict over its answer.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "net/abort.hpp"
#include "net/asio.hpp"
#include "net/client.hpp"

namespace sluice::load {

using load_clock = std::chrono::steady_clock;

enum class verdict : std::uint8_t {
    ok,
    refused,     ///< A complete answer of another status than 200; `reason` is its code.
    broken,      ///< 200, and then not what the API promises.
    unanswered,  ///< No head of an answer came.
};

struct answer {
    verdict how = verdict::unanswered;
    std::string reason;
    load_clock::time_point sent;
    load_clock::time_point first;  ///< First content event; only when content_events > 0.
    load_clock::time_point last;   ///< Last content event.
    load_clock::time_point ended;
    std::uint64_t content_events = 0;
    std::int64_t output_tokens = 0;
    std::optional<double> queue_s;
};

struct question {
    std::string_view method = "POST";
    std::string_view target;
    std::span<const net::header_field> fields;
    std::string_view body;
    bool exact_usage = true;
};

/// Sends `what` and reads its answer to the end. `signal` ends it early (unanswered, or broken when
/// the answer had begun). A stale pooled connection is replaced once. A cancellation of the
/// coroutine itself leaves a closed connection behind.
net::task<answer> ask(
    net::client_pool& pool,
    const net::endpoint& to,
    const question& what,
    duration connect_timeout,
    net::abort_signal& signal
);

/// Name of the first model that GET <prefix>/v1/models lists.
net::task<result<std::string>> first_model(
    net::client_pool& pool,
    const net::endpoint& to,
    std::string_view prefix,
    std::span<const net::header_field> fields,
    duration connect_timeout
);

}  // namespace sluice::load
