#include "load/statistics.hpp"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

TEST(samples, nearest_rank_without_interpolation) {
    samples none;
    EXPECT_FALSE(none.quantile(0.5));

    samples one;
    one.add(7);
    EXPECT_EQ(one.quantile(0.01), 7);
    EXPECT_EQ(one.quantile(1), 7);

    samples hundred;
    for (int i = 100; i >= 1; --i) {
        hundred.add(i);
    }
    EXPECT_EQ(hundred.quantile(0.5), 50);
    EXPECT_EQ(hundred.quantile(0.9), 90);
    EXPECT_EQ(hundred.quantile(0.99), 99);
    EXPECT_EQ(hundred.quantile(1), 100);
    hundred.add(0.5);  // 101 samples: rank 51 of 0.5, 1, 2 …
    EXPECT_EQ(hundred.quantile(0.5), 50);
    EXPECT_EQ(hundred.quantile(0.99), 99);
    EXPECT_EQ(hundred.quantile(0.001), 0.5);
}

TEST(jain, from_alike_to_one_has_all) {
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{42}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 3, 3}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{9, 0, 0}), 1.0 / 3);
    EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 2, 3}), 36.0 / 42);
}

}  // namespace
}  // namespace sluice::load
