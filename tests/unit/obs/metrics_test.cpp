#include "obs/metrics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace sluice::obs {
namespace {

bool has_line(const std::string& page, const std::string& line) {
    return ("\n" + page).find("\n" + line + "\n") != std::string::npos;
}

TEST(metrics, families_print_as_prometheus_reads_them) {
    metrics all;
    all.make_counter("sluice_a_total", "A.", {{"pool", "p"}, {"outcome", "ok"}}).add(3);
    all.make_counter("sluice_a_total", "A.", {{"pool", "p"}, {"outcome", "shed"}});
    all.make_gauge("sluice_g", "G.").set(-2);
    const std::string page = all.text();
    EXPECT_TRUE(has_line(page, "# TYPE sluice_a_total counter")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_a_total{pool="p",outcome="ok"} 3)")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_a_total{pool="p",outcome="shed"} 0)")) << page;
    EXPECT_TRUE(has_line(page, "sluice_g -2")) << page;
}

TEST(metrics, label_values_are_escaped) {
    metrics all;
    all.make_gauge("sluice_g", "G.", {{"pool", "a\"b\\c\nd"}}).set(1);
    EXPECT_TRUE(has_line(all.text(), R"(sluice_g{pool="a\"b\\c\nd"} 1)")) << all.text();
}

TEST(metrics, buckets_are_cumulative_and_closed_above) {
    metrics all;
    const std::array bounds{0.1, 1.0};
    histogram& times = all.make_histogram("sluice_s", "S.", {{"pool", "p"}}, bounds);
    times.observe(0.05);
    times.observe(0.1);
    times.observe(0.5);
    times.observe(7.0);
    const std::string page = all.text();
    EXPECT_TRUE(has_line(page, R"(sluice_s_bucket{pool="p",le="0.1"} 2)")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_s_bucket{pool="p",le="1"} 3)")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_s_bucket{pool="p",le="+Inf"} 4)")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_s_count{pool="p"} 4)")) << page;
    EXPECT_TRUE(has_line(page, R"(sluice_s_sum{pool="p"} 7.65)")) << page;
}

TEST(metrics, nothing_is_lost_between_threads) {
    metrics all;
    counter& sum = all.make_counter("sluice_n_total", "N.");
    histogram& spread = all.make_histogram("sluice_s", "S.");
    constexpr int each = 20'000;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 10; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    sum.add();
                    spread.observe(0.002);
                }
            });
        }
    }
    EXPECT_EQ(sum.value(), 10u * each);
    EXPECT_EQ(spread.in_bucket(1), 10u * each);
}

}  // namespace
}  // namespace sluice::obs
