// What every backend promises of workers (contract I2, I6 in part, I7, I11 in part).
#include <array>

#include "conformance/backend.hpp"

namespace sluice::conformance {
namespace {

using core::decision_kind;
using numbers = std::vector<std::uint64_t>;

class registry : public pool_test {
protected:
    /// A report that has `free` left whatever the output.
    static core::report report_of(
        const std::string& worker,
        std::uint64_t number,
        std::int64_t free,
        std::vector<fencing_token> listed = {}
    ) {
        core::report made;
        made.worker = worker;
        made.epoch = worker_epoch{1};
        made.number = number;
        made.kv_capacity = bytes(1000);
        made.headroom.fill(bytes(free));
        made.listed = std::move(listed);
        return made;
    }
};

TEST_P(registry, watchers_see_every_change) {
    open({});
    std::vector<std::size_t> sizes;
    ports.registry->watch([&](auto workers) { sizes.push_back(workers.size()); });
    join("a", 1);
    join("b", 1);
    ports.registry->leave("a", worker_epoch{1});
    ASSERT_TRUE(await([&] { return sizes.size() == 4; }));
    EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 1, 2, 1}));
}

TEST_P(registry, a_draining_worker_finishes_what_it_has) {
    open({});
    join("a", 2);
    submit({ask(1)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    ports.registry->drain("a", worker_epoch{1});
    submit({ask(2)});
    EXPECT_FALSE(book.holds(id(2)));
    EXPECT_TRUE(book.holds(id(1)));
    join("b", 1);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    EXPECT_EQ(book.permit_of(id(2)).worker->id, "b");
}

TEST_P(registry, nothing_is_granted_on_a_worker_that_left) {
    open({});
    join("a", 2);
    join("b", 1);
    ports.registry->leave("a", worker_epoch{1});
    submit({ask(1), ask(2)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    EXPECT_EQ(book.permit_of(id(1)).worker->id, "b");
    EXPECT_FALSE(book.holds(id(2)));
}

TEST_P(registry, a_new_incarnation_starts_empty_and_its_tokens_rise) {
    open({});
    join("a", 1);
    submit({ask(1), ask(2)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    const fencing_token before = book.permit_of(id(1)).token;
    join("a", 1, bytes::max(), 2);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    EXPECT_EQ(book.permit_of(id(2)).worker->epoch, worker_epoch{2});
    EXPECT_GT(book.permit_of(id(2)).token, before);
    give_back(1);
    EXPECT_FALSE(book.of(decision_kind::released).empty());
}

TEST_P(registry, slots_change_without_a_second_limiter) {
    open({});
    join("a", 2);
    submit({ask(1), ask(2), ask(3), ask(4)});
    ASSERT_TRUE(await([&] { return granted().size() == 2; }));
    join("a", 4);
    ASSERT_TRUE(await([&] { return granted().size() == 4; }));
    join("a", 2);
    submit({ask(5)});
    give_back(1);
    give_back(2);
    EXPECT_FALSE(book.holds(id(5))) << "two still run on two slots";
    give_back(3);
    ASSERT_TRUE(await([&] { return book.holds(id(5)); }));
}

TEST_P(registry, an_agent_that_has_not_reported_has_no_headroom) {
    open({});
    join("a", 4, bytes(1000), 1, true);
    submit({ask(1, 10)});
    EXPECT_FALSE(book.holds(id(1)));
    ports.registry->report(report_of("a", 1, 1000));
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
}

TEST_P(registry, what_a_report_does_not_list_is_subtracted_once) {
    open({});
    join("a", 8, bytes(1000), 1, true);
    ports.registry->report(report_of("a", 1, 100));
    submit({ask(1, 60), ask(2, 60)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    EXPECT_FALSE(book.holds(id(2)));
    // The report contains the first one now and still has 60 to give: the second may come.
    ports.registry->report(report_of("a", 2, 60, {book.permit_of(id(1)).token}));
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
    // Repeated and older reports change nothing.
    ports.registry->report(report_of("a", 2, 1000));
    ports.registry->report(report_of("a", 1, 1000));
    submit({ask(3, 10)});
    EXPECT_FALSE(book.holds(id(3)));
}

TEST_P(registry, a_listed_token_keeps_its_slot_until_the_report_drops_it) {
    open({});
    join("a", 1, bytes(1000), 1, true);
    ports.registry->report(report_of("a", 1, 1000));
    submit({ask(1), ask(2)});
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    const fencing_token first = book.permit_of(id(1)).token;
    ports.registry->report(report_of("a", 2, 1000, {first}));
    give_back(1);
    EXPECT_FALSE(book.holds(id(2)));
    ports.registry->report(report_of("a", 3, 1000));
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
}

TEST_P(registry, a_silent_agent_turns_suspect_and_comes_back_by_one_request) {
    core::scheduler_config config;
    config.heartbeat = 15ms;
    open(config);
    join("a", 4, bytes(1000), 1, true);
    ports.registry->report(report_of("a", 1, 1000));
    ASSERT_TRUE(await([&] { return !book.of(decision_kind::worker_suspect).empty(); }));
    submit({ask(1), ask(2)});
    EXPECT_TRUE(granted().empty());
    ports.registry->report(report_of("a", 2, 1000));
    ASSERT_TRUE(await([&] { return book.holds(id(1)); }));
    EXPECT_FALSE(book.holds(id(2)));
    give_back(1);
    ASSERT_TRUE(await([&] { return book.holds(id(2)); }));
}

INSTANTIATE_TEST_SUITE_P(
    backends,
    registry,
    ::testing::Values(backend{"embedded", "embedded"}),
    [](const auto& info) { return info.param.name; }
);

}  // namespace
}  // namespace sluice::conformance
