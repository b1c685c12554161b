#include "obs/metrics.hpp"

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <sstream>

#include "base/assert.hpp"

namespace sluice::obs {

std::size_t this_cell() {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % cell_count;
    return mine;
}

std::uint64_t counter::value() const {
    std::uint64_t sum = 0;
    for (const cell& one : x_cells) {
        sum += one.value.load(std::memory_order_relaxed);
    }
    return sum;
}

histogram::histogram(std::span<const double> bounds)
    : x_bound_count(std::min(bounds.size(), max_buckets)) {
    SLUICE_ASSERT(std::ranges::is_sorted(bounds));
    std::copy_n(bounds.begin(), x_bound_count, x_bounds.begin());
}

void histogram::observe(double seconds) {
    const auto known = this->bounds();
    const auto place = std::ranges::lower_bound(known, seconds) - known.begin();
    cell& mine = x_cells[this_cell()];
    mine.buckets[static_cast<std::size_t>(place)].fetch_add(1, std::memory_order_relaxed);
    const double micros = std::clamp(seconds, 0.0, 1e9) * 1e6;
    mine.sum_micros.fetch_add(static_cast<std::uint64_t>(micros), std::memory_order_relaxed);
}

std::uint64_t histogram::in_bucket(std::size_t index) const {
    std::uint64_t sum = 0;
    for (const cell& one : x_cells) {
        sum += one.buckets[index].load(std::memory_order_relaxed);
    }
    return sum;
}

double histogram::sum() const {
    std::uint64_t micros = 0;
    for (const cell& one : x_cells) {
        micros += one.sum_micros.load(std::memory_order_relaxed);
    }
    return static_cast<double>(micros) / 1e6;
}

std::span<const double> latency_bounds() {
    static constexpr std::array bounds{
        0.001,
        0.0025,
        0.005,
        0.01,
        0.025,
        0.05,
        0.1,
        0.25,
        0.5,
        1.0,
        2.5,
        5.0,
        10.0,
        30.0,
        60.0,
        120.0,
        300.0,
        600.0
    };
    return bounds;
}

namespace {

enum class kind { counter, gauge, histogram };

/// One set of labels of a family; one of the three is there.
struct member {
    std::vector<prometheus::ClientMetric::Label> labels;
    std::unique_ptr<obs::counter> count;
    std::unique_ptr<obs::gauge> level;
    std::unique_ptr<obs::histogram> spread;
};

struct family {
    std::string name;
    std::string help;
    kind type = kind::counter;
    std::deque<member> members;
};

prometheus::MetricType type_of(kind value) {
    switch (value) {
        case kind::counter:
            return prometheus::MetricType::Counter;
        case kind::gauge:
            return prometheus::MetricType::Gauge;
        case kind::histogram:
            break;
    }
    return prometheus::MetricType::Histogram;
}

prometheus::ClientMetric::Histogram collect(const histogram& from) {
    prometheus::ClientMetric::Histogram to;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < from.bounds().size(); ++i) {
        below += from.in_bucket(i);
        to.bucket.push_back({below, from.bounds()[i]});
    }
    below += from.in_bucket(from.bounds().size());
    to.bucket.push_back({below, std::numeric_limits<double>::infinity()});
    to.sample_count = below;
    to.sample_sum = from.sum();
    return to;
}

prometheus::ClientMetric collect(const member& from) {
    prometheus::ClientMetric to;
    to.label = from.labels;
    if (from.count) {
        to.counter.value = static_cast<double>(from.count->value());
    } else if (from.level) {
        to.gauge.value = static_cast<double>(from.level->value());
    } else {
        to.histogram = collect(*from.spread);
    }
    return to;
}

}  // namespace

struct metrics::impl : prometheus::Collectable {
    std::deque<family> families;

    member& add(std::string_view name, std::string_view help, kind type, labels set) {
        auto found = std::ranges::find(families, name, &family::name);
        if (found == families.end()) {
            families.push_back({std::string(name), std::string(help), type, {}});
            found = std::prev(families.end());
        }
        SLUICE_ASSERT_MSG(found->type == type, std::string(name));
        member& made = found->members.emplace_back();
        for (const auto& [key, value] : set) {
            made.labels.push_back({std::string(key), std::string(value)});
        }
        return made;
    }

    std::vector<prometheus::MetricFamily> Collect() const override {
        std::vector<prometheus::MetricFamily> all;
        for (const family& one : families) {
            prometheus::MetricFamily& to = all.emplace_back();
            to.name = one.name;
            to.help = one.help;
            to.type = type_of(one.type);
            for (const member& each : one.members) {
                to.metric.push_back(collect(each));
            }
        }
        return all;
    }
};

metrics::metrics() : x_impl(std::make_unique<impl>()) {}
metrics::~metrics() = default;

counter& metrics::make_counter(std::string_view name, std::string_view help, labels set) {
    member& made = x_impl->add(name, help, kind::counter, set);
    made.count = std::make_unique<counter>();
    return *made.count;
}

gauge& metrics::make_gauge(std::string_view name, std::string_view help, labels set) {
    member& made = x_impl->add(name, help, kind::gauge, set);
    made.level = std::make_unique<gauge>();
    return *made.level;
}

histogram& metrics::make_histogram(
    std::string_view name, std::string_view help, labels set, std::span<const double> bounds
) {
    member& made = x_impl->add(name, help, kind::histogram, set);
    made.spread = std::make_unique<histogram>(bounds);
    return *made.spread;
}

std::string metrics::text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, x_impl->Collect());
    return std::move(out).str();
}

}  // namespace sluice::obs
