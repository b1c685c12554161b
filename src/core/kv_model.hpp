// What the KV cache of a model costs, from the numbers of its configuration.
//
// Pure arithmetic; reading a config.json is the caller's business. Used by `sluice kv` and by the
// gateway at start-up, any thread.
//
// Invariants
//  1. Never a guess: a number that is missing, zero, absurd or contradictory, and every trait that
//     this model does not cover, is `not_found` ("unknown") with the reason.
//  2. All figures are per GPU. With more ranks than KV heads the heads are copied, not divided.
//  3. Only whole blocks are allocated: kv_need rounds up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"

namespace sluice::core {

/// Element type of the cache.
enum class kv_element : std::uint8_t { fp16, bf16, fp8, int8 };
std::int64_t bytes_of(kv_element element);

/// How queries share keys and values.
enum class kv_family : std::uint8_t {
    mha,  ///< Every query head has its own.
    gqa,  ///< Groups of query heads share.
    mqa,  ///< All share one.
};
std::string_view to_string(kv_family family);

/// The numbers of the language model in a configuration; empty: not given.
struct model_shape {
    std::optional<std::int64_t> layers;
    std::optional<std::int64_t> hidden_size;
    std::optional<std::int64_t> attention_heads;
    std::optional<std::int64_t> kv_heads;   ///< Absent: as many as attention_heads.
    std::optional<std::int64_t> head_dim;   ///< Absent: hidden_size / attention_heads.
    std::optional<std::int64_t> value_dim;  ///< Where values differ from keys.
    /// Why the plain formula would be wrong for this model ("it keeps a latent (kv_lora_rank)").
    std::optional<std::string> beyond_plain;
};

/// The cost of one sequence.
struct kv_model {
    kv_family family = kv_family::mha;
    bytes bytes_per_token;  ///< Over all layers, on one GPU.
    bytes fixed_bytes;      ///< State of a sequence that does not grow; plain families have none.
    std::int64_t tensor_parallel = 1;

    /// Bytes that a sequence of `length` occupies when blocks hold `block` ≥ 1 tokens.
    bytes kv_need(tokens length, std::int64_t block) const {
        const tokens rounded = round_up_to_block(length, block);
        return bytes_per_token * rounded.count() + fixed_bytes;
    }
};

/// `not_found`: the model is unknown. `invalid_argument`: `tensor_parallel` (≥ 1) cannot split it.
result<kv_model> make_kv_model(
    const model_shape& shape, kv_element element, std::int64_t tensor_parallel = 1
);

}  // namespace sluice::core
