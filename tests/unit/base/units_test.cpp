// Quantities saturate at the range that a double holds exactly; they never wrap.
#include "base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice {

namespace {

constexpr std::int64_t limit = 9'007'199'254'740'991;

TEST(units, the_limit_is_the_largest_exact_integer_of_a_double) {
    EXPECT_EQ(quantity_limit, limit);
    EXPECT_EQ(static_cast<std::int64_t>(static_cast<double>(limit)), limit);
    // The next one but one is already a neighbour's.
    EXPECT_EQ(static_cast<double>(limit + 2), static_cast<double>(limit + 1));
    EXPECT_EQ(bytes::max().count(), limit);
    EXPECT_EQ(bytes::zero().count(), 0);
    EXPECT_EQ(bytes().count(), 0);
}

TEST(units, construction_clamps) {
    EXPECT_EQ(tokens(std::numeric_limits<std::int64_t>::max()).count(), limit);
    EXPECT_EQ(tokens(std::numeric_limits<std::int64_t>::min()).count(), -limit);
    EXPECT_EQ(tokens(limit + 1).count(), limit);
    EXPECT_EQ(tokens(limit).count(), limit);
    EXPECT_EQ(tokens(-limit - 1).count(), -limit);
}

TEST(units, sums_and_differences_saturate) {
    EXPECT_EQ((bytes(2) + bytes(3)).count(), 5);
    EXPECT_EQ((bytes::max() + bytes(1)).count(), limit);
    EXPECT_EQ((bytes::max() + bytes::max()).count(), limit);
    EXPECT_EQ((bytes(2) - bytes(3)).count(), -1);
    EXPECT_EQ((bytes(-limit) - bytes(1)).count(), -limit);
    EXPECT_EQ((bytes(-limit) - bytes::max()).count(), -limit);
    bytes sum = bytes::max();
    sum += bytes(7);
    EXPECT_EQ(sum, bytes::max());
    sum -= bytes(7);
    EXPECT_EQ(sum.count(), limit - 7);
}

TEST(units, products_saturate) {
    EXPECT_EQ((tokens(3) * 4).count(), 12);
    EXPECT_EQ((tokens(3) * -4).count(), -12);
    EXPECT_EQ((tokens(std::int64_t{1} << 40) * (std::int64_t{1} << 40)).count(), limit);
    EXPECT_EQ((tokens::max() * std::numeric_limits<std::int64_t>::max()).count(), limit);
    EXPECT_EQ((tokens::max() * std::numeric_limits<std::int64_t>::min()).count(), -limit);
}

TEST(units, order_is_that_of_the_counts) {
    EXPECT_LT(tokens(1), tokens(2));
    EXPECT_EQ(tokens(2), tokens(2));
    EXPECT_GT(tokens(-1), tokens(-2));
}

TEST(units, blocks_are_rounded_up) {
    EXPECT_EQ(round_up_to_block(tokens(0), 16).count(), 0);
    EXPECT_EQ(round_up_to_block(tokens(1), 16).count(), 16);
    EXPECT_EQ(round_up_to_block(tokens(16), 16).count(), 16);
    EXPECT_EQ(round_up_to_block(tokens(17), 16).count(), 32);
    EXPECT_EQ(round_up_to_block(tokens(17), 1).count(), 17);
    EXPECT_EQ(round_up_to_block(tokens::max(), 16).count(), limit);
}

TEST(units, never_is_later_than_centuries) {
    EXPECT_GT(never, instant(std::chrono::hours(24 * 365 * 200)));
    EXPECT_EQ(never.time_since_epoch().count(), limit);
}

}  // namespace

}  // namespace sluice
