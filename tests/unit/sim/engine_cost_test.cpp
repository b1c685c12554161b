// The work that a million requests cost, in events and iterations, not in seconds: those depend on
// the machine. The time is printed.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "base/random.hpp"
#include "sim/engine_model.hpp"

namespace sluice::sim::test {
namespace {

TEST(engine_cost, work_is_per_request_and_not_per_token) {
    // Conversation lengths, loaded until requests wait (a tenth of the million; it scales).
    const std::int64_t requests = 100'000;
    engine_model engine({.profile = *find_engine_profile(default_profile_name), .slots = 256});
    random_source random(5);
    std::vector<engine_event> events;
    std::int64_t wakeups = 0;
    std::int64_t seen = 0;
    instant now{};
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < requests; ++i) {
        now += duration(random.between(0, 620'000));
        while (engine.next_wakeup() <= now) {
            engine.advance(engine.next_wakeup(), events);
            wakeups += 1;
        }
        const engine_request request{
            engine_request_id(static_cast<std::uint64_t>(i)),
            tokens(random.between(1, 2300)),
            tokens(random.between(1, 420))
        };
        engine.submit(now, request, events);
        seen += std::ssize(events);
        events.clear();
    }
    while (engine.next_wakeup() != never) {
        engine.advance(engine.next_wakeup(), events);
        wakeups += 1;
    }
    seen += std::ssize(events);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const engine_stats stats = engine.stats();
    std::printf(
        "%lld requests, %lld tokens, %lld iterations, %lld wake-ups, %lld preemptions: %.3f s\n",
        static_cast<long long>(requests),
        static_cast<long long>(stats.generated_tokens.count()),
        static_cast<long long>(stats.iterations),
        static_cast<long long>(wakeups),
        static_cast<long long>(stats.preemptions),
        took.count()
    );
    EXPECT_EQ(stats.finished, requests);
    EXPECT_LT(wakeups, 4 * requests);
    EXPECT_LE(seen, 2 * requests + stats.preemptions);
    EXPECT_GT(stats.generated_tokens.count(), 100 * requests);
}

}  // namespace
}  // namespace sluice::sim::test
