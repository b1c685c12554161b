// Faults on demand: what `--faults SPEC` says, so that a test can have a worker that misbehaves in
// exactly one way.
//
// SPEC is a comma-separated list. A fault of requests may carry a selector, `@n` (only the n-th
// request that wants tokens, from 1) or `%p` (p percent of them, chosen by a fixed seed); without
// one it hits every request.
//
//     status=500@3         answer with this status (400 … 599) instead of tokens
//     slow_headers=200ms   nothing is sent before this time is over
//     hang_before_first    the response head is sent, then nothing
//     hang_after=5         five tokens, then nothing (whole answers: nothing at all)
//     close_after=5%1      five tokens, then the connection is cut (whole answers: cut)
//
// The model does not know: such a request runs to its end inside, or until its client leaves.
// Faults of the whole engine:
//
//     refuse_connect[=2s]  the port is taken but nobody listens, for this long or for good
//     garbage_status       every connection is answered with a line that is not HTTP
//     crash@10s            the engine dies this long after its start, with all requests in it
//
// Durations are whole numbers with us, ms or s.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace sluice::engine {

/// What one request has to suffer.
struct request_faults {
    std::optional<int> status;
    duration slow_headers{};
    bool hang_before_first = false;
    std::optional<std::int64_t> hang_after;   ///< Tokens.
    std::optional<std::int64_t> close_after;  ///< Tokens.
};

class fault_plan {
public:
    fault_plan() = default;

    /// `invalid_argument` names the entry and what was expected.
    static result<fault_plan> parse(std::string_view spec);

    /// The faults of the `number`-th request, from 1. Deterministic.
    request_faults for_request(std::int64_t number) const;

    /// How long nobody listens; `duration::max()` is for good.
    std::optional<duration> refuse_connect;
    bool garbage_status = false;
    /// After the start.
    std::vector<duration> crashes;

private:
    enum class kind : unsigned char {
        status,
        slow_headers,
        hang_before_first,
        hang_after,
        close_after,
    };
    struct entry {
        kind what = kind::status;
        std::int64_t value = 0;  ///< Status, tokens or microseconds.
        std::int64_t only = 0;   ///< The n of @n, or 0.
        std::int64_t percent = 100;
    };
    struct words;

    result<void> add(std::string_view text);
    result<void> add_request_fault(const words& parts);

    std::vector<entry> x_entries;
};

}  // namespace sluice::engine
