// Values that go into and come out of the engine model (engine_model.hpp).
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "sim/engine_profile.hpp"

namespace sluice::sim {

/// Chosen by the caller; unique among the requests that have not ended.
enum class engine_request_id : std::uint64_t {};

struct engine_request {
    engine_request_id id{};
    /// Values below 1 count as 1.
    tokens prompt{1};
    /// Tokens that will be generated; values below 1 count as 1.
    tokens output{1};
};

/// What happens when a decoding request needs a block and none is free.
enum class when_full : unsigned char {
    preempt,  ///< The tail of the batch gives its blocks back and is recomputed later.
    crash,    ///< The process dies with everything in it and restarts after a delay.
    refuse,   ///< The request that gets no block ends; a prompt without free blocks is refused.
};

struct engine_settings {
    engine_profile profile;
    /// Largest batch (max_num_seqs); lowered to the profile's batched_tokens.
    std::int64_t slots = 256;
    /// KV blocks of the device.
    std::int64_t blocks = 2588;
    /// Whether one of the blocks is vLLM's null block, which no request can hold.
    bool null_block = false;
    when_full full = when_full::preempt;
    /// 1000 is real time, 20'000 twenty times faster; 1 … 1'000'000.
    std::int64_t speed_permille = 1000;
    /// Whether every token is an event, or only first tokens and ends.
    bool token_events = false;
};

enum class engine_event_kind : unsigned char {
    first_token,
    token,          ///< Only with token_events.
    finished,       ///< All tokens are out; follows the last token at the same instant.
    preempted,      ///< Back at the head of the waiting queue; its tokens stay valid.
    crashed,        ///< Ended: the engine died under it.
    out_of_memory,  ///< Ended: no block for its next token (when_full::refuse).
};

struct engine_event {
    engine_event_kind kind = engine_event_kind::token;
    engine_request_id id{};
    instant at{};
    /// Tokens of this request that are out by now.
    tokens generated{};

    friend bool operator==(const engine_event&, const engine_event&) = default;
};

enum class submit_outcome : unsigned char {
    accepted,
    too_large,   ///< Longer than the context or than all blocks together: never.
    no_memory,   ///< when_full::refuse and no blocks for the prompt now.
    restarting,  ///< After a crash.
};

/// The engine's own witness. `running` counts every accepted, unfinished request, waiting ones too.
struct engine_stats {
    std::int64_t running = 0;
    std::int64_t peak_running = 0;
    tokens kv_tokens_used{};  ///< Of whole blocks.
    tokens peak_kv_tokens{};
    std::int64_t started = 0;  ///< Accepted.
    std::int64_t finished = 0;
    std::int64_t aborted = 0;
    std::int64_t preemptions = 0;
    std::int64_t crashes = 0;

    // Beyond the witness:
    std::int64_t in_batch = 0;  ///< Of `running`: those that hold blocks.
    std::int64_t waiting = 0;
    std::int64_t crashed_requests = 0;
    std::int64_t out_of_memory = 0;
    std::int64_t refused = 0;  ///< submit() said anything but accepted.
    tokens prompt_tokens{};    ///< Computed, recomputation included.
    tokens generated_tokens{};
    std::int64_t iterations = 0;
};

/// One request that has not ended, for reports.
struct engine_progress {
    engine_request_id id{};
    tokens prompt{};
    tokens generated{};
    tokens kv{};  ///< Of whole blocks; zero while waiting.
    bool waiting = false;
};

}  // namespace sluice::sim
