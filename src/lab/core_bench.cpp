#include "lab/core_bench.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace sluice::lab {

namespace {

/// How long a request of the benchmark runs, on average: 100 workers of 8 slots serve 400 a second.
constexpr duration hold = std::chrono::seconds(2);
constexpr std::int64_t largest_prompt = 2'000;
constexpr std::int64_t predicted = 256;

std::size_t heap_in_use() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

core::scheduler_config config_for(std::size_t waiting) {
    core::scheduler_config config;
    config.max_length = waiting + 1'000;
    config.max_bytes = bytes::max();
    // The queue is filled while the permits of the first requests are held.
    config.permit_ttl = std::chrono::hours(24);
    return config;
}

/// Sorts `samples`; in µs.
double percentile(std::vector<std::uint32_t>& samples, std::size_t of_hundred) {
    if (samples.empty()) {
        return 0;
    }
    const std::size_t at = std::min(samples.size() - 1, samples.size() * of_hundred / 100);
    std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(at));
    return static_cast<double>(samples[at]) / 1000.0;
}

}  // namespace

core_bench_pool::core_bench_pool(const core_bench_options& options, std::size_t waiting)
    : x_options(options), x_scheduler(config_for(waiting)), x_chance(options.seed) {
    const std::size_t all_slots = options.workers * options.slots;
    x_step = hold / static_cast<std::int64_t>(all_slots);
    // Nothing may time out: the last in the queue waits for its whole length.
    const duration whole = x_step * static_cast<std::int64_t>(waiting + all_slots);
    x_wait = std::max<duration>(std::chrono::seconds(30), 3 * whole);
    for (std::size_t at = 0; at < std::max<std::size_t>(options.tenants, 1); ++at) {
        x_tenants.push_back("tenant-" + std::to_string(at));
    }
    for (std::size_t at = 0; at < options.workers; ++at) {
        const std::string name = "worker-" + std::to_string(at);
        core::worker_joined joined;
        joined.worker = name;
        joined.epoch = worker_epoch{1};
        joined.slots = options.slots;
        // Eight average requests take about two thirds: memory is accounted, slots decide mostly.
        joined.kv_capacity = bytes(options.slots * (largest_prompt * 3 / 4 + predicted));
        x_scheduler.step(x_now, joined, x_decided);
    }
    while (x_running.size() < all_slots && x_scheduler.waiting() < 64) {
        submit();
    }
    const std::size_t before = heap_in_use();
    const std::size_t waiting_before = x_scheduler.waiting();
    while (x_scheduler.waiting() < waiting) {
        // Arrivals are spread over the time the queue needs to grow so long.
        x_now += x_step;
        submit();
    }
    const std::size_t added = x_scheduler.waiting() - waiting_before;
    if (added > 0) {
        const std::size_t now = heap_in_use();
        x_bytes_per_ticket =
            static_cast<double>(now - std::min(now, before)) / static_cast<double>(added);
    }
}

void core_bench_pool::take(const std::vector<core::decision>& decided) {
    for (const core::decision& one : decided) {
        if (one.kind == core::decision_kind::granted) {
            x_running.push_back({one.ticket, one.token});
        }
        SLUICE_ASSERT(one.kind != core::decision_kind::rejected);
        SLUICE_ASSERT(one.kind != core::decision_kind::timed_out);
        SLUICE_ASSERT(one.kind != core::decision_kind::call_failed);
    }
}

void core_bench_pool::submit() {
    // One draw gives class, tenant and size.
    random_source chance(x_chance++);
    const std::uint64_t drawn = chance.next();
    core::ticket_submitted what;
    // Sixteen gateways, each of which numbers its own tickets.
    const std::uint64_t session = drawn & (x_next_ticket.size() - 1);
    what.what.id = {session_id{1 + session}, x_next_ticket[session]++};
    constexpr std::array<core::priority, 8> classes = {
        core::priority::high,
        core::priority::normal,
        core::priority::normal,
        core::priority::normal,
        core::priority::normal,
        core::priority::normal,
        core::priority::normal,
        core::priority::low,
    };
    what.what.cls = classes[(drawn >> 4U) & 7U];
    what.what.tenant = x_tenants[(drawn >> 8U) % x_tenants.size()];
    const auto prompt = static_cast<std::int64_t>((drawn >> 32U) % largest_prompt) + 1;
    what.what.prompt_kv = bytes(prompt);
    what.what.peak_kv = bytes(prompt + predicted);
    what.what.predicted = tokens(predicted);
    what.what.queued_bytes = bytes(4 * prompt);
    what.what.wait = x_wait;
    x_decided.clear();
    x_scheduler.step(x_now, what, x_decided);
    take(x_decided);
}

void core_bench_pool::one() {
    x_now += x_step;
    if (x_oldest < x_running.size()) {
        core::permit_released ended;
        ended.id = x_running[x_oldest].id;
        ended.token = x_running[x_oldest].token;
        ended.prompt = tokens(1'000);
        ended.output = tokens(predicted);
        ++x_oldest;
        const std::size_t queued = x_scheduler.waiting();
        x_decided.clear();
        x_scheduler.step(x_now, ended, x_decided);
        take(x_decided);
        x_misses += queued > 0 && x_scheduler.waiting() == queued ? 1 : 0;
    }
    submit();
    // Ended permits are dropped now and then, so that the list stays small.
    if (x_oldest > 4'096) {
        x_running.erase(
            x_running.begin(), x_running.begin() + static_cast<std::ptrdiff_t>(x_oldest)
        );
        x_oldest = 0;
    }
}

std::vector<core_bench_row> run_core_bench(const core_bench_options& options) {
    using clock = std::chrono::steady_clock;
    std::vector<core_bench_row> rows;
    for (const std::size_t waiting : options.waiting) {
        core_bench_pool pool(options, waiting);
        for (std::size_t at = 0; at < options.pairs / 10; ++at) {
            pool.one();
        }
        std::vector<std::uint32_t> nanoseconds;
        nanoseconds.reserve(options.pairs);
        const auto begin = clock::now();
        auto last = begin;
        for (std::size_t at = 0; at < options.pairs; ++at) {
            pool.one();
            const auto now = clock::now();
            nanoseconds.push_back(static_cast<std::uint32_t>((now - last).count()));
            last = now;
        }
        const std::chrono::duration<double> whole = last - begin;
        core_bench_row row;
        row.waiting = waiting;
        row.workers = options.workers;
        row.pairs_per_s = static_cast<double>(options.pairs) / std::max(whole.count(), 1e-9);
        row.p50_us = percentile(nanoseconds, 50);
        row.p99_us = percentile(nanoseconds, 99);
        row.bytes_per_ticket = pool.bytes_per_ticket();
        rows.push_back(row);
    }
    return rows;
}

std::string to_json(const std::vector<core_bench_row>& rows) {
    std::string text = "{\"rows\":[";
    for (const core_bench_row& row : rows) {
        fmt::format_to(
            std::back_inserter(text),
            "{}{{\"waiting\":{},\"workers\":{},\"pairs_per_s\":{:.0f},\"p50_us\":{:.3f},"
            "\"p99_us\":{:.3f},\"bytes_per_ticket\":{:.1f}}}",
            text.back() == '[' ? "" : ",",
            row.waiting,
            row.workers,
            row.pairs_per_s,
            row.p50_us,
            row.p99_us,
            row.bytes_per_ticket
        );
    }
    return text + "]}";
}

}  // namespace sluice::lab
