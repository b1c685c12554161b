// Equal seeds give equal numbers on every machine: the first values are written down here.
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace sluice {

namespace {

TEST(random_source, the_published_values_of_splitmix64) {
    random_source zero(0);
    EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafU);
    EXPECT_EQ(zero.next(), 0x6e789e6aa1b965f4U);
    EXPECT_EQ(zero.next(), 0x06c45d188009454fU);
    random_source other(1234567);
    EXPECT_EQ(other.next(), 6457827717110365317U);
    EXPECT_EQ(other.next(), 3203168211198807973U);
    EXPECT_EQ(other.next(), 9817491932198370423U);
}

TEST(random_source, derived_draws_are_fixed_too) {
    random_source below(42);
    for (const std::uint64_t expected : {7U, 1U, 2U, 3U, 0U, 8U, 2U, 8U}) {
        EXPECT_EQ(below.below(10), expected);
    }
    random_source between(42);
    for (const std::int64_t expected : {3, -4, -2, -2, -5, 4, -3, 3}) {
        EXPECT_EQ(between.between(-5, 5), expected);
    }
}

TEST(random_source, draws_stay_in_their_range_and_reach_its_ends) {
    random_source source(7);
    std::array<int, 5> seen{};
    for (int round = 0; round < 1000; ++round) {
        const std::int64_t drawn = source.between(-2, 2);
        ASSERT_GE(drawn, -2);
        ASSERT_LE(drawn, 2);
        ++seen[static_cast<std::size_t>(drawn + 2)];
    }
    for (const int count : seen) {
        EXPECT_GT(count, 150);  // 200 expected
    }
    EXPECT_EQ(source.below(1), 0U);
    EXPECT_EQ(source.between(9, 9), 9);
    for (int round = 0; round < 100; ++round) {
        const auto wide = std::numeric_limits<std::uint64_t>::max();
        ASSERT_LT(source.below(wide), wide);
    }
}

TEST(random_source, chances_are_what_they_say) {
    random_source source(9);
    int hits = 0;
    for (int round = 0; round < 10'000; ++round) {
        hits += source.chance(1, 4) ? 1 : 0;
        ASSERT_FALSE(source.chance(0, 4));
        ASSERT_TRUE(source.chance(4, 4));
    }
    EXPECT_NEAR(hits, 2'500, 150);
}

}  // namespace

}  // namespace sluice
