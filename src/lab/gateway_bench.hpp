// `sluice bench gateway`: this gateway beside nginx as plain proxy (and, for bodies, beside a relay
// that only receives and sends), one worker process each, on the same upstream in the same run.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "lab/bench_report.hpp"

namespace sluice::lab {

struct gateway_bench_options {
    std::string self;  ///< Path of the sluice binary.
    /// throughput: requests a second, JSON and streams · latency: what one connection waits ·
    /// prompt: the same with a prompt of 220 KB · bodies: bytes a second of 1 MB bodies ·
    /// idle: memory of open streams · refusals: how fast a no comes at ten times the capacity.
    std::vector<std::string> parts = {
        "throughput", "latency", "prompt", "bodies", "idle", "refusals"
    };
    std::vector<int> connections = {64};  ///< Of the throughput part, a row each.
    int seconds = 5;
    int rounds = 3;       ///< The median counts; peers take turns inside a round.
    int streams = 8'000;  ///< Of the idle part.
};

/// `not_found` names a program that is missing (nginx, wrk).
result<gateway_bench_report> run_gateway_bench(const gateway_bench_options& options);

/// Parts with a client of their own.
result<gateway_bench_report> bench_idle_streams(const gateway_bench_options& options);
result<gateway_bench_report> bench_refusals(const gateway_bench_options& options);

}  // namespace sluice::lab
