#include "gateway/admission_cost.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

/// `count` tokens spread evenly over `sequences`, each in whole blocks.
tokens in_blocks(tokens count, std::int64_t sequences, std::int64_t block) {
    const std::int64_t each = (count.count() + sequences - 1) / sequences;
    return round_up_to_block(tokens(each), block) * sequences;
}

}  // namespace

admission_cost cost_of(const openai::request_facts& facts, const cost_rules& rules) {
    const tokens output = openai::reserved_output(facts, rules.context, rules.default_output);
    // Without output an engine takes the inputs one batch after the other: their sum is the bound.
    const std::int64_t sequences =
        facts.has_output ? std::max<std::int64_t>(facts.sequences, 1) : 1;
    const tokens prompt = round_up_to_block(facts.prompt, rules.block);
    const tokens peak = std::max(in_blocks(facts.prompt + output, sequences, rules.block), prompt);
    const std::int64_t per_token = rules.per_token.count();
    return {
        .prompt_kv = bytes(prompt.count()) * per_token,
        .peak_kv = bytes(peak.count()) * per_token,
        .predicted = output,
    };
}

}  // namespace sluice::gateway
