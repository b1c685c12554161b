// The flight recorder: bounded, and a replay is the same history.
#include "core/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "unit/core/world.hpp"

namespace sluice::core {

namespace {

struct recorded {
    std::string decisions;
    std::uint64_t state_hash = 0;
    std::vector<std::string> lines;
    bool complete = false;
};

recorded record(std::uint64_t seed, recorder_bounds bounds) {
    random_source random(seed);
    auto options = reference::draw_options(random);
    reference::world around(options, random.next());
    scheduler subject(options.config);
    recorder box(bounds);
    box.add_config(options.config);
    recorded all;
    instant wakeup = never;
    for (int event = 0; event < 600; ++event) {
        if (event == 300) {
            options.config.max_bypass += 1;
            options.config.low_share = 3;
            box.add_config(options.config);
            subject.reconfigure(options.config);
        }
        const auto& next = around.next(wakeup);
        box.add(next.now, next.what);
        std::vector<decision> decided;
        wakeup = subject.step(next.now, next.what, decided);
        around.observe(decided);
        for (const decision& one : decided) {
            all.decisions += to_line(one, subject) + '\n';
        }
    }
    all.state_hash = subject.state_hash();
    all.lines = box.lines();
    all.complete = box.complete();
    return all;
}

TEST(recorder, a_replay_decides_the_same_and_ends_in_the_same_state) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const recorded first = record(seed, {});
        ASSERT_TRUE(first.complete);
        const auto again = replay(first.lines);
        ASSERT_TRUE(again.has_value()) << again.error().message;
        EXPECT_EQ(again->decisions, first.decisions) << "seed " << seed;
        EXPECT_EQ(again->state_hash, first.state_hash) << "seed " << seed;
        EXPECT_EQ(again->steps, 600U);
    }
}

TEST(recorder, a_changed_line_shows) {
    recorded first = record(3, {});
    const auto join = std::ranges::find_if(first.lines, [](const std::string& line) {
        return line.find(" join ") != std::string::npos;
    });
    ASSERT_NE(join, first.lines.end());
    first.lines.erase(join);
    const auto again = replay(first.lines);
    ASSERT_TRUE(again.has_value());
    EXPECT_NE(again->state_hash, first.state_hash);
    EXPECT_NE(again->decisions, first.decisions);
}

TEST(recorder, keeps_its_bounds_and_the_newest) {
    recorder box({.max_lines = 10, .max_bytes = 100});
    scheduler_config config;
    config.max_bypass = 2;
    box.add_config(config);
    for (int at = 0; at < 1000; ++at) {
        box.add(instant(duration(at)), tick{});
        ASSERT_LE(box.lines().size(), 11U);  // ten, and the configuration
        ASSERT_LE(box.bytes_held(), 100U);
    }
    EXPECT_FALSE(box.complete());
    EXPECT_EQ(box.dropped(), 991U);
    EXPECT_EQ(box.lines().front(), "config max_bypass=2");
    EXPECT_EQ(box.lines().back(), "999 tick");
    EXPECT_TRUE(replay(box.lines()).has_value());

    recorder narrow({.max_lines = 1000, .max_bytes = 30});
    for (int at = 1000; at < 1100; ++at) {
        narrow.add(instant(duration(at)), tick{});
        ASSERT_LE(narrow.bytes_held(), 30U);
    }
    EXPECT_EQ(narrow.lines().size(), 3U);
}

TEST(recorder, a_line_larger_than_the_box_is_dropped) {
    recorder box({.max_lines = 10, .max_bytes = 20});
    box.add(instant(), worker_draining{std::string_view("a name of more than twenty bytes")});
    EXPECT_TRUE(box.lines().empty());
    EXPECT_EQ(box.bytes_held(), 0U);
}

TEST(recorder, configurations_are_read_as_they_were_written) {
    scheduler_config config;
    config.max_length = 7;
    config.max_bytes = bytes(8);
    config.ageing = duration(9);
    config.max_bypass = 10;
    config.low_share = 11;
    config.permit_ttl = duration(12);
    config.heartbeat = duration(13);
    config.token_floor = fencing_token{14};
    const std::string line = to_line(config);
    EXPECT_EQ(
        line,
        "config max_length=7 max_bytes=8 ageing=9 max_bypass=10 low_share=11 permit_ttl=12 "
        "heartbeat=13 token_floor=14"
    );
    const auto again = parse_config(line);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(to_line(*again), line);
    EXPECT_EQ(to_line(scheduler_config{}), "config");
}

TEST(recorder, what_cannot_be_read_is_named) {
    for (const char* broken :
         {"config max_length", "config max_length=x", "config colour=3", "configured"}) {
        EXPECT_FALSE(parse_config(broken).has_value()) << broken;
    }
    const std::vector<std::string> lines = {"# a note", "", "config", "1 tick", "2 jump"};
    const auto failed = replay(lines);
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, errc::corrupt_input);
    EXPECT_NE(failed.error().message.find("2 jump"), std::string::npos);
}

}  // namespace

}  // namespace sluice::core
