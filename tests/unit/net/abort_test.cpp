#include "net/abort.hpp"

#include <gtest/gtest.h>

#include "net/event.hpp"
#include "support.hpp"

namespace sluice::net {
namespace {

using namespace testing;

TEST(abort_signal, first_cause_wins_and_the_action_runs_once) {
    abort_signal signal;
    int runs = 0;
    const abort_action action(signal, [&] { ++runs; });
    signal.fire({abort_kind::deadline, 7});
    signal.fire({abort_kind::peer_gone, 0});
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(signal.cause().kind, abort_kind::deadline);
    EXPECT_EQ(signal.cause().tag, 7u);
    const abort_action late(signal, [&] { ++runs; });
    EXPECT_EQ(runs, 2) << "registered after the fact: runs at once";
}

TEST(abort_signal, actions_nest) {
    abort_signal signal;
    std::string ran;
    const abort_action outer(signal, [&] { ran += "o"; });
    {
        const abort_action inner(signal, [&] { ran += "i"; });
    }
    signal.fire({abort_kind::shutdown, 0});
    EXPECT_EQ(ran, "o");
}

TEST(deadline, fires_with_its_tag_and_not_early) {
    run([](executor where) -> task<> {
        abort_signal signal;
        event never(where);
        deadline one(where, signal, 3);
        const auto start = std::chrono::steady_clock::now();
        one.arm(30ms);
        while (!signal.aborted()) {
            co_await never.wait(signal);
        }
        EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
        EXPECT_EQ(signal.cause().kind, abort_kind::deadline);
        EXPECT_EQ(signal.cause().tag, 3u);
    });
}

TEST(deadline, the_earliest_of_several_fires) {
    run([](executor where) -> task<> {
        abort_signal signal;
        event never(where);
        deadline late(where, signal, 1);
        deadline pulled(where, signal, 2);
        deadline gone(where, signal, 3);
        late.arm(20s);
        pulled.arm(10s);
        gone.arm(5ms);
        gone.disarm();
        pulled.arm(20ms);  // earlier than before
        {
            deadline dropped(where, signal, 4);
            dropped.arm(1ms);
        }
        while (!signal.aborted()) {
            co_await never.wait(signal);
        }
        EXPECT_EQ(signal.cause().tag, 2u);
    });
}

TEST(deadline, pushed_back_it_waits_for_the_new_time) {
    run([](executor where) -> task<> {
        abort_signal signal;
        event never(where);
        deadline one(where, signal, 1);
        one.arm(10ms);
        one.arm(60ms);
        const auto start = std::chrono::steady_clock::now();
        while (!signal.aborted()) {
            co_await never.wait(signal);
        }
        EXPECT_GE(std::chrono::steady_clock::now() - start, 60ms);
    });
}

TEST(deadline, zero_fires_on_the_next_turn_not_inside_arm) {
    run([](executor where) -> task<> {
        abort_signal signal;
        event never(where);
        deadline one(where, signal, 1);
        one.arm(0s);
        EXPECT_FALSE(signal.aborted());
        while (!signal.aborted()) {
            co_await never.wait(signal);
        }
        EXPECT_TRUE(signal.aborted());
    });
}

TEST(deadline, without_one_the_loop_ends) {
    asio::io_context context(1);
    abort_signal signal;
    {
        deadline one(context.get_executor(), signal, 1);
        one.arm(1h);
    }
    context.run();  // would wait an hour if the timer stayed
    EXPECT_FALSE(signal.aborted());
}

TEST(event, remembers_one_set) {
    run([](executor where) -> task<> {
        event one(where);
        one.set();
        one.set();
        co_await one.wait();
        EXPECT_FALSE(one.take());
    });
}

TEST(event, wakes_its_waiter_through_the_executor) {
    run([](executor where) -> task<> {
        event ping(where);
        event pong(where);
        int turns = 0;
        asio::co_spawn(
            where,
            [&]() -> task<> {
                for (int i = 0; i < 1000; ++i) {
                    co_await ping.wait();
                    ++turns;
                    pong.set();
                }
            },
            [](std::exception_ptr) {}
        );
        for (int i = 0; i < 1000; ++i) {
            ping.set();
            co_await pong.wait();
        }
        EXPECT_EQ(turns, 1000);
    });
}

TEST(event, coroutines_that_wait_are_unwound_with_the_context) {
    const auto witness = std::make_shared<int>(0);
    {
        asio::io_context context(1);
        struct owner {
            explicit owner(executor where) : wake(where) {}
            event wake;
        };
        asio::co_spawn(
            context.get_executor(),
            // The coroutine owns the event that holds the coroutine.
            [](executor where, std::shared_ptr<int> held) -> task<> {
                const auto own = std::make_shared<owner>(where);
                abort_signal signal;
                deadline later(where, signal, 1);
                later.arm(1h);
                co_await own->wake.wait(signal);
                *held = 1;
            }(context.get_executor(), witness),
            [](std::exception_ptr) {}
        );
        context.run_one();
        EXPECT_EQ(witness.use_count(), 2);
    }
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(*witness, 0);
}

}  // namespace
}  // namespace sluice::net
