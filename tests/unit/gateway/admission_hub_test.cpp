#include "gateway/admission_hub.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <latch>

#include "base/random.hpp"
#include "fake_pool.hpp"
#include "net/event.hpp"

namespace sluice::gateway {
namespace {

using namespace std::chrono_literals;
using testing::fake_pool;

void rethrow(std::exception_ptr failed) {
    if (failed) {
        std::rethrow_exception(failed);
    }
}

coord::submission plain() {
    return {};
}

/// A hub over a fake pool with one worker; `threads` contexts.
class hub_test : public ::testing::TestWithParam<std::size_t> {
protected:
    void make(std::uint32_t slots, hub_options options = {}) {
        pool = std::make_unique<net::io_pool>(2);
        hub = admission_hub::make(*pool, std::move(options));
        fake = std::make_shared<fake_pool>(*hub);
        hub->attach(fake);
        fake->add_worker("w", "http://127.0.0.1:1", slots);
    }
    /// Runs `body` as a request on the context of the parameter, until it ends.
    void run(std::function<net::task<>()> body) {
        net::asio::co_spawn(
            pool->executor_of(GetParam()),
            [body]() -> net::task<> { co_await body(); },
            [this](std::exception_ptr failed) {
                // Two hops through the strand: what the request left behind has arrived by then.
                net::asio::post(pool->executor_of(0), [this] {
                    net::asio::post(pool->executor_of(0), [this] { pool->stop(); });
                });
                rethrow(failed);
            }
        );
        pool->run();
        hub->close();
    }
    /// Something on the strand, awaited.
    net::task<> on_strand(std::function<void()> what) {
        net::event done(pool->executor_of(GetParam()));
        net::asio::post(pool->executor_of(0), [&] {
            what();
            net::asio::post(pool->executor_of(GetParam()), [&] { done.set(); });
        });
        co_await done.wait();
    }
    /// Hops over the strand until `reached` holds there: what other threads and the strand itself
    /// have posted meanwhile may stand behind a single hop.
    net::task<> until(std::function<bool()> reached) {
        bool there = false;
        for (int hop = 0; hop < 1000 && !there; ++hop) {
            co_await on_strand([&] { there = reached(); });
        }
        EXPECT_TRUE(there);
    }
    net::task<admission_hub::answer> acquire(net::abort_signal& signal) {
        return hub->acquire(plain(), signal, GetParam());
    }

    std::unique_ptr<net::io_pool> pool;
    std::shared_ptr<admission_hub> hub;
    std::shared_ptr<fake_pool> fake;
};

TEST_P(hub_test, a_lease_gives_its_permit_back_once) {
    make(1);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto answer = co_await acquire(signal);
        if (!answer) {
            ADD_FAILURE();
            co_return;
        }
        permit_lease lease = *std::move(answer);
        EXPECT_TRUE(lease);
        EXPECT_EQ(lease.permit().worker->id, "w");
        lease.finish(core::release_outcome::ok, {tokens(3), tokens(4)});
        EXPECT_FALSE(lease);
        lease.finish(core::release_outcome::hung);
    });
    EXPECT_EQ(fake->released, 1u);
    EXPECT_EQ(fake->misused, 0u);
    ASSERT_EQ(fake->outcomes.size(), 1u);
    EXPECT_EQ(fake->outcomes[0], core::release_outcome::ok);
}

TEST_P(hub_test, a_dropped_lease_is_released_as_aborted) {
    make(1);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        for (int i = 0; i < 3; ++i) {
            auto answer = co_await acquire(signal);
            EXPECT_TRUE(answer.has_value());
            if (answer) {
                permit_lease moved = *std::move(answer);
                permit_lease again = std::move(moved);
                EXPECT_FALSE(moved);  // NOLINT(bugprone-use-after-move): that is the question
            }
        }
    });
    EXPECT_EQ(fake->released, 3u);
    EXPECT_EQ(fake->misused, 0u);
    EXPECT_EQ(fake->outcomes, std::vector(3, core::release_outcome::aborted));
}

TEST_P(hub_test, a_refusal_carries_its_reason) {
    make(1);
    fake->largest = bytes(10);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        coord::submission large;
        large.peak_kv = bytes(11);
        const auto answer = co_await hub->acquire(large, signal, GetParam());
        EXPECT_FALSE(answer.has_value());
        EXPECT_EQ(answer.error().why, openai::reason::too_large);
    });
    EXPECT_EQ(fake->granted, 0u);
}

TEST_P(hub_test, b02_a_waiter_that_leaves_is_cancelled_at_once) {
    make(1);
    fake->held = true;
    run([&]() -> net::task<> {
        net::abort_signal signal;
        net::deadline leave(pool->executor_of(GetParam()), signal, 1);
        leave.arm(1ms);
        const auto answer = co_await acquire(signal);
        EXPECT_FALSE(answer.has_value());
        EXPECT_TRUE(signal.aborted());
        co_await until([&] { return fake->waiting() == 0; });
    });
    EXPECT_EQ(fake->granted, 0u);
    EXPECT_EQ(fake->misused, 0u);
}

TEST_P(hub_test, i5_a_grant_after_the_cancel_goes_back) {
    make(1);
    fake->held = true;
    fake->grant_although_cancelled();
    run([&]() -> net::task<> {
        net::abort_signal signal;
        net::deadline leave(pool->executor_of(GetParam()), signal, 1);
        leave.arm(1ms);
        const auto answer = co_await acquire(signal);
        EXPECT_FALSE(answer.has_value());
        co_await on_strand([&] { fake->let_go(); });
        co_await until([&] { return fake->granted == 1 && fake->running() == 0; });
    });
    EXPECT_EQ(fake->granted, 1u);
    EXPECT_EQ(fake->released, 1u);
    EXPECT_EQ(fake->misused, 0u);
}

TEST_P(hub_test, a_lost_permit_fires_the_signal_and_is_not_released) {
    make(1);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto answer = co_await acquire(signal);
        co_await on_strand([&] { fake->lose_all(); });
        net::event never(pool->executor_of(GetParam()));
        while (!signal.aborted()) {
            co_await never.wait(signal);
        }
        EXPECT_EQ(signal.cause().tag, tag_permit_lost);
        answer->finish(core::release_outcome::aborted);
        // The next one runs: the slot was free all the time.
        net::abort_signal other;
        const auto next = co_await acquire(other);
        EXPECT_TRUE(next.has_value());
    });
    EXPECT_EQ(fake->misused, 0u);
    EXPECT_EQ(fake->released, 1u) << "the second permit only";
}

TEST_P(hub_test, on_permit_loss_keep_leaves_the_request_alone) {
    make(1, {.cut_on_loss = false});
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto answer = co_await acquire(signal);
        co_await on_strand([&] { fake->lose_all(); });
        co_await on_strand([] {});
        EXPECT_FALSE(signal.aborted());
        answer->finish(core::release_outcome::ok);
    });
    EXPECT_EQ(fake->misused, 0u);
}

TEST_P(hub_test, live_permits_are_renewed_until_they_end) {
    make(2, {.permit_ttl = 7s, .renew_every = 2ms});
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto answer = co_await acquire(signal);
        std::size_t seen = 0;
        while (seen < 3) {
            co_await on_strand([&] { seen = fake->renewals.size(); });
        }
        answer->finish(core::release_outcome::ok);
        co_await until([&] { return fake->running() == 0; });
        co_await on_strand([&] { seen = fake->renewals.size(); });
        // Its renewals have stopped: another permit's would show up here.
        net::steady_timer pause(pool->executor_of(GetParam()), 10ms);
        co_await pause.async_wait(net::as_result);
        co_await on_strand([&] { EXPECT_EQ(fake->renewals.size(), seen); });
    });
    EXPECT_EQ(fake->misused, 0u);
    EXPECT_EQ(fake->renewals.front().ttl, 7s);
}

TEST_P(hub_test, a_requeued_permit_comes_back_on_another_worker) {
    std::vector<std::string> trouble;
    make(1, {.on_trouble = [&](const auto& worker) { trouble.push_back(worker->id); }});
    fake->add_worker("x", "http://127.0.0.1:2", 1);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto first = co_await acquire(signal);
        const std::string was = first->permit().worker->id;
        auto second =
            co_await hub->acquire_again(*std::move(first), core::requeue_why::failed, signal);
        EXPECT_TRUE(second.has_value());
        if (second) {
            EXPECT_NE(second->permit().worker->id, was);
        }
    });
    EXPECT_EQ(fake->granted, 2u);
    EXPECT_EQ(fake->released, 1u);
    EXPECT_EQ(fake->misused, 0u);
    EXPECT_EQ(trouble, std::vector<std::string>{"w"});
}

TEST_P(hub_test, b36_draining_refuses_who_waits_and_who_comes) {
    make(1);
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto running = co_await acquire(signal);
        net::asio::post(pool->executor_of(GetParam()), [&] { hub->drain(); });
        const auto waiting = co_await acquire(signal);
        EXPECT_FALSE(waiting.has_value());
        EXPECT_EQ(waiting.error().why, openai::reason::draining);
        EXPECT_GT(waiting.error().retry_after, duration::zero());
        const auto late = co_await acquire(signal);
        EXPECT_EQ(late.error().why, openai::reason::draining);
        running->finish(core::release_outcome::ok);
    });
    EXPECT_EQ(fake->granted, 1u);
    EXPECT_EQ(fake->released, 1u);
}

TEST_P(hub_test, a_lease_may_outlive_the_hub) {
    make(1);
    permit_lease kept;
    run([&]() -> net::task<> {
        net::abort_signal signal;
        auto answer = co_await acquire(signal);
        kept = *std::move(answer);
    });
    hub.reset();
    kept.finish(core::release_outcome::ok);
    EXPECT_EQ(fake->released, 0u);
}

/// Many requests on both threads, ended in every way: every permit comes back, the limit holds.
TEST_P(hub_test, b37_a_crowd_leaves_nothing_behind) {
    constexpr int requests = 400;
    constexpr std::uint32_t slots = 3;
    make(slots, {.renew_every = 1ms});
    int open = 2 * requests;
    const auto one = [&](std::size_t thread, std::uint64_t seed) -> net::task<> {
        random_source chance(seed);
        const auto where = pool->executor_of(thread);
        net::abort_signal signal;
        net::deadline leave(where, signal, 1);
        if (chance.chance(1, 3)) {
            leave.arm(std::chrono::microseconds(chance.below(3000)));
        }
        auto answer = co_await hub->acquire(plain(), signal, thread);
        if (answer && chance.chance(1, 2)) {
            net::steady_timer work(where, std::chrono::microseconds(chance.below(300)));
            co_await work.async_wait(net::as_result);
        }
        if (answer && chance.chance(1, 2)) {
            answer->finish(core::release_outcome::ok);
        }
    };
    for (int i = 0; i < requests; ++i) {
        for (std::size_t thread = 0; thread < 2; ++thread) {
            net::asio::co_spawn(
                pool->executor_of(thread),
                one(thread, static_cast<std::uint64_t>(2 * i) + thread),
                [&, this](std::exception_ptr failed) {
                    rethrow(failed);
                    net::asio::post(pool->executor_of(0), [&, this] {
                        if (--open == 0) {
                            net::asio::post(pool->executor_of(0), [this] { pool->stop(); });
                        }
                    });
                }
            );
        }
    }
    pool->run();
    EXPECT_EQ(open, 0);
    EXPECT_EQ(fake->running(), 0u);
    EXPECT_EQ(fake->waiting(), 0u);
    EXPECT_EQ(fake->released, fake->granted);
    EXPECT_EQ(fake->misused, 0u);
    EXPECT_LE(fake->peak, slots);
    EXPECT_GT(fake->granted, 0u);
    hub->close();
}

INSTANTIATE_TEST_SUITE_P(threads, hub_test, ::testing::Values(0, 1), [](const auto& info) {
    return info.param == 0 ? "strand" : "other";
});

}  // namespace
}  // namespace sluice::gateway
