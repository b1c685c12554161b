// Random histories: the scheduler against the reference, decision by decision, under the eyes of
// the judge. Seeds are fixed; SLUICE_SEED=n repeats one history, SLUICE_LONG=1 runs ten times more,
// SLUICE_EVENTS=n as many as you like.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <string>

#include "core/event_text.hpp"
#include "core/recorder.hpp"
#include "unit/core/judge.hpp"
#include "unit/core/reference.hpp"
#include "unit/core/world.hpp"

namespace sluice::core {

namespace {

using reference::judge;
using reference::planted;
using reference::world;
using reference::world_options;

constexpr std::uint64_t events_a_history = 500;
constexpr std::uint64_t events_of_the_end = 20'000;

std::string lines_of(const std::vector<decision>& all, const scheduler& who) {
    std::string text;
    for (const decision& one : all) {
        text += "    " + to_line(one, who) + " | waited " + std::to_string(one.waited.count()) +
                " passed " + std::to_string(one.passed_by) + " queue " +
                std::to_string(one.queue_length) + " key " + std::to_string(one.order_key) +
                " slot " + std::to_string(one.slot) + " peak " +
                std::to_string(one.peak_kv.count()) + " failure " +
                std::string(to_string(one.failure)) + "\n";
    }
    return text.empty() ? "    (nothing)\n" : text;
}

/// One history: the world, the scheduler, the reference and the judge, step by step.
class history {
public:
    history(std::uint64_t seed, planted wrong)
        : x_seed(seed),
          x_random(seed),
          x_options(reference::draw_options(x_random)),
          x_world(x_options, x_random.next()),
          x_subject(x_options.config),
          x_beside(x_options.config, wrong),
          x_judge(x_options.config),
          x_wrong(wrong) {
        x_tail.push_back(to_line(x_options.config));
    }

    /// Judges the reference's decisions instead of the scheduler's (canaries).
    void judge_reference() { x_reference_only = true; }

    /// What went wrong, with everything that is needed to repeat it; empty: nothing.
    std::string run(std::uint64_t events) {
        for (x_event = 0; x_event < events && x_failure.empty(); ++x_event) {
            if (x_random.chance(1, 400)) {
                change_limits();
            }
            if (x_event == events / 2 && x_random.chance(1, 4)) {
                start_again();
            }
            step(x_world.next(x_wakeup));
        }
        const std::uint64_t last = x_event + events_of_the_end;
        while (x_failure.empty() && x_event < last && !over()) {
            ++x_event;
            step(x_world.next_of_the_end(x_wakeup));
        }
        if (x_failure.empty()) {
            note(x_judge.at_the_end(), {});
        }
        return x_failure;
    }
    std::uint64_t events() const { return x_event; }
    const std::array<std::uint64_t, 16>& seen() const { return x_seen; }

private:
    bool over() const { return x_beside.waiting().empty() && x_beside.running().empty(); }

    void change_limits() {
        scheduler_config& config = x_options.config;
        config.max_bypass = static_cast<std::uint32_t>(x_random.below(5));
        config.max_length = static_cast<std::size_t>(x_random.between(1, 100));
        config.ageing = duration(x_random.between(10'000, 5'000'000));
        config.low_share = static_cast<std::uint32_t>(x_random.below(5));
        config.permit_ttl = duration(x_random.between(100'000, 20'000'000));
        config.heartbeat = duration(x_random.between(20'000, 3'000'000));
        x_subject.reconfigure(config);
        x_beside.reconfigure(config);
        x_judge.reconfigure(config);
        x_tail.push_back(to_line(config));
    }

    /// I11: a store that comes back empty.
    void start_again() {
        x_options.config.token_floor = x_world.restart();
        x_subject = scheduler(x_options.config);
        x_beside = reference::scheduler(x_options.config, x_wrong);
        x_judge = judge(x_options.config);
        x_tail.push_back("# restart: " + to_line(x_options.config));
    }

    void step(const world::event& event) {
        x_tail.push_back(to_line(event.now, event.what));
        if (x_tail.size() > 40) {
            x_tail.pop_front();
        }
        std::vector<decision> expected;
        const instant wakeup_expected = x_beside.step(event.now, event.what, expected);
        if (x_reference_only) {
            x_wakeup = wakeup_expected;
            finish_step(event, expected, {});
            return;
        }
        const instant now = std::max(x_latest, event.now);
        std::vector<decision> decided;
        x_wakeup = x_subject.step(event.now, event.what, decided);
        const std::string both = "  decided:\n" + lines_of(decided, x_subject) + "  expected:\n" +
                                 lines_of(expected, x_subject);
        if (decided != expected) {
            note("scheduler and reference differ", both);
        } else if (x_wakeup > wakeup_expected || (x_wakeup <= now) != (wakeup_expected <= now)) {
            note(
                "next wakeup is " + std::to_string(x_wakeup.time_since_epoch().count()) +
                    ", expected " + std::to_string(wakeup_expected.time_since_epoch().count()),
                both
            );
        } else if (x_subject.waiting() != x_beside.waiting().size() ||
                   x_subject.running() != x_beside.running().size()) {
            note("the numbers of waiting or running tickets differ", both);
        }
        note(x_subject.check_invariants(), both);
        finish_step(event, decided, both);
    }

    void finish_step(
        const world::event& event, const std::vector<decision>& decided, const std::string& both
    ) {
        for (const decision& one : decided) {
            ++x_seen[static_cast<std::size_t>(one.kind)];
        }
        x_latest = std::max(x_latest, event.now);
        const bool work_left = x_wakeup <= x_latest;
        note(x_judge.after_step(event.what, decided, work_left, x_beside), both);
        x_world.observe(decided);
        note(x_world.overcommitted(), both);
    }

    void note(const std::optional<std::string>& what, const std::string& more) {
        if (!what || !x_failure.empty()) {
            return;
        }
        x_failure = *what + "\nseed " + std::to_string(x_seed) + ", event " +
                    std::to_string(x_event) + ", " + describe(x_options) + "\n";
        for (const std::string& line : x_tail) {
            x_failure += "  " + line + "\n";
        }
        x_failure += more;
        if (!x_reference_only) {
            x_failure += x_subject.dump();
        }
    }

    std::uint64_t x_seed;
    random_source x_random;
    world_options x_options;
    world x_world;
    scheduler x_subject;
    reference::scheduler x_beside;
    judge x_judge;
    planted x_wrong;
    bool x_reference_only = false;
    instant x_wakeup = never;
    instant x_latest;
    std::uint64_t x_event = 0;
    std::array<std::uint64_t, 16> x_seen{};
    std::deque<std::string> x_tail;
    std::string x_failure;
};

const char* text_of_environment(const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
}

TEST(scheduler_property, random_histories_follow_the_reference_and_keep_the_contract) {
    if (const char* seed = text_of_environment("SLUICE_SEED")) {
        history one(std::strtoull(seed, nullptr, 10), {});
        ASSERT_EQ(one.run(events_a_history), "");
        return;
    }
    const bool is_long = text_of_environment("SLUICE_LONG") != nullptr;
    const char* events_wanted = text_of_environment("SLUICE_EVENTS");
    const std::uint64_t wanted = events_wanted != nullptr
                                     ? std::strtoull(events_wanted, nullptr, 10)
                                 : is_long ? 2'000'000
                                           : 200'000;
    std::array<std::uint64_t, 16> seen{};
    std::uint64_t events = 0;
    for (std::uint64_t seed = 1; events < wanted; ++seed) {
        history one(seed, {});
        ASSERT_EQ(one.run(events_a_history), "");
        events += one.events();
        for (std::size_t kind = 0; kind < seen.size(); ++kind) {
            seen[kind] += one.seen()[kind];
        }
    }
    // Histories in which a kind of decision hardly ever occurs would prove nothing about it.
    for (std::size_t kind = 0; kind <= static_cast<std::size_t>(decision_kind::worker_ready);
         ++kind) {
        const auto name = to_string(static_cast<decision_kind>(kind));
        EXPECT_GT(seen[kind], 100U) << name;
        RecordProperty(std::string(name), std::to_string(seen[kind]));
    }
}

/// What the judge says when it watches a reference with this fault, within so many histories.
std::string verdict_on(planted wrong, std::uint64_t histories = 60) {
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        history one(seed, wrong);
        one.judge_reference();
        if (std::string found = one.run(events_a_history); !found.empty()) {
            return found.substr(0, found.find(':'));
        }
    }
    return "nothing";
}

/// Whether the comparison tells the scheduler from a reference with this fault.
bool comparison_finds(planted wrong) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        history one(seed, wrong);
        if (!one.run(events_a_history).empty()) {
            return true;
        }
    }
    return false;
}

TEST(scheduler_property_canary, the_judge_finds_nothing_in_the_reference_itself) {
    EXPECT_EQ(verdict_on({}), "nothing");
}

TEST(scheduler_property_canary, the_judge_finds_planted_faults) {
    EXPECT_EQ(verdict_on({.extra_slots = 1}), "I1");
    EXPECT_EQ(verdict_on({.forgets_unlisted = true}), "I2");
    EXPECT_EQ(verdict_on({.newest_first = true}), "I3");
    EXPECT_EQ(verdict_on({.sleeps_on_release = true}), "I4");
    EXPECT_EQ(verdict_on({.releases_twice = true}), "I5");
    EXPECT_EQ(verdict_on({.repeats_tokens = true}), "I7");
    EXPECT_EQ(verdict_on({.never_reserves = true}), "I8");
    EXPECT_EQ(verdict_on({.unbounded_queue = true}), "I9");
}

TEST(scheduler_property_canary, the_comparison_finds_planted_faults) {
    EXPECT_TRUE(comparison_finds({.extra_slots = 1}));
    EXPECT_TRUE(comparison_finds({.forgets_unlisted = true}));
    EXPECT_TRUE(comparison_finds({.newest_first = true}));
    EXPECT_TRUE(comparison_finds({.never_reserves = true}));
    EXPECT_FALSE(comparison_finds({}));
}

/// The world's own check of memory must see an engine that is promised too much.
TEST(scheduler_property_canary, the_world_finds_overcommitted_memory) {
    const auto only_the_world = [](std::uint64_t seed) {
        random_source random(seed);
        world_options options = reference::draw_options(random);
        options.honest = true;
        options.mishaps = 0;
        options.reporting = 4;
        world around(options, random.next());
        reference::scheduler forgetful(options.config, {.forgets_unlisted = true});
        instant wakeup = never;
        for (std::uint64_t event = 0; event < events_a_history; ++event) {
            const world::event& next = around.next(wakeup);
            std::vector<decision> decided;
            wakeup = forgetful.step(next.now, next.what, decided);
            around.observe(decided);
            if (around.overcommitted()) {
                return true;
            }
        }
        return false;
    };
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 60 && !found; ++seed) {
        found = only_the_world(seed);
    }
    EXPECT_TRUE(found);
}

}  // namespace

}  // namespace sluice::core
