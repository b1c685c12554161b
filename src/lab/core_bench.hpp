// `sluice bench core`: how fast the scheduler decides, and what a waiting ticket costs in memory.
//
// Steady state: every slot of the pool is taken and `waiting` tickets queue. A pair is one ticket's
// way: a release hands its slot to the next in line (granted in the same step), and a new ticket
// arrives at the end. Virtual time runs at the pool's service rate, so promotions, deadlines and
// expiries are part of the figures. One thread, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/scheduler.hpp"

namespace sluice::lab {

struct core_bench_options {
    std::vector<std::size_t> waiting = {0, 10'000, 100'000, 1'000'000};
    std::size_t workers = 100;
    std::uint32_t slots = 8;
    /// Pairs measured a row, after a tenth of them to warm up.
    std::size_t pairs = 400'000;
    std::size_t tenants = 1'000;
    std::uint64_t seed = 1;
};

struct core_bench_row {
    std::size_t waiting = 0;
    std::size_t workers = 0;
    double pairs_per_s = 0;
    double p50_us = 0;
    double p99_us = 0;
    /// Heap bytes a waiting ticket; zero when nothing waits.
    double bytes_per_ticket = 0;
};

/// A pool in steady state; one() is one pair. For the rows below and for bench/core_bench.cpp.
class core_bench_pool {
public:
    core_bench_pool(const core_bench_options& options, std::size_t waiting);
    void one();
    double bytes_per_ticket() const { return x_bytes_per_ticket; }
    /// Pairs whose release did not lead to a grant in the same step. Zero, or the figures are none.
    std::uint64_t misses() const { return x_misses; }

private:
    struct permit {
        ticket_id id;
        fencing_token token{};
    };
    void submit();
    void take(const std::vector<core::decision>& decided);

    core_bench_options x_options;
    core::scheduler x_scheduler;
    std::vector<std::string> x_tenants;
    std::vector<permit> x_running;
    std::vector<core::decision> x_decided;
    std::size_t x_oldest = 0;
    std::array<std::uint64_t, 16> x_next_ticket{};
    std::uint64_t x_chance;
    std::uint64_t x_misses = 0;
    duration x_step = duration::zero();
    duration x_wait = duration::zero();
    instant x_now;
    double x_bytes_per_ticket = 0;
};

std::vector<core_bench_row> run_core_bench(const core_bench_options& options);
/// `{"rows":[{"waiting","workers","pairs_per_s","p50_us","p99_us","bytes_per_ticket"}]}`
std::string to_json(const std::vector<core_bench_row>& rows);

}  // namespace sluice::lab
