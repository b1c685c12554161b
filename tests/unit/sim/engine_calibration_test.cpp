// The default profile against the recorded run of a real engine: same arrivals, same lengths.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "sim/engine_model.hpp"
#include "unit/sim/measured_run.hpp"

namespace sluice::sim::test {
namespace {

struct latencies {
    std::vector<double> ttft;
    std::vector<double> tpot;
    double makespan = 0;
    std::int64_t preemptions = 0;
};

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

latencies measured(const std::vector<measured_request>& run) {
    latencies all;
    double end = 0;
    for (const measured_request& r : run) {
        all.ttft.push_back(r.first_token - r.queued);
        all.tpot.push_back((r.last_token - r.first_token) / (r.output - 1));
        end = std::max(end, r.last_token);
    }
    all.makespan = end - run.front().queued;
    return all;
}

latencies modelled(const std::vector<measured_request>& run, const engine_profile& profile) {
    engine_model engine({.profile = profile, .slots = 256, .blocks = 2588, .null_block = true});
    std::vector<engine_event> events;
    const auto at = [](double seconds) { return instant(duration(std::llround(seconds * 1e6))); };
    for (std::size_t i = 0; i < run.size(); ++i) {
        const engine_request request{
            engine_request_id(i),
            tokens(std::llround(run[i].prompt)),
            tokens(std::llround(run[i].output))
        };
        EXPECT_EQ(engine.submit(at(run[i].arrival), request, events), submit_outcome::accepted);
    }
    while (engine.next_wakeup() != never) {
        engine.advance(engine.next_wakeup(), events);
    }
    latencies all;
    std::map<engine_request_id, double> first;
    for (const engine_event& event : events) {
        const double when = static_cast<double>(event.at.time_since_epoch().count()) / 1e6;
        const measured_request& r = run[static_cast<std::size_t>(event.id)];
        if (event.kind == engine_event_kind::first_token) {
            first[event.id] = when;
            all.ttft.push_back(when - r.arrival);
        } else if (event.kind == engine_event_kind::finished) {
            all.tpot.push_back((when - first[event.id]) / (r.output - 1));
            all.makespan = when;
        }
    }
    all.preemptions = engine.stats().preemptions;
    return all;
}

TEST(engine_calibration, default_profile_meets_the_recorded_run) {
    const std::string path =
        SLUICE_SHARED_DATA "/vllm-measured/RTX4090_Llama-3.1-8B_requests.jsonl";
    const auto run = read_measured_run(path);
    if (run.empty()) {
        GTEST_SKIP() << "the recorded run is not on this machine (" << path
                     << "): the calibration is not checked";
    }
    ASSERT_EQ(run.size(), 300u);
    const latencies real = measured(run);
    const latencies model = modelled(run, *find_engine_profile(default_profile_name));
    ASSERT_EQ(model.ttft.size(), run.size());
    ASSERT_EQ(model.tpot.size(), run.size());
    const auto show = [](const char* what, double a, double b) {
        std::printf(
            "%-22s measured %9.4f  model %9.4f  %+5.1f %%\n", what, a, b, 100 * (b / a - 1)
        );
    };
    show("TTFT mean, s", mean(real.ttft), mean(model.ttft));
    show("TTFT p50, s", percentile(real.ttft, .5), percentile(model.ttft, .5));
    show("TTFT p99, s", percentile(real.ttft, .99), percentile(model.ttft, .99));
    show("TPOT mean, s", mean(real.tpot), mean(model.tpot));
    show("TPOT p50, s", percentile(real.tpot, .5), percentile(model.tpot, .5));
    show("TPOT p99, s", percentile(real.tpot, .99), percentile(model.tpot, .99));
    show("makespan, s", real.makespan, model.makespan);
    std::printf("preemptions in the model: %lld\n", static_cast<long long>(model.preemptions));
    EXPECT_NEAR(mean(model.ttft) / mean(real.ttft), 1.0, 0.10);
    EXPECT_NEAR(mean(model.tpot) / mean(real.tpot), 1.0, 0.05);
    // The means of a fit could agree by accident; the shape may not be far off either.
    EXPECT_NEAR(percentile(model.ttft, .99) / percentile(real.ttft, .99), 1.0, 0.10);
    EXPECT_NEAR(percentile(model.tpot, .99) / percentile(real.tpot, .99), 1.0, 0.10);
    EXPECT_NEAR(model.makespan / real.makespan, 1.0, 0.10);
}

}  // namespace
}  // namespace sluice::sim::test
