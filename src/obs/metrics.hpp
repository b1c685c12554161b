// Counters, gauges and histograms that cost a few nanoseconds on the request path.
//
// Used by every room above obs. Families are made at start-up, the hot path keeps references.
//
//  1. add(), set() and observe() take no lock and allocate nothing; counters are spread over cells,
//     a thread has its own, so threads do not fight for a cache line.
//  2. Label values come from the configuration or an enum, never from a client: nothing here grows
//     with traffic.
//  3. A reference returned by metrics lives as long as it.
//  4. text() is the Prometheus text format (prometheus-cpp prints it).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::obs {

/// Cells a counter is spread over. A power of two.
inline constexpr std::size_t cell_count = 8;
/// The cell of the calling thread.
std::size_t this_cell();

class counter {
public:
    void add(std::uint64_t n = 1) {
        x_cells[this_cell()].value.fetch_add(n, std::memory_order_relaxed);
    }
    std::uint64_t value() const;

private:
    struct alignas(64) cell {
        std::atomic<std::uint64_t> value{0};
    };
    std::array<cell, cell_count> x_cells;
};

class gauge {
public:
    void set(std::int64_t value) { x_value.store(value, std::memory_order_relaxed); }
    void add(std::int64_t n) { x_value.fetch_add(n, std::memory_order_relaxed); }
    std::int64_t value() const { return x_value.load(std::memory_order_relaxed); }

private:
    std::atomic<std::int64_t> x_value{0};
};

/// Buckets by upper bound in seconds, at most max_buckets.
class histogram {
public:
    static constexpr std::size_t max_buckets = 20;

    explicit histogram(std::span<const double> bounds);

    void observe(double seconds);

    std::span<const double> bounds() const { return {x_bounds.data(), x_bound_count}; }
    /// Observations in bucket `index`; index bounds().size(): above all of them. Not cumulative.
    std::uint64_t in_bucket(std::size_t index) const;
    double sum() const;

private:
    struct alignas(64) cell {
        std::array<std::atomic<std::uint64_t>, max_buckets + 1> buckets{};
        std::atomic<std::uint64_t> sum_micros{0};
    };
    std::array<double, max_buckets> x_bounds{};
    std::size_t x_bound_count = 0;
    std::array<cell, cell_count> x_cells;
};

/// From one millisecond to ten minutes: queue, first token, whole request.
std::span<const double> latency_bounds();

using label = std::pair<std::string_view, std::string_view>;
using labels = std::initializer_list<label>;

class metrics {
public:
    metrics();
    ~metrics();
    metrics(const metrics&) = delete;
    metrics& operator=(const metrics&) = delete;

    /// Same name and help for every member of a family; each set of labels once. Start-up only.
    counter& make_counter(std::string_view name, std::string_view help, labels set = {});
    gauge& make_gauge(std::string_view name, std::string_view help, labels set = {});
    histogram& make_histogram(
        std::string_view name,
        std::string_view help,
        labels set = {},
        std::span<const double> bounds = latency_bounds()
    );

    std::string text() const;

private:
    struct impl;
    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::obs
