// What scripts express badly: wake-ups, bounds, snapshots, hostile numbers, forgotten workers.
#include "core/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/event_text.hpp"

namespace sluice::core {

namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// A scheduler that is fed with lines; keeps what the last step decided.
class desk {
public:
    explicit desk(const scheduler_config& config = {}) : x_scheduler(config) {}

    /// The decisions as one text, a line each.
    std::string feed(const std::string& line) {
        const auto event = parse_line(line);
        if (!event) {
            ADD_FAILURE() << event.error().message;
            return "";
        }
        return step(event->now, event->what);
    }
    std::string step(instant now, const input& what) {
        x_decided.clear();
        x_wakeup = x_scheduler.step(now, what, x_decided);
        EXPECT_EQ(x_scheduler.check_invariants(), std::nullopt);
        std::string text;
        for (const decision& one : x_decided) {
            text += to_line(one, x_scheduler) + "\n";
        }
        return text;
    }
    std::int64_t wakeup() const { return x_wakeup.time_since_epoch().count(); }
    scheduler& subject() { return x_scheduler; }
    const std::vector<decision>& decided() const { return x_decided; }

private:
    scheduler x_scheduler;
    std::vector<decision> x_decided;
    instant x_wakeup = never;
};

scheduler_config with(auto change) {
    scheduler_config config;
    change(config);
    return config;
}

std::string ticket_of(int number, const std::string& rest = "") {
    return " submit 1/" + std::to_string(number) + " " + rest;
}

TEST(scheduler_wakeup, is_the_earliest_of_all_that_falls_due) {
    desk at(with([](scheduler_config& config) {
        config.ageing = microseconds(700);
        config.permit_ttl = microseconds(900);
        config.heartbeat = microseconds(1'000);
    }));
    at.feed("0 tick");
    EXPECT_EQ(at.wakeup(), quantity_limit);
    at.feed("0 join w1 epoch=1 slots=1 kv=100 reports=1");
    EXPECT_EQ(at.wakeup(), 3'000) << "a report that does not come";
    at.feed("0 report w1 epoch=1 number=1 kv=100 headroom=100");
    at.feed("0" + ticket_of(1, "prompt=1 peak=2"));
    EXPECT_EQ(at.wakeup(), 900) << "the permit's end";
    at.feed("10" + ticket_of(2, "prompt=1 peak=2"));
    EXPECT_EQ(at.wakeup(), 710) << "a promotion";
    at.feed("20" + ticket_of(3, "prompt=1 peak=2 wait=100"));
    EXPECT_EQ(at.wakeup(), 120) << "a deadline";
    at.feed("30 gone 1");
    EXPECT_EQ(at.wakeup(), 30) << "work is left";
}

TEST(scheduler_wakeup, now_or_never_sees_the_look_of_its_own_step) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=1");
    EXPECT_TRUE(at.feed("5" + ticket_of(1, "wait=0")).starts_with("granted 1/1"));
    EXPECT_EQ(at.feed("6" + ticket_of(2, "wait=-5")), "");
    EXPECT_EQ(at.wakeup(), 7);
    EXPECT_TRUE(at.feed("7 tick").starts_with("timed_out 1/2"));
}

TEST(scheduler_time, never_runs_backwards) {
    desk at(with([](scheduler_config& config) { config.permit_ttl = microseconds(100); }));
    at.feed("1000 join w1 epoch=1 slots=1");
    at.feed("1000" + ticket_of(1));
    EXPECT_EQ(at.feed("5 tick"), "");
    EXPECT_EQ(at.wakeup(), 1'100);
    at.feed("5 renew 1/1 token=1 ttl=50");
    EXPECT_EQ(at.wakeup(), 1'050) << "counted from the latest time seen";
}

TEST(scheduler_bounds, sixteen_reservations_a_pool_and_one_a_worker) {
    desk at(with([](scheduler_config& config) { config.max_bypass = 0; }));
    for (int worker = 0; worker < 20; ++worker) {
        at.feed("0 join w" + std::to_string(worker) + " epoch=1 slots=2 kv=100");
    }
    int number = 0;
    for (int worker = 0; worker < 20; ++worker) {
        at.feed("0" + ticket_of(++number, "prompt=1 peak=60"));
    }
    for (int large = 0; large < 20; ++large) {
        at.feed("1" + ticket_of(++number, "prompt=1 peak=90"));
    }
    std::size_t reserved = 0;
    const std::string dump = at.subject().dump();
    for (std::size_t found = dump.find("reserved=w"); found != std::string::npos;
         found = dump.find("reserved=w", found + 1)) {
        ++reserved;
    }
    EXPECT_EQ(reserved, max_reservations);
    // Four workers are nobody's: a small one still finds a place, past the large ones.
    EXPECT_TRUE(at.feed("2" + ticket_of(++number, "prompt=1 peak=10")).starts_with("granted"));
}

TEST(scheduler_bounds, tickets_beyond_the_heads_are_not_looked_at) {
    desk at(with([](scheduler_config& config) {
        config.max_bypass = 1'000;
        config.ageing = seconds(1'000);
    }));
    at.feed("0 join w1 epoch=1 slots=2 kv=100");
    at.feed("0" + ticket_of(1, "prompt=1 peak=60"));
    for (int large = 2; large < 2 + static_cast<int>(max_heads); ++large) {
        at.feed("1" + ticket_of(large, "prompt=1 peak=90"));
    }
    EXPECT_EQ(at.feed("2" + ticket_of(99, "prompt=1 peak=10")), "") << "the 33rd";
    EXPECT_NE(at.feed("3 cancel 1/2").find("granted 1/99"), std::string::npos);
}

TEST(scheduler_tokens, rise_over_forgotten_workers_and_over_a_reload) {
    desk at;
    at.feed("0 join first epoch=1 slots=1 max_token=500");
    at.feed("0" + ticket_of(1));
    at.feed("0 release 1/1 token=501");
    at.feed("0 lost first epoch=1");
    // More absent workers than are remembered one by one.
    for (int worker = 0; worker < 5'000; ++worker) {
        const std::string name = std::to_string(worker);
        const input joined = worker_joined{.worker = name, .epoch = worker_epoch{1}};
        const input gone = worker_lost{name, worker_epoch{1}};
        std::vector<decision> none;
        at.subject().step(instant(), joined, none);
        at.subject().step(instant(), gone, none);
    }
    at.subject().reconfigure(scheduler_config{});
    EXPECT_LT(at.subject().snapshot(instant(), 10).workers.size(), 1U);
    at.feed("1 join first epoch=2 slots=1");
    at.feed("1" + ticket_of(2));
    ASSERT_EQ(at.decided().size(), 1U);
    EXPECT_GT(at.decided().front().token, fencing_token{501});
}

TEST(scheduler_workers, are_found_while_they_are_there) {
    desk at;
    EXPECT_EQ(at.subject().find_worker("w1"), std::nullopt);
    at.feed("0 join w1 epoch=1");
    at.feed("0 join w2 epoch=1");
    const auto number = at.subject().find_worker("w2");
    ASSERT_TRUE(number.has_value());
    EXPECT_EQ(at.subject().worker_id(*number), "w2");
    EXPECT_EQ(at.subject().worker_id(no_worker), "");
    at.feed("1 lost w2 epoch=1");
    EXPECT_EQ(at.subject().find_worker("w2"), std::nullopt);
    at.feed("2 join w2 epoch=2");
    EXPECT_EQ(at.subject().find_worker("w2"), number) << "kept over re-registration";
}

TEST(scheduler_hostile, the_largest_numbers_neither_wrap_nor_stop_anything) {
    const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
    desk at(with([](scheduler_config& config) {
        config.max_bypass = 0;
        config.ageing = microseconds(quantity_limit);
    }));
    at.feed("0 join w1 epoch=1 slots=2 kv=1000");
    const std::string huge = "prompt=" + most + " peak=" + most + " predicted=" + most;
    EXPECT_EQ(at.feed("1" + ticket_of(1, huge)), "rejected 1/1 why=too_large\n");
    at.feed("1 join open epoch=1 slots=1");
    EXPECT_TRUE(at.feed("1" + ticket_of(2, huge + " wait=" + most)).starts_with("granted 1/2"));
    at.feed("2 renew 1/2 token=1 ttl=" + most);
    at.feed("2" + ticket_of(3, "prompt=900 peak=1000 predicted=" + most));
    // Waits for w1, whose request is expected to run for ever.
    EXPECT_EQ(at.feed("3" + ticket_of(4, "prompt=1 peak=1000 wait=" + most)), "");
    EXPECT_EQ(at.subject().waiting(), 1U);
    at.feed("4 release 1/3 token=1 prompt=" + most + " output=" + most);
    EXPECT_EQ(at.subject().waiting(), 0U);
    at.feed("4 join agent epoch=1 slots=1 kv=10 reports=1");
    at.feed("4 report agent epoch=1 number=1 age=" + most + " kv=10 headroom=" + most);
    at.feed("5 report agent epoch=1 number=2 age=-5 kv=10 headroom=-" + most);
    EXPECT_EQ(at.feed("9007199254740991 tick").find("granted"), std::string::npos);
}

TEST(scheduler_hostile, a_peak_below_the_prompt_counts_as_the_prompt) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=2 kv=100");
    EXPECT_EQ(at.feed("1" + ticket_of(1, "prompt=101 peak=5")), "rejected 1/1 why=too_large\n");
    at.feed("1" + ticket_of(2, "prompt=60 peak=5"));
    EXPECT_EQ(at.feed("1" + ticket_of(3, "prompt=60 peak=5")), "");
}

TEST(scheduler_hostile, a_report_without_a_body_is_nothing) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=1 kv=100 reports=1");
    EXPECT_EQ(at.step(instant(microseconds(1)), worker_reported{nullptr}), "");
}

TEST(scheduler_hostile, equal_keys_of_two_holders_lose_nobody) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=3");
    at.feed("1" + ticket_of(1));
    at.feed("1 adopt 2/1 worker=w1 epoch=1 slot=1 token=9 key=1");
    at.feed("1 adopt 3/1 worker=w1 epoch=1 slot=2 token=8 key=1");
    at.feed("2 join w1 epoch=2 slots=1");
    at.feed("3 requeue 1/1 token=1");
    at.feed("3 requeue 2/1 token=10");
    at.feed("3 requeue 3/1 token=11");
    EXPECT_EQ(at.subject().waiting(), 2U);
    at.feed("4 gone 1");
    at.feed("4 gone 2");
    at.feed("4 gone 3");
    at.feed("4 tick");
    EXPECT_EQ(at.subject().waiting() + at.subject().running(), 0U);
}

TEST(scheduler_reload, the_same_configuration_changes_nothing) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=2 kv=100");
    for (int number = 1; number <= 4; ++number) {
        at.feed("1" + ticket_of(number, "prompt=1 peak=2"));
    }
    const std::uint64_t before = at.subject().state_hash();
    at.subject().reconfigure(scheduler_config{});
    EXPECT_EQ(at.subject().state_hash(), before);
    EXPECT_EQ(at.feed("2 tick"), "") << "B08: two run, two wait, as before";
    EXPECT_EQ(at.subject().running(), 2U);
    EXPECT_EQ(at.subject().waiting(), 2U);
}

TEST(scheduler_reload, a_shorter_ageing_or_heartbeat_counts_at_once) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=1");
    at.feed("0 join w2 epoch=1 slots=1 kv=10 reports=1");
    at.feed("0" + ticket_of(1));
    at.feed("0" + ticket_of(2, "class=low prompt=1 peak=2"));
    at.subject().reconfigure(with([](scheduler_config& config) {
        config.ageing = microseconds(10);
        config.heartbeat = microseconds(10);
    }));
    EXPECT_EQ(at.feed("30 tick"), "worker_suspect worker=w2 epoch=1 why=report_stale\n");
    EXPECT_EQ(at.subject().snapshot(instant(microseconds(30)), 9).queue.at(0).cls, priority::high);
}

TEST(scheduler_inspect, equal_histories_have_equal_hashes_and_others_do_not) {
    const std::vector<std::string> history = {
        "0 join w1 epoch=1 slots=1 kv=100",
        "1" + ticket_of(1, "peak=2"),
        "2" + ticket_of(2),
        "3 release 1/1 token=1",
        "4 renew 1/2 token=2 ttl=7"
    };
    std::set<std::uint64_t> seen;
    desk one;
    desk two;
    for (const std::string& line : history) {
        one.feed(line);
        two.feed(line);
        EXPECT_EQ(one.subject().state_hash(), two.subject().state_hash()) << line;
        EXPECT_EQ(one.subject().dump(), two.subject().dump());
        EXPECT_TRUE(seen.insert(one.subject().state_hash()).second) << line;
    }
}

TEST(scheduler_inspect, a_snapshot_shows_who_runs_and_who_waits) {
    desk at(with([](scheduler_config& config) {
        config.permit_ttl = seconds(30);
        config.max_bypass = 100;
    }));
    at.feed("0 join w1 epoch=4 slots=2 kv=100");
    at.feed("0 join w2 epoch=1 slots=1 kv=50 reports=1");
    at.feed(
        "0 report w2 epoch=1 number=1 age=7 running=1 waiting=2 kv=60 used=9 headroom=20 "
        "max_token=5 listed=5"
    );
    at.feed("1000000" + ticket_of(1, "class=high tenant=a prompt=10 peak=70"));
    at.feed("2000000" + ticket_of(2, "tenant=b prompt=40 peak=60"));
    at.feed("3000000" + ticket_of(3, "class=low tenant=c prompt=40 peak=50"));
    const instant now = instant(seconds(5));
    const pool_snapshot all = at.subject().snapshot(now, 1);

    ASSERT_EQ(all.workers.size(), 2U);
    EXPECT_EQ(all.workers[0].id, "w1");
    EXPECT_EQ(all.workers[0].epoch, worker_epoch{4});
    EXPECT_EQ(all.workers[0].in_use, 1U);
    EXPECT_EQ(all.workers[0].kv_reserved, bytes(70));
    EXPECT_EQ(all.workers[0].kv_headroom, bytes(30));
    EXPECT_EQ(all.workers[1].in_use, 1U) << "a listed token that is nobody's";
    EXPECT_EQ(all.workers[1].kv_capacity, bytes(60)) << "as reported";
    EXPECT_EQ(all.workers[1].kv_headroom, bytes(20));
    EXPECT_EQ(all.workers[1].report_age, seconds(5) + microseconds(7));
    EXPECT_EQ(all.workers[1].waiting, 2U);

    ASSERT_EQ(all.permits.size(), 1U);
    EXPECT_EQ(all.permits[0].ticket, (ticket_id{session_id{1}, 1}));
    EXPECT_EQ(all.permits[0].tenant, "a");
    EXPECT_EQ(all.permits[0].age, seconds(4));
    EXPECT_EQ(all.permits[0].expires_in, seconds(26));

    ASSERT_EQ(all.queue.size(), 1U) << "bounded by the caller";
    EXPECT_EQ(all.queue[0].ticket, (ticket_id{session_id{1}, 2}));
    EXPECT_EQ(all.queue[0].tenant, "b");
    EXPECT_EQ(all.queue[0].waited, seconds(3));
    EXPECT_EQ(all.waiting[1], 1U);
    EXPECT_EQ(all.waiting[2], 1U);
    EXPECT_EQ(all.grants_total, 1U);
    EXPECT_EQ(all.oldest_wait, seconds(3));
}

TEST(scheduler_inspect, memory_does_not_grow_with_what_has_passed) {
    desk at;
    at.feed("0 join w1 epoch=1 slots=4");
    std::size_t after_warm_up = 0;
    std::vector<decision> decided;
    for (std::uint64_t number = 1; number <= 60'000; ++number) {
        ticket_submitted what;
        what.what.id = {session_id{number % 7}, number};
        const std::string tenant = "tenant-" + std::to_string(number);
        what.what.tenant = tenant;
        decided.clear();
        at.subject().step(instant(microseconds(number)), what, decided);
        ASSERT_EQ(decided.size(), 1U);
        permit_released ended;
        ended.id = what.what.id;
        ended.token = decided.front().token;
        at.subject().step(instant(microseconds(number)), ended, decided);
        if (number == 20'000) {
            after_warm_up = at.subject().memory_bytes();
        }
    }
    EXPECT_LE(at.subject().memory_bytes(), after_warm_up);
}

TEST(scheduler_names, are_all_there_and_all_different) {
    std::set<std::string_view> seen;
    for (int value = 0; value <= static_cast<int>(decision_kind::worker_ready); ++value) {
        seen.insert(to_string(static_cast<decision_kind>(value)));
    }
    for (int value = 0; value <= static_cast<int>(decision_why::slot_taken); ++value) {
        seen.insert(to_string(static_cast<decision_why>(value)));
    }
    EXPECT_EQ(seen.size(), 11U + 16U);
    EXPECT_FALSE(seen.contains("unknown"));
    EXPECT_EQ(to_string(priority::high), "high");
    EXPECT_EQ(to_string(priority::normal), "normal");
    EXPECT_EQ(to_string(priority::low), "low");
    EXPECT_EQ(to_string(worker_state::ready), "ready");
    EXPECT_EQ(to_string(worker_state::draining), "draining");
    EXPECT_EQ(to_string(worker_state::suspect), "suspect");
    EXPECT_EQ(to_string(release_outcome::ok), "ok");
    EXPECT_EQ(to_string(release_outcome::failed), "failed");
    EXPECT_EQ(to_string(release_outcome::aborted), "aborted");
    EXPECT_EQ(to_string(release_outcome::hung), "hung");
}

}  // namespace

}  // namespace sluice::core
