#include "core/id_index.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace sluice::core {
namespace {

TEST(id_index, agrees_with_a_map_over_random_histories) {
    id_index ids;
    std::map<ticket_id, entry_index> expected;
    random_source chance(11);
    for (entry_index step = 0; step < 20'000; ++step) {
        const ticket_id id{session_id{chance.below(4)}, chance.below(300)};
        const auto known = expected.find(id);
        EXPECT_EQ(ids.find(id), known == expected.end() ? no_entry : known->second);
        if (known == expected.end()) {
            ids.insert(id, step);
            expected.emplace(id, step);
        } else {
            ids.erase(id);
            expected.erase(known);
        }
        ASSERT_EQ(ids.size(), expected.size());
    }
    std::size_t met = 0;
    const auto count = [&met](entry_index) { ++met; };
    ids.for_each(count);
    EXPECT_EQ(met, expected.size());
}

TEST(id_index, numbers_that_lie_far_apart_cost_no_more_than_a_page_each) {
    id_index ids;
    constexpr std::size_t count = 10'000;
    for (std::uint64_t i = 0; i < count; ++i) {
        ids.insert({session_id{i}, i << 40U}, static_cast<entry_index>(i));
    }
    EXPECT_LE(ids.memory_bytes(), count * 150);
    const std::size_t full = ids.memory_bytes();
    for (std::uint64_t i = 0; i < count; ++i) {
        ids.erase({session_id{i}, i << 40U});
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        ids.insert({session_id{i}, i}, static_cast<entry_index>(i));
    }
    EXPECT_LE(ids.memory_bytes(), full + count * 8)
        << "pages are used again, beside a list of free ones";
}

}  // namespace
}  // namespace sluice::core
