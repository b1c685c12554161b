// What the reference scheduler remembers, as plain values, and the faults planted in it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.hpp"

namespace sluice::core::reference {

/// Faults that the checkers must find (canaries).
struct planted {
    std::uint32_t extra_slots = 0;   ///< Believes in so many slots more than there are.
    bool forgets_unlisted = false;   ///< Takes g(row) without subtracting unlisted permits.
    bool newest_first = false;       ///< Walks every class backwards.
    bool sleeps_on_release = false;  ///< Grants nothing in the step of a release.
    bool repeats_tokens = false;     ///< Does not raise the token.
    bool never_reserves = false;     ///< Lets itself be passed by without end.
    bool releases_twice = false;     ///< States a second end for what was released.
    bool unbounded_queue = false;    ///< Never says queue_full.
};

struct waiting_ticket {
    ticket_id id;
    priority cls = priority::normal;
    std::uint32_t moved_up = 0;
    bytes prompt_kv;
    bytes peak_kv;
    tokens predicted;
    bytes queued_bytes;
    std::vector<std::string> hints;
    instant arrival;
    instant deadline;
    std::uint64_t order_key = 0;
    std::uint64_t learned = 0;
    std::uint32_t passed_by = 0;
    /// Worker and how much news it had given when the ticket came back from it.
    std::optional<std::pair<worker_number, std::uint64_t>> avoids;
    std::optional<worker_number> reserved;
    /// It wanted to reserve once and could not (the bound of passed_by does not hold for it).
    bool reserve_failed = false;
};

struct running_permit {
    waiting_ticket what;
    worker_number worker{};
    worker_epoch epoch{};
    std::uint32_t slot = 0;
    fencing_token token{};
    /// Tokens under which reports may list it, besides its own (adoption).
    std::optional<fencing_token> old_token;
    instant granted;
    instant expires;
    bool trial = false;
};

struct kept_slot {
    fencing_token token{};
    std::uint32_t slot = 0;
};

struct known_worker {
    std::string id;
    worker_number number{};
    worker_epoch epoch{};
    bool present = true;
    bool draining = false;
    bool suspect = false;
    bool trial_open = false;
    std::uint32_t slots = 0;
    bytes capacity;
    bool reports = false;
    std::uint64_t last_token = 0;
    std::optional<report> last;
    instant reported_at;
    /// Reports and probes so far: ends avoidance.
    std::uint64_t news = 0;
    /// Listed tokens whose permit ended.
    std::vector<kept_slot> kept;
    std::optional<ticket_id> reserved_for;
};

}  // namespace sluice::core::reference
