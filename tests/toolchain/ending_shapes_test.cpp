// How coroutines end before their last line: exceptions, cancellation, an io_context that goes
// away. In every case each object that was constructed is destroyed once.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <stdexcept>
#include <vector>

#include "toolchain/coroutine_shapes.hpp"

namespace sluice::toolchain {
namespace {

using namespace std::chrono_literals;

class EndingShapes : public testing::TestWithParam<pace> {
protected:
    ~EndingShapes() override { EXPECT_EQ(0, counted::alive); }
};

task<counted> failing(pace how, counted what) {
    const counted local(what.value() + 1);
    co_await breathe(how);
    throw std::runtime_error("value " + std::to_string(what.value()));
    co_return local;
}

task<int> catches(pace how) {
    const counted outer(1);
    try {
        const counted got = co_await failing(how, counted(7));
        co_return got.value();
    } catch (const std::runtime_error& problem) {
        co_return problem.what() == std::string("value 7") && outer.value() == 1 ? 1 : 2;
    }
}
TEST_P(EndingShapes, ExceptionCaughtByTheCaller) {
    EXPECT_EQ(1, run(catches(GetParam())));
}

task<int> passes_on(pace how) {
    const counted local(2);
    co_return (co_await failing(how, local)).value();
}
TEST_P(EndingShapes, ExceptionThroughTwoCoroutines) {
    EXPECT_THROW(run(passes_on(GetParam())), std::runtime_error);
}

struct two {
    counted first;
    counted second;
};

task<int> throws_between(pace how) {
    const two both{co_await make(how, 1), co_await failing(how, counted(2))};
    co_return both.first.value();
}
TEST_P(EndingShapes, ExceptionBetweenTwoMembers) {
    EXPECT_THROW(run(throws_between(GetParam())), std::runtime_error);
}

task<int> awaits_after_catch(pace how) {
    bool failed = false;
    try {
        co_await failing(how, counted(3));
    } catch (const std::exception&) {
        failed = true;
    }
    const counted after = co_await make(how, 4);
    co_return failed ? after.value() : 0;
}
TEST_P(EndingShapes, AwaitAfterAnException) {
    EXPECT_EQ(4, run(awaits_after_catch(GetParam())));
}

task<int> retries(pace how) {
    for (int attempt = 1;; ++attempt) {
        const counted local(attempt);
        try {
            if (attempt < 3) {
                co_await failing(how, local);
            }
            co_return (co_await make(how, attempt)).value();
        } catch (const std::runtime_error&) {
            continue;
        }
    }
}
TEST_P(EndingShapes, TryInsideALoop) {
    EXPECT_EQ(3, run(retries(GetParam())));
}

task<int> thrown_before_the_first_await(counted what) {
    if (what.value() > 0) {
        throw std::runtime_error("at once");
    }
    co_return 0;
}
TEST_P(EndingShapes, ExceptionBeforeTheFirstAwait) {
    EXPECT_THROW(run(thrown_before_the_first_await(counted(1))), std::runtime_error);
}

/// Marks, in the order of destruction.
class marker {
public:
    marker(std::vector<int>& log, int number) : x_log(log), x_number(number) {}
    marker(const marker&) = delete;
    marker& operator=(const marker&) = delete;
    ~marker() { x_log.push_back(x_number); }

private:
    std::vector<int>& x_log;
    int x_number;
};

task<int> marked(pace how, std::vector<int>& log) {
    const marker first(log, 1);
    co_await breathe(how);
    {
        const marker second(log, 2);
        co_await breathe(how);
    }
    const marker third(log, 3);
    co_await breathe(how);
    co_return 0;
}
TEST_P(EndingShapes, LocalsGoInReverseOrder) {
    std::vector<int> log;
    run(marked(GetParam(), log));
    EXPECT_EQ((std::vector{2, 3, 1}), log);
}

task<int> waits(std::vector<int>& log, bool throwing) {
    const counted local(1);
    const marker mark(log, 1);
    net::steady_timer timer(co_await asio::this_coro::executor, 1h);
    if (throwing) {
        co_await timer.async_wait(asio::use_awaitable_t<net::executor>{});
    } else {
        const auto [problem] = co_await timer.async_wait(net::as_result);
        log.push_back(problem == asio::error::operation_aborted ? 100 : 200);
    }
    log.push_back(300);
    co_return 0;
}

/// Spawns `body`, runs what is ready, cancels, and gives how it ended.
std::string cancelled(task<int> body) {
    asio::io_context context(1);
    asio::cancellation_signal signal;
    std::string ending = "never";
    asio::co_spawn(
        context,
        std::move(body),
        asio::bind_cancellation_slot(
            signal.slot(),
            [&ending](std::exception_ptr thrown, int) { ending = thrown ? "thrown" : "returned"; }
        )
    );
    context.poll();
    signal.emit(asio::cancellation_type::terminal);
    context.run();
    return ending;
}

TEST(CancelledShapes, AThrowingAwaitUnwinds) {
    std::vector<int> log;
    EXPECT_EQ("thrown", cancelled(waits(log, true)));
    EXPECT_EQ((std::vector{1}), log);
    EXPECT_EQ(0, counted::alive);
}

TEST(CancelledShapes, AnAwaitWithATupleGoesOn) {
    std::vector<int> log;
    EXPECT_EQ("returned", cancelled(waits(log, false)));
    EXPECT_EQ((std::vector{100, 300, 1}), log);
    EXPECT_EQ(0, counted::alive);
}

task<int> cleans_up(std::vector<int>& log, bool prepared) {
    if (prepared) {
        co_await asio::this_coro::throw_if_cancelled(false);
    }
    const counted local(1);
    net::steady_timer timer(co_await asio::this_coro::executor, 1h);
    const auto [first] = co_await timer.async_wait(net::as_result);
    log.push_back(first ? 1 : 0);
    // The next await of a cancelled coroutine throws, unless it was told not to.
    co_await asio::this_coro::executor;
    co_await breathe(pace::suspending);
    log.push_back(2);
    co_return 0;
}
TEST(CancelledShapes, CleanUpAfterACancellationNeedsToSaySo) {
    std::vector<int> log;
    EXPECT_EQ("returned", cancelled(cleans_up(log, true)));
    EXPECT_EQ((std::vector{1, 2}), log);
    log.clear();
    EXPECT_EQ("thrown", cancelled(cleans_up(log, false)));
    EXPECT_EQ((std::vector{1}), log);
    EXPECT_EQ(0, counted::alive);
}

TEST(CancelledShapes, DestroyingTheContextDestroysWhatWaits) {
    std::vector<int> log;
    {
        asio::io_context context(1);
        asio::co_spawn(context, waits(log, true), [](std::exception_ptr, int) { FAIL(); });
        context.poll();
        EXPECT_EQ(1, counted::alive);
    }
    EXPECT_EQ((std::vector{1}), log);
    EXPECT_EQ(0, counted::alive);
}

TEST(CancelledShapes, ACoroutineThatNeverStartedLeavesNothing) {
    {
        const task<int> never = thrown_before_the_first_await(counted(1));
        EXPECT_EQ(1, counted::alive);
    }
    EXPECT_EQ(0, counted::alive);
}

task<counted> slowly(int value, std::chrono::milliseconds how_long) {
    const counted local(value);
    net::steady_timer timer(co_await asio::this_coro::executor, how_long);
    co_await timer.async_wait(asio::use_awaitable_t<net::executor>{});
    co_return local;
}

task<int> first_of_two() {
    using namespace asio::experimental::awaitable_operators;
    const auto winner = co_await (slowly(1, 1ms) || slowly(2, 3'600'000ms));
    co_return winner.index() == 0 ? std::get<0>(winner).value() : -1;
}
task<int> both_of_two() {
    using namespace asio::experimental::awaitable_operators;
    const auto [left, right] = co_await (slowly(1, 1ms) && slowly(2, 2ms));
    co_return left.value() * 10 + right.value();
}

TEST(ParallelShapes, TheLoserOfARaceIsDestroyed) {
    EXPECT_EQ(1, run(first_of_two()));
    EXPECT_EQ(0, counted::alive);
}
TEST(ParallelShapes, BothResultsArrive) {
    EXPECT_EQ(12, run(both_of_two()));
    EXPECT_EQ(0, counted::alive);
}

INSTANTIATE_TEST_SUITE_P(
    Paces,
    EndingShapes,
    testing::Values(pace::immediate, pace::suspending),
    [](const auto& each) { return each.param == pace::immediate ? "Immediate" : "Suspending"; }
);

}  // namespace
}  // namespace sluice::toolchain
