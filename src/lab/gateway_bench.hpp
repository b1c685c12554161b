// `sluice bench gateway`: requests a second through this gateway and through nginx as plain proxy,
// one worker process each, on the same upstream in the same run. wrk is the client.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace sluice::lab {

struct gateway_bench_options {
    std::string self;  ///< Path of the sluice binary.
    std::vector<int> connections = {1, 64};
    int seconds = 5;
    int rounds = 3;  ///< The median counts; peers take turns inside a round.
};

struct gateway_bench_row {
    std::string peer;  ///< "direct", "nginx", "sluice"
    std::string path;  ///< "json", "sse"
    int connections = 0;
    double rps = 0;
    double rps_low = 0;  ///< Lowest and highest round.
    double rps_high = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double cpu_us_per_request = 0;
    long errors = 0;
};

/// `not_found` names a program that is missing (nginx, wrk).
result<std::vector<gateway_bench_row>> run_gateway_bench(const gateway_bench_options& options);

/// {"rows":[…],"ratio_to_nginx":{"json_64":…}}
std::string to_json(const std::vector<gateway_bench_row>& rows);
std::string to_table(const std::vector<gateway_bench_row>& rows);

}  // namespace sluice::lab
