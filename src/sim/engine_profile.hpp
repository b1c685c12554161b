// What an iteration of a simulated engine costs, and the names under which costs are known.
//
// An iteration (one forward pass over the whole batch) takes
//     iteration + kv_token · KV tokens resident + sequence · decoding sequences
//               + prefill_token · prompt tokens computed in it
// Weights are read once an iteration, the cache once a token of every decoding request, prompt
// tokens cost arithmetic: these are the terms that the three physical limits of a GPU give.
//
// How the constants of `rtx4090-llama3-8b` were found. Three are the card's peaks and were not
// touched: 16.06 GB of weights plus a small fixed part over 1,008 GB/s, 131,072 bytes of cache a
// token over the same, 16 GFLOP a prompt token over 165 TFLOP/s. With these alone a replay of a
// recorded vLLM 0.19 run (300 requests, 2,588 blocks of 16 tokens) is 6 % too fast in everything.
// `sequence` (sampling and bookkeeping of one sequence) was raised in steps of 10 us until the
// means of time to first token and of time per output token met the record: 50 us, residuals at
// most 1 % in means, p99 and makespan. tests/unit/sim/engine_calibration_test.cpp prints them.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"

namespace sluice::sim {

/// Costs and limits of one engine on one device. All times at speed 1.
struct engine_profile {
    std::string_view name;
    std::string_view description;
    std::chrono::nanoseconds iteration{};
    std::chrono::nanoseconds kv_token{};
    std::chrono::nanoseconds sequence{};
    std::chrono::nanoseconds prefill_token{};
    /// Most tokens (one a decoding request, the rest prompt chunks) in one iteration; ≥ 1.
    std::int64_t batched_tokens = 2048;
    /// Tokens of one KV block; ≥ 1.
    std::int64_t block = 16;
    /// Longest prompt plus output.
    tokens context{32'768};
    /// Blocks that the device has when nothing else is said.
    std::int64_t blocks = 2588;
    /// From a crash until requests are taken again.
    std::chrono::nanoseconds restart{};
};

/// The default profile.
inline constexpr std::string_view default_profile_name = "rtx4090-llama3-8b";

/// All profiles, the default first.
std::span<const engine_profile> engine_profiles();

/// `not_found` lists the names that exist.
result<engine_profile> find_engine_profile(std::string_view name);

}  // namespace sluice::sim
