// Random histories: the model against the plain reference, event by event, and its own invariants
// after every input.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "base/random.hpp"
#include "sim/engine_model.hpp"
#include "unit/sim/engine_reference.hpp"

namespace sluice::sim::test {
namespace {

instant at_us(std::int64_t us) {
    return instant(duration(us));
}

engine_settings random_settings(random_source& random) {
    engine_settings settings;
    settings.profile = *find_engine_profile("fast");
    settings.profile.batched_tokens = random.between(8, 200);
    settings.profile.block = random.chance(1, 2) ? 16 : random.between(1, 20);
    settings.profile.kv_token = std::chrono::nanoseconds(random.between(0, 5000));
    settings.slots = random.between(1, 8);
    settings.blocks = random.between(4, 60);
    settings.null_block = random.chance(1, 2);
    settings.full = static_cast<when_full>(random.below(3));
    settings.speed_permille = random.chance(1, 2) ? 1000 : random.between(1, 60'000);
    return settings;
}

struct input {
    std::int64_t at = 0;
    bool submits = false;
    engine_request request;
};

std::vector<input> random_history(random_source& random, const engine_settings& settings) {
    const std::int64_t capacity = settings.blocks * settings.profile.block;
    std::vector<input> all;
    std::int64_t now = 0;
    std::uint64_t next = 1;
    for (int i = 0; i < 120; ++i) {
        if (!random.chance(1, 4)) {
            now += random.between(0, 60'000'000 / settings.speed_permille);
        }
        if (next > 1 && random.chance(1, 6)) {
            all.push_back({now, false, {engine_request_id(1 + random.below(next - 1))}});
        } else {
            const engine_request request{
                engine_request_id(next++),
                tokens(random.between(1, std::max<std::int64_t>(2, capacity / 3))),
                tokens(random.between(1, std::max<std::int64_t>(2, capacity / 2)))
            };
            all.push_back({now, true, request});
        }
    }
    return all;
}

/// Runs a history; `pokes` calls advance() at random times in between.
std::vector<engine_event> run(
    engine_model& engine, const std::vector<input>& history, random_source* pokes
) {
    std::vector<engine_event> events;
    std::int64_t now = 0;
    for (const input& in : history) {
        for (int i = 0; pokes != nullptr && i < 3; ++i) {
            now = pokes->between(now, in.at);
            engine.advance(at_us(now), events);
            EXPECT_EQ(engine.check_invariants(), "");
        }
        now = in.at;
        if (in.submits) {
            engine.submit(at_us(in.at), in.request, events);
        } else {
            const auto before = engine.stats();
            engine.advance(at_us(in.at), events);
            const auto settled = engine.stats();
            if (engine.abort(at_us(in.at), in.request.id, events)) {
                EXPECT_EQ(engine.stats().running, settled.running - 1);
                EXPECT_EQ(engine.stats().aborted, before.aborted + 1);
                EXPECT_LE(engine.stats().kv_tokens_used, settled.kv_tokens_used);
            }
        }
        EXPECT_EQ(engine.check_invariants(), "");
    }
    for (int guard = 0; engine.next_wakeup() != never && guard < 1'000'000; ++guard) {
        engine.advance(engine.next_wakeup(), events);
    }
    EXPECT_EQ(engine.check_invariants(), "");
    EXPECT_EQ(engine.stats().running, 0);
    EXPECT_EQ(engine.stats().kv_tokens_used, tokens(0));
    return events;
}

std::string print(const std::vector<engine_event>& events) {
    std::ostringstream text;
    for (const engine_event& event : events) {
        text << event.at.time_since_epoch().count() << " id "
             << static_cast<std::uint64_t>(event.id) << " kind " << static_cast<int>(event.kind)
             << " out " << event.generated.count() << '\n';
    }
    return text.str();
}

std::vector<engine_event> without_tokens(std::vector<engine_event> events) {
    std::erase_if(events, [](const engine_event& event) {
        return event.kind == engine_event_kind::token;
    });
    return events;
}

class engine_random : public testing::TestWithParam<std::uint64_t> {};

TEST_P(engine_random, equals_the_reference_and_keeps_its_invariants) {
    engine_stats sum;
    for (std::uint64_t round = 0; round < 60; ++round) {
        random_source random(GetParam() * 1000 + round);
        engine_settings settings = random_settings(random);
        const auto history = random_history(random, settings);
        SCOPED_TRACE("seed " + std::to_string(GetParam() * 1000 + round));

        settings.token_events = true;
        engine_model loud(settings);
        const auto events = run(loud, history, nullptr);

        settings.slots = std::min(settings.slots, settings.profile.batched_tokens);
        engine_reference reference(settings);
        for (const input& in : history) {
            if (in.submits) {
                reference.submit(in.at, in.request);
            } else {
                reference.abort(in.at, in.request.id);
            }
        }
        reference.run_until(quantity_limit / 1'000'000);
        ASSERT_EQ(print(events), print(reference.events()));

        engine_model poked(settings);
        ASSERT_EQ(print(run(poked, history, &random)), print(events));

        settings.token_events = false;
        engine_model quiet(settings);
        ASSERT_EQ(print(run(quiet, history, nullptr)), print(without_tokens(events)));
        engine_model quiet_poked(settings);
        ASSERT_EQ(print(run(quiet_poked, history, &random)), print(without_tokens(events)));
        EXPECT_EQ(quiet.stats().peak_kv_tokens, loud.stats().peak_kv_tokens);
        EXPECT_EQ(quiet.stats().generated_tokens, loud.stats().generated_tokens);
        EXPECT_EQ(quiet.stats().iterations, poked.stats().iterations);
        sum.preemptions += loud.stats().preemptions;
        sum.crashes += loud.stats().crashes;
        sum.out_of_memory += loud.stats().out_of_memory;
        sum.aborted += loud.stats().aborted;
        sum.finished += loud.stats().finished;
    }
    // Histories in which nothing goes wrong would prove little.
    EXPECT_GT(sum.preemptions, 20);
    EXPECT_GT(sum.crashes, 5);
    EXPECT_GT(sum.out_of_memory, 5);
    EXPECT_GT(sum.aborted, 50);
    EXPECT_GT(sum.finished, 1000);
}

TEST_P(engine_random, memory_in_use_equals_the_reference_at_any_time) {
    for (std::uint64_t round = 0; round < 40; ++round) {
        random_source random(GetParam() * 7000 + round);
        engine_settings settings = random_settings(random);
        SCOPED_TRACE("seed " + std::to_string(GetParam() * 7000 + round));
        settings.slots = std::min(settings.slots, settings.profile.batched_tokens);
        engine_model engine(settings);
        engine_reference reference(settings);
        std::vector<engine_event> events;
        for (const input& in : random_history(random, settings)) {
            if (in.submits) {
                engine.submit(at_us(in.at), in.request, events);
                reference.submit(in.at, in.request);
            } else {
                engine.abort(at_us(in.at), in.request.id, events);
                reference.abort(in.at, in.request.id);
            }
            ASSERT_EQ(
                engine.stats().kv_tokens_used.count(),
                reference.used_blocks() * settings.profile.block
            );
            ASSERT_EQ(engine.stats().running, std::ssize(engine.progress()));
            ASSERT_EQ(engine.stats().running, static_cast<std::int64_t>(reference.running()));
        }
    }
}

TEST_P(engine_random, every_accepted_request_ends_exactly_once) {
    random_source random(GetParam() + 31);
    const engine_settings settings = random_settings(random);
    engine_model engine(settings);
    std::vector<engine_event> events;
    std::map<engine_request_id, int> ends;
    std::int64_t now = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        now += random.between(0, 30'000'000 / settings.speed_permille);
        const engine_request request{
            engine_request_id(i), tokens(random.between(1, 100)), tokens(random.between(1, 60))
        };
        if (engine.submit(at_us(now), request, events) == submit_outcome::accepted) {
            ends[request.id] = 0;
        }
        if (random.chance(1, 5)) {
            const engine_request_id victim{random.below(i + 1)};
            if (engine.abort(at_us(now), victim, events)) {
                ends.at(victim) += 1;
            }
        }
        if (random.chance(1, 300)) {
            engine.crash(at_us(now), events);
        }
    }
    while (engine.next_wakeup() != never) {
        engine.advance(engine.next_wakeup(), events);
    }
    instant last{};
    for (const engine_event& event : events) {
        EXPECT_GE(event.at, last);
        last = event.at;
        if (event.kind == engine_event_kind::finished || event.kind == engine_event_kind::crashed ||
            event.kind == engine_event_kind::out_of_memory) {
            ends.at(event.id) += 1;
        }
    }
    for (const auto& [id, count] : ends) {
        EXPECT_EQ(count, 1) << "request " << static_cast<std::uint64_t>(id);
    }
    EXPECT_EQ(engine.stats().started, std::ssize(ends));
    EXPECT_LE(engine.stats().peak_kv_tokens, engine.capacity());
}

INSTANTIATE_TEST_SUITE_P(seeds, engine_random, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace sluice::sim::test
