// B13, B14: what a request is charged.
#include "gateway/admission_cost.hpp"

#include <gtest/gtest.h>

namespace sluice::gateway {
namespace {

openai::request_facts facts(std::int64_t prompt, std::int64_t limit, std::int64_t sequences = 1) {
    openai::request_facts made;
    made.prompt = tokens(prompt);
    made.longest_prompt = tokens(prompt);
    made.output_limit = tokens(limit);
    made.sequences = sequences;
    return made;
}

TEST(admission_cost, whole_blocks) {
    EXPECT_EQ(cost_of(facts(4, 12), {}).peak_kv, bytes(16));
    EXPECT_EQ(cost_of(facts(5, 12), {}).peak_kv, bytes(32));
    EXPECT_EQ(cost_of(facts(5, 12), {}).prompt_kv, bytes(16));
    EXPECT_EQ(cost_of(facts(5, 12), {.block = 1}).peak_kv, bytes(17));
    EXPECT_EQ(cost_of(facts(5, 12), {.per_token = bytes(1000)}).peak_kv, bytes(32'000));
    EXPECT_EQ(cost_of(facts(5, 12), {}).predicted, tokens(12));
}

TEST(admission_cost, b13_every_sequence_counts) {
    const auto four = cost_of(facts(10, 100, 4), {});
    EXPECT_EQ(four.predicted, tokens(400));
    EXPECT_GE(four.peak_kv, bytes(410));
    EXPECT_LT(four.peak_kv, bytes(410 + 5 * 16));
}

TEST(admission_cost, b13_embeddings_have_no_output_part) {
    openai::request_facts many = facts(5120, 1, 512);
    many.prompts = 512;
    many.has_output = false;
    many.output_limit.reset();
    EXPECT_EQ(cost_of(many, {}).peak_kv, bytes(5120));
    EXPECT_EQ(cost_of(many, {}).predicted, tokens(0));
}

TEST(admission_cost, b14_the_context_clamps) {
    const auto clamped = cost_of(facts(1000, 65'536), {.context = tokens(8192)});
    EXPECT_EQ(clamped.predicted, tokens(7192));
    EXPECT_EQ(clamped.peak_kv, bytes(8192));
    openai::request_facts none = facts(1000, 1);
    none.output_limit.reset();
    EXPECT_EQ(cost_of(none, {.default_output = tokens(512)}).predicted, tokens(512));
}

TEST(admission_cost, b13_hostile_numbers_saturate_and_never_wrap) {
    const auto huge =
        cost_of(facts(quantity_limit, quantity_limit, 128), {.per_token = bytes(1'000'000)});
    EXPECT_EQ(huge.peak_kv, bytes::max());
    EXPECT_GE(huge.peak_kv, huge.prompt_kv);
    EXPECT_GT(huge.prompt_kv, bytes(0));
}

}  // namespace
}  // namespace sluice::gateway
