// What a request is charged: KV cache of its prompt, and of its prompt with all of its output.
//
// Pure. Whole blocks a sequence, because engines hand memory out so; bytes where the pool knows
// what a token costs, one byte a token elsewhere. Answers to one prompt share its blocks.
#pragma once

#include <optional>

#include "base/units.hpp"
#include "openai/inspect.hpp"

namespace sluice::gateway {

struct cost_rules {
    std::int64_t block = 16;          ///< Tokens, ≥ 1.
    bytes per_token = bytes(1);       ///< ≥ 1
    std::optional<tokens> context{};  ///< Nothing: not known.
    tokens default_output{512};
};

struct admission_cost {
    bytes prompt_kv;
    bytes peak_kv;
    tokens predicted;  ///< Output of all sequences together.
};

admission_cost cost_of(const openai::request_facts& facts, const cost_rules& rules);

}  // namespace sluice::gateway
