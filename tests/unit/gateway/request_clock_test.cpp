#include "gateway/request_clock.hpp"

#include <gtest/gtest.h>

namespace sluice::gateway {
namespace {

using namespace std::chrono_literals;

class first_answer : public ::testing::Test {
protected:
    first_answer() {
        limits.first_token = 60s;
        facts.has_output = true;
        facts.prompt = tokens(1000);
        facts.longest_prompt = tokens(1000);
        rules.context = tokens(8192);
    }
    std::optional<duration> limit() const { return first_answer_limit(limits, facts, rules); }

    config::timeout_options limits;
    openai::request_facts facts;
    cost_rules rules;
};

TEST_F(first_answer, of_a_stream_is_the_first_token) {
    facts.stream = true;
    facts.output_limit = tokens(4000);
    EXPECT_EQ(limit(), 60s);
}

TEST_F(first_answer, of_a_whole_answer_has_the_time_of_its_tokens) {
    facts.output_limit = tokens(2000);
    EXPECT_EQ(limit(), 60s + 200s);
    facts.output_limit = tokens(4);
    EXPECT_EQ(limit(), 60s + 400ms);
}

TEST_F(first_answer, without_a_limit_is_bounded_by_the_room_in_the_context) {
    EXPECT_EQ(limit(), 60s + 7192 * 100ms);
    facts.output_limit = tokens(1'000'000);
    EXPECT_EQ(limit(), 60s + 7192 * 100ms);
    rules.context = {};
    facts.output_limit = {};
    EXPECT_EQ(limit(), 60s + 4096 * 100ms);
}

TEST_F(first_answer, of_embeddings_has_no_tokens_to_wait_for) {
    facts.has_output = false;
    EXPECT_EQ(limit(), 60s);
}

TEST_F(first_answer, is_unlimited_where_the_pool_says_so) {
    limits.first_token = {};
    EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(first_answer, does_not_wrap) {
    rules.context = {};
    facts.output_limit = tokens::max();
    EXPECT_EQ(limit(), 60s + 4096 * 100ms);
    rules.context = tokens::max();
    EXPECT_GT(*limit(), 60s);
}

}  // namespace
}  // namespace sluice::gateway
