// The scheduler's steady state at several lengths of the queue. The full figures, with memory and
// percentiles, come from `sluice bench core`.
#include <benchmark/benchmark.h>

#include "lab/core_bench.hpp"

namespace {

void pair_with_waiting(benchmark::State& state) {
    const auto waiting = static_cast<std::size_t>(state.range(0));
    sluice::lab::core_bench_pool pool({}, waiting);
    for (auto _ : state) {
        pool.one();
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["bytes_per_ticket"] = pool.bytes_per_ticket();
    state.counters["misses"] = static_cast<double>(pool.misses());
}
BENCHMARK(pair_with_waiting)->Arg(0)->Arg(10'000)->Arg(100'000);

}  // namespace

BENCHMARK_MAIN();
