// What an engine with vLLM's metric names says of itself on GET /metrics.
//
// Pure. A figure that is absent, not a number or infinite is unknown, never zero (B22); where vLLM
// renamed a figure, the newer name wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.hpp"

namespace sluice::worker {

struct vllm_figures {
    std::optional<std::int64_t> running;
    std::optional<std::int64_t> waiting;
    std::optional<double> kv_use;  ///< Share of the KV cache, 0 … 1.
    std::optional<std::int64_t> block_size;
    std::optional<std::int64_t> num_gpu_blocks;
    /// Largest batch. vLLM does not say it; the simulated engine does (sluice_engine_slots).
    std::optional<std::int64_t> max_num_seqs;

    /// The whole KV cache; nothing when unknown.
    std::optional<tokens> kv_tokens() const;
    /// Whether the page was such an engine's at all.
    bool known() const { return running || waiting || kv_use || num_gpu_blocks; }
};

vllm_figures read_vllm_page(std::string_view page);

}  // namespace sluice::worker
