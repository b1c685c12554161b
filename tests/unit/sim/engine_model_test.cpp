// Single behaviours of the engine model, with times that can be checked by hand: an iteration costs
// 10 ms, a prompt token 1 ms, everything else nothing, unless a test says otherwise.

#include "sim/engine_model.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace sluice::sim::test {
namespace {

using std::chrono::milliseconds;

engine_settings plain_settings() {
    engine_settings settings;
    settings.profile.name = "hand";
    settings.profile.iteration = milliseconds(10);
    settings.profile.prefill_token = milliseconds(1);
    settings.profile.batched_tokens = 100;
    settings.profile.restart = milliseconds(500);
    settings.slots = 4;
    settings.blocks = 100;
    settings.token_events = true;
    return settings;
}

instant at_ms(std::int64_t ms) {
    return instant(milliseconds(ms));
}

struct harness {
    explicit harness(const engine_settings& settings = plain_settings()) : engine(settings) {}

    submit_outcome submit(
        std::int64_t ms, std::uint64_t id, std::int64_t prompt, std::int64_t output
    ) {
        return engine.submit(
            at_ms(ms), {engine_request_id(id), tokens(prompt), tokens(output)}, events
        );
    }
    void run() {
        while (engine.next_wakeup() != never) {
            engine.advance(engine.next_wakeup(), events);
            EXPECT_EQ(engine.check_invariants(), "");
        }
    }
    /// Time of the first event of this kind and request in ms, or -1.
    std::int64_t when(engine_event_kind kind, std::uint64_t id) const {
        for (const engine_event& event : events) {
            if (event.kind == kind && event.id == engine_request_id(id)) {
                return event.at.time_since_epoch().count() / 1000;
            }
        }
        return -1;
    }

    engine_model engine;
    std::vector<engine_event> events;
};

using enum engine_event_kind;

TEST(engine_model, one_request_is_prefilled_and_decodes_a_token_an_iteration) {
    harness h;
    ASSERT_EQ(h.submit(0, 1, 20, 3), submit_outcome::accepted);
    h.run();
    const std::vector<engine_event> expected{
        {first_token, engine_request_id(1), at_ms(30), tokens(1)},
        {token, engine_request_id(1), at_ms(40), tokens(2)},
        {token, engine_request_id(1), at_ms(50), tokens(3)},
        {finished, engine_request_id(1), at_ms(50), tokens(3)},
    };
    EXPECT_EQ(h.events, expected);
    EXPECT_EQ(h.engine.stats().finished, 1);
    EXPECT_EQ(h.engine.stats().peak_kv_tokens, tokens(32));
    EXPECT_EQ(h.engine.next_wakeup(), never);
}

TEST(engine_model, a_prompt_longer_than_the_budget_is_computed_in_chunks) {
    harness h;
    h.submit(0, 1, 250, 1);
    h.run();
    // Chunks of 100, 100 and 50 tokens: 110 + 110 + 60 ms.
    EXPECT_EQ(h.when(first_token, 1), 280);
    EXPECT_EQ(h.engine.stats().iterations, 3);
}

TEST(engine_model, decoding_goes_on_while_a_prompt_is_chunked) {
    harness h;
    h.submit(0, 1, 10, 5);   // first token at 20
    h.submit(20, 2, 99, 1);  // comes into the iteration that runs until 30
    h.run();
    EXPECT_EQ(h.when(first_token, 1), 20);
    // 99 tokens of budget beside the decoding request: one iteration of 10 + 99 ms.
    EXPECT_EQ(h.when(first_token, 2), 30 + 109);
    EXPECT_EQ(h.when(finished, 1), 30 + 109 + 10 + 10);
}

TEST(engine_model, the_cache_and_the_batch_cost_time) {
    engine_settings settings = plain_settings();
    settings.profile.kv_token = milliseconds(2);
    settings.profile.sequence = milliseconds(7);
    harness h(settings);
    h.submit(0, 1, 5, 3);
    h.run();
    EXPECT_EQ(h.when(first_token, 1), 15);
    EXPECT_EQ(h.when(token, 1), 15 + 10 + 7 + 5 * 2);
    EXPECT_EQ(h.when(finished, 1), 15 + 10 + 7 + 5 * 2 + 10 + 7 + 6 * 2);
}

TEST(engine_model, slots_bound_the_batch_and_waiting_is_first_come_first_served) {
    engine_settings settings = plain_settings();
    settings.slots = 2;
    harness h(settings);
    for (std::uint64_t id = 1; id <= 4; ++id) {
        h.submit(0, id, 10, 2);
    }
    EXPECT_EQ(h.engine.stats().running, 4);
    EXPECT_EQ(h.engine.stats().waiting, 3);  // The first iteration began before 2 came.
    h.run();
    EXPECT_LT(h.when(first_token, 2), h.when(first_token, 3));
    EXPECT_LT(h.when(first_token, 3), h.when(first_token, 4));
    EXPECT_EQ(h.engine.stats().peak_running, 4);
}

TEST(engine_model, a_prompt_is_admitted_only_when_all_of_it_fits) {
    engine_settings settings = plain_settings();
    settings.blocks = 4;  // 64 tokens
    harness h(settings);
    h.submit(0, 1, 40, 3);  // holds 3 blocks until 50 + 20 ms
    h.submit(1, 2, 17, 1);  // needs 2
    h.submit(2, 3, 1, 1);   // would fit, but is not passed over
    h.run();
    EXPECT_EQ(h.when(finished, 1), 70);
    EXPECT_EQ(h.when(first_token, 2), 70 + 10 + 17 + 1);
    EXPECT_EQ(h.when(first_token, 3), 70 + 10 + 17 + 1);
}

TEST(engine_model, the_tail_is_preempted_and_recomputed_with_its_tokens) {
    engine_settings settings = plain_settings();
    settings.blocks = 3;  // 48 tokens
    harness h(settings);
    h.submit(0, 1, 15, 20);
    h.submit(0, 2, 15, 20);
    h.run();
    EXPECT_GE(h.engine.stats().preemptions, 1);
    EXPECT_EQ(h.when(preempted, 1), -1);
    EXPECT_GT(h.when(preempted, 2), 0);
    EXPECT_EQ(h.engine.stats().finished, 2);
    std::int64_t last = 0;
    for (const engine_event& event : h.events) {
        if (event.id == engine_request_id(2) &&
            (event.kind == token || event.kind == first_token)) {
            EXPECT_EQ(event.generated.count(), ++last) << "every token comes once, in order";
        }
    }
    EXPECT_EQ(last, 20);
    EXPECT_GT(h.engine.stats().prompt_tokens, tokens(30));
    EXPECT_LE(h.engine.stats().peak_kv_tokens, tokens(48));
}

TEST(engine_model, a_full_cache_can_crash_the_engine) {
    engine_settings settings = plain_settings();
    settings.blocks = 3;
    settings.full = when_full::crash;
    harness h(settings);
    h.submit(0, 1, 15, 20);
    h.submit(0, 2, 15, 20);
    h.submit(0, 3, 40, 1);  // waits, and dies with the others
    h.run();
    EXPECT_EQ(h.engine.stats().crashes, 1);
    EXPECT_EQ(h.engine.stats().crashed_requests, 3);
    EXPECT_EQ(h.engine.stats().running, 0);
    EXPECT_EQ(h.engine.stats().kv_tokens_used, tokens(0));
    const std::int64_t died = h.when(crashed, 3);
    ASSERT_GT(died, 0);
    EXPECT_EQ(h.when(crashed, 1), died);
    EXPECT_EQ(h.submit(died + 499, 4, 1, 1), submit_outcome::restarting);
    EXPECT_TRUE(h.engine.restarting());
    EXPECT_EQ(h.submit(died + 500, 5, 1, 1), submit_outcome::accepted);
    h.run();
    EXPECT_EQ(h.when(finished, 5), died + 500 + 11);
}

TEST(engine_model, a_full_cache_can_end_the_request_that_gets_no_block) {
    engine_settings settings = plain_settings();
    settings.blocks = 3;
    settings.full = when_full::refuse;
    harness h(settings);
    EXPECT_EQ(h.submit(0, 1, 15, 20), submit_outcome::accepted);
    EXPECT_EQ(h.submit(0, 2, 15, 20), submit_outcome::accepted);
    EXPECT_EQ(h.submit(0, 3, 17, 1), submit_outcome::no_memory);
    h.run();
    EXPECT_GT(h.when(out_of_memory, 2), 0);
    EXPECT_GT(h.when(finished, 1), 0);
    EXPECT_EQ(h.engine.stats().out_of_memory, 1);
    EXPECT_EQ(h.engine.stats().refused, 1);
    EXPECT_EQ(h.engine.stats().preemptions, 0);
}

TEST(engine_model, what_can_never_fit_is_refused_at_once) {
    engine_settings settings = plain_settings();
    settings.blocks = 4;
    settings.null_block = true;  // 48 tokens usable
    harness h(settings);
    EXPECT_EQ(h.engine.capacity(), tokens(48));
    EXPECT_EQ(h.submit(0, 1, 40, 10), submit_outcome::too_large);
    EXPECT_EQ(h.submit(0, 2, quantity_limit, quantity_limit), submit_outcome::too_large);
    EXPECT_EQ(h.submit(0, 3, 40, 9), submit_outcome::accepted);  // 48 in cache and the last one
    h.run();
    EXPECT_EQ(h.engine.stats().preemptions, 0);
    EXPECT_EQ(h.engine.stats().finished, 1);
    settings.profile.context = tokens(30);
    EXPECT_EQ(harness(settings).submit(0, 1, 20, 11), submit_outcome::too_large);
}

TEST(engine_model, abort_frees_at_once_in_every_phase) {
    harness h;
    h.submit(0, 1, 10, 50);
    h.submit(5, 2, 150, 50);  // prefill in two chunks
    h.submit(6, 3, 90, 50);   // has to wait for budget
    EXPECT_EQ(h.engine.stats().waiting, 2);
    EXPECT_TRUE(h.engine.abort(at_ms(25), engine_request_id(3), h.events));  // waiting
    EXPECT_TRUE(h.engine.abort(at_ms(26), engine_request_id(2), h.events));  // in prefill
    EXPECT_EQ(h.engine.stats().kv_tokens_used, tokens(16));
    EXPECT_TRUE(h.engine.abort(at_ms(27), engine_request_id(1), h.events));  // decoding
    EXPECT_FALSE(h.engine.abort(at_ms(27), engine_request_id(1), h.events));
    EXPECT_FALSE(h.engine.abort(at_ms(27), engine_request_id(9), h.events));
    EXPECT_EQ(h.engine.stats().kv_tokens_used, tokens(0));
    EXPECT_EQ(h.engine.stats().running, 0);
    EXPECT_EQ(h.engine.stats().aborted, 3);
    h.run();
    EXPECT_EQ(h.when(finished, 1), -1);
    EXPECT_EQ(h.when(first_token, 2), -1);
}

TEST(engine_model, speed_scales_all_times) {
    engine_settings settings = plain_settings();
    settings.speed_permille = 10'000;
    harness h(settings);
    h.submit(7, 1, 20, 3);
    h.run();
    EXPECT_EQ(h.when(first_token, 1), 7 + 3);
    EXPECT_EQ(h.when(finished, 1), 7 + 5);
}

TEST(engine_model, progress_lists_what_is_under_way) {
    engine_settings settings = plain_settings();
    settings.slots = 1;
    harness h(settings);
    h.submit(0, 7, 10, 50);
    h.submit(1, 8, 10, 50);
    h.engine.advance(at_ms(45), h.events);
    const auto all = h.engine.progress();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].id, engine_request_id(7));
    EXPECT_EQ(all[0].generated, tokens(3));
    EXPECT_EQ(all[0].kv, tokens(16));
    EXPECT_FALSE(all[0].waiting);
    EXPECT_EQ(all[1].id, engine_request_id(8));
    EXPECT_TRUE(all[1].waiting);
    EXPECT_EQ(all[1].kv, tokens(0));
}

TEST(engine_model, profiles_are_found_by_name) {
    EXPECT_EQ(engine_profiles().front().name, default_profile_name);
    EXPECT_TRUE(find_engine_profile("fast").has_value());
    const auto unknown = find_engine_profile("abacus");
    ASSERT_FALSE(unknown.has_value());
    EXPECT_NE(unknown.error().message.find("rtx4090-llama3-8b, fast"), std::string::npos);
}

}  // namespace
}  // namespace sluice::sim::test
