// What every backend promises of queue and permits (contract I1–I9), against the ports alone.
#include "base/random.hpp"
#include "conformance/backend.hpp"

namespace sluice::conformance {
namespace {

using core::decision_kind;
using core::decision_why;
using numbers = std::vector<std::uint64_t>;

class admission : public pool_test {};

TEST_P(admission, grants_up_to_the_slots_and_then_in_arrival_order) {
    open({});
    join("w", 2);
    submit({ask(1), ask(2), ask(3), ask(4)});
    ASSERT_TRUE(await([&] { return granted().size() == 2; }));
    EXPECT_EQ(granted(), (numbers{1, 2}));
    give_back(2);
    ASSERT_TRUE(await([&] { return granted().size() == 3; }));
    give_back(1);
    ASSERT_TRUE(await([&] { return granted().size() == 4; }));
    EXPECT_EQ(granted(), (numbers{1, 2, 3, 4}));
}

TEST_P(admission, serves_classes_in_order) {
    open({});
    join("w", 1);
    submit({ask(1)});
    submit(
        {ask(2, 1, core::priority::low),
         ask(3, 1, core::priority::normal),
         ask(4, 1, core::priority::high)}
    );
    for (const std::uint64_t next : {1, 4, 3}) {
        ASSERT_TRUE(await([&] { return book.holds(id(next)); })) << next;
        give_back(next);
    }
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
}

TEST_P(admission, ageing_lifts_a_low_ticket_past_younger_high_ones) {
    core::scheduler_config config;
    config.ageing = 40ms;
    open(config);
    join("w", 1);
    submit({ask(1), ask(2, 1, core::priority::low)});
    net::steady_timer aged(context.get_executor(), 100ms);
    bool rang = false;
    aged.async_wait([&](net::error_code) { rang = true; });
    ASSERT_TRUE(await([&] { return rang; }));
    submit({ask(3, 1, core::priority::high)});
    give_back(1);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
}

TEST_P(admission, memory_counts_beside_slots) {
    open({});
    join("w", 8, bytes(100));
    submit({ask(1, 60), ask(2, 60), ask(3, 40)});
    ASSERT_TRUE(await([&] { return granted().size() == 2; }));
    EXPECT_EQ(granted(), (numbers{1, 3}));
    give_back(1);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
}

TEST_P(admission, a_large_ticket_is_passed_by_so_many_and_no_more) {
    core::scheduler_config config;
    config.max_bypass = 3;
    open(config);
    join("w", 100, bytes(100));
    submit({ask(1, 60), ask(2, 80)});
    for (std::uint64_t small = 3; small < 13; ++small) {
        submit({ask(small, 10)});
    }
    ASSERT_TRUE(await([&] { return granted().size() == 4; }));
    EXPECT_EQ(granted(), (numbers{1, 3, 4, 5}));
    for (const std::uint64_t small : {3, 4, 5}) {
        give_back(small);
    }
    EXPECT_EQ(granted().size(), 4U);
    give_back(1);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    EXPECT_EQ(granted()[4], 2U);
}

TEST_P(admission, what_can_never_fit_is_refused_at_once) {
    open({});
    join("w", 2, bytes(100));
    submit({ask(1, 101)});
    ASSERT_TRUE(await([&] { return book.last_of(id(1)).has_value(); }));
    EXPECT_EQ(book.last_of(id(1))->kind, decision_kind::rejected);
    EXPECT_EQ(book.last_of(id(1))->why, decision_why::too_large);
    EXPECT_EQ(book.last_of(id(1))->retry_after, duration::zero());
}

TEST_P(admission, a_pool_without_workers_says_so) {
    open({});
    submit({ask(1)});
    ASSERT_TRUE(await([&] { return book.last_of(id(1)).has_value(); }));
    EXPECT_EQ(book.last_of(id(1))->why, decision_why::no_worker);
}

TEST_P(admission, the_queue_is_bounded_by_count_and_by_bytes) {
    core::scheduler_config config;
    config.max_length = 2;
    config.max_bytes = bytes(1000);
    open(config);
    join("w", 1);
    auto heavy = ask(3);
    heavy.queued_bytes = bytes(1001);
    submit({ask(1), ask(2), heavy, ask(4), ask(5)});
    ASSERT_TRUE(await([&] { return book.of(decision_kind::rejected).size() == 2; }));
    EXPECT_EQ(book.last_of(id(3))->why, decision_why::queue_full);
    EXPECT_EQ(book.last_of(id(5))->why, decision_why::queue_full);
    EXPECT_GE(book.last_of(id(5))->retry_after, 1s);
}

TEST_P(admission, waiting_ends_at_the_deadline) {
    open({});
    join("w", 1);
    submit({ask(1), ask(2, 1, core::priority::normal, 30ms)});
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::timed_out).empty(); }));
    EXPECT_EQ(book.last_of(id(2))->why, decision_why::queue_timeout);
    EXPECT_GE(book.last_of(id(2))->waited, 30ms);
}

TEST_P(admission, a_wait_of_zero_means_now_or_never) {
    open({});
    join("w", 1);
    submit({ask(1, 1, core::priority::normal, 0ms), ask(2, 1, core::priority::normal, 0ms)});
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::timed_out).empty(); }));
    EXPECT_EQ(granted(), (numbers{1}));
    EXPECT_EQ(book.last_of(id(2))->kind, decision_kind::timed_out);
}

TEST_P(admission, cancel_is_final_and_leaves_nothing_behind) {
    open({});
    join("w", 1);
    submit({ask(1), ask(2), ask(3)});
    const ticket_id gone = id(2);
    ports.admission->cancel(std::span(&gone, 1));
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::cancelled).empty(); }));
    give_back(1);
    ASSERT_TRUE(await([&] { return book.holds(id(3)); }));
    EXPECT_EQ(granted(), (numbers{1, 3}));
}

TEST_P(admission, a_cancel_that_loses_against_the_grant_changes_nothing) {
    open({});
    join("w", 1);
    submit({ask(1)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    const ticket_id late = id(1);
    ports.admission->cancel(std::span(&late, 1));
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::call_failed).empty(); }));
    EXPECT_TRUE(book.holds(id(1)));
    give_back(1);
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::released).empty(); }));
}

TEST_P(admission, nobody_releases_what_they_do_not_hold) {
    open({});
    join("w", 1);
    submit({ask(1), ask(2)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    const coord::permit held = book.permit_of(id(1));
    coord::release wrong{
        id(1), fencing_token{static_cast<std::uint64_t>(held.token) + 9}, {}, {}, {}, {}
    };
    coord::release unknown{id(99), held.token, {}, {}, {}, {}};
    ports.admission->release(std::span(&wrong, 1));
    ports.admission->release(std::span(&unknown, 1));
    ASSERT_TRUE(await([&] { return book.of(decision_kind::call_failed).size() == 2; }));
    EXPECT_EQ(granted(), (numbers{1}));
    const coord::release right{id(1), held.token, {}, {}, {}, {}};
    ports.admission->release(std::span(&right, 1));
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    ports.admission->release(std::span(&right, 1));
    ASSERT_TRUE(await([&] { return book.of(decision_kind::call_failed).size() == 3; }));
    EXPECT_EQ(book.all.back().failure, errc::not_held);
    EXPECT_TRUE(book.holds(id(2)));
}

TEST_P(admission, a_permit_expires_unless_it_is_renewed) {
    core::scheduler_config config;
    config.permit_ttl = 60ms;
    open(config);
    join("w", 2);
    submit({ask(1), ask(2)});
    ASSERT_TRUE(await([&] { return granted().size() == 2; }));
    const coord::permit kept = book.permit_of(id(1));
    const coord::renewal call{id(1), kept.token, 30s};
    ports.admission->renew(std::span(&call, 1));
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::lost).empty(); }));
    EXPECT_EQ(book.last_of(id(2))->why, decision_why::permit_expired);
    EXPECT_TRUE(book.holds(id(1)));
    submit({ask(3), ask(4)});
    ASSERT_TRUE(await([&] { return book.holds(id(3)); }));
    EXPECT_FALSE(book.holds(id(4)));
}

TEST_P(admission, a_requeued_ticket_keeps_its_place_and_avoids_the_worker) {
    open({});
    join("a", 1);
    submit({ask(1), ask(2), ask(3)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    const coord::permit held = book.permit_of(id(1));
    const coord::requeue call{id(1), held.token, core::requeue_why::failed, {}};
    ports.admission->requeue(std::span(&call, 1));
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    join("b", 1);
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    EXPECT_EQ(book.permit_of(id(1)).worker->id, "b");
    EXPECT_EQ(granted(), (numbers{1, 2, 1}));
}

TEST_P(admission, a_hung_request_frees_its_slot_and_makes_the_worker_suspect) {
    open({});
    join("w", 2);
    submit({ask(1), ask(2), ask(3)});
    ASSERT_TRUE(await([&] { return granted().size() == 2; }));
    give_back(1, core::release_outcome::hung);
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::worker_suspect).empty(); }));
    EXPECT_FALSE(book.holds(id(3)));
    ports.registry->probed("w", worker_epoch{1});
    ASSERT_TRUE(await([&] { return book.holds(id(3)); }));
    submit({ask(4)});
    give_back(2);
    EXPECT_FALSE(book.holds(id(4))) << "one request first";
    give_back(3);
    ASSERT_TRUE(await([&] { return book.holds(id(4)); }));
}

TEST_P(admission, the_same_ticket_twice_is_one_ticket) {
    open({});
    join("w", 2);
    submit({ask(1), ask(1)});
    submit({ask(1)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    give_back(1);
    EXPECT_EQ(granted(), (numbers{1}));
}

TEST_P(admission, a_storm_of_everything_keeps_the_books) {
    core::scheduler_config config;
    config.permit_ttl = 20ms;
    config.ageing = 5ms;
    config.max_length = 40;
    open(config);
    join("a", 3, bytes(120));
    join("b", 5, bytes(200));
    random_source chance(20260101);
    std::uint64_t next = 1;
    for (int round = 0; round < 3000; ++round) {
        const auto dice = chance.below(10);
        if (dice < 5 || book.live.empty()) {
            const auto cls = static_cast<core::priority>(chance.below(3));
            submit({ask(next++, chance.between(1, 130), cls, duration(chance.between(0, 30'000)))});
        } else if (dice < 8) {
            auto held = book.live.begin();
            std::advance(held, static_cast<std::ptrdiff_t>(chance.below(book.live.size())));
            const coord::release call{held->first, held->second.token, {}, {}, tokens(3), {}};
            ports.admission->release(std::span(&call, 1));
        } else if (dice < 9) {
            const ticket_id gone = id(1 + chance.below(next));
            ports.admission->cancel(std::span(&gone, 1));
        } else {
            const auto& [held, permit] = *book.live.begin();
            const coord::requeue call{held, permit.token, core::requeue_why::refused, {}};
            ports.admission->requeue(std::span(&call, 1));
            ports.registry->probed(chance.chance(1, 2) ? "a" : "b", worker_epoch{1});
        }
        settle();
        ASSERT_FALSE(book.breach) << *book.breach;
    }
    // Nothing more is asked: every ticket ends, by its deadline or its permit's expiry.
    ASSERT_TRUE(await([&] {
        std::set<ticket_id> open_tickets;
        for (const coord::outcome& one : book.all) {
            if (one.kind == decision_kind::granted || one.kind == decision_kind::requeued) {
                open_tickets.insert(one.ticket);
            } else if (one.kind != decision_kind::call_failed) {
                open_tickets.erase(one.ticket);
            }
        }
        return open_tickets.empty();
    }));
}

INSTANTIATE_TEST_SUITE_P(
    backends,
    admission,
    ::testing::Values(backend{"embedded", "embedded"}),
    [](const auto& info) { return info.param.name; }
);

}  // namespace
}  // namespace sluice::conformance
