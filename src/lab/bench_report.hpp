// What the parts of `sluice bench gateway` have in common: rows as wrk measured them, and the few
// figures that are drawn from them, each beside the goal that it is held against.
#pragma once

#include <string>
#include <vector>

namespace sluice::lab {

struct gateway_bench_row {
    std::string peer;  ///< "direct", "relay", "nginx", "sluice"
    std::string path;  ///< "json", "sse", "prompt", "body"
    int connections = 0;
    double rps = 0;
    double rps_low = 0;  ///< Lowest and highest round.
    double rps_high = 0;
    double p50_ms = 0;
    double p50_low = 0;
    double p50_high = 0;
    double p99_ms = 0;
    double cpu_us_per_request = 0;
    long errors = 0;
};

struct bench_figure {
    std::string name;
    double value = 0;
    std::string unit;  ///< "ms", "bytes", "" for a ratio
    std::string goal;  ///< "at most 0.1"; empty: shown for comparison
};

struct gateway_bench_report {
    std::vector<gateway_bench_row> rows;
    std::vector<bench_figure> figures;

    const gateway_bench_row* find(const std::string& peer, const std::string& path, int connections)
        const;
    void append(gateway_bench_report more);
};

/// {"rows":[…],"ratio_to_nginx":{"json_64":…},"figures":[…]}
std::string to_json(const gateway_bench_report& report);
std::string to_table(const gateway_bench_report& report);

}  // namespace sluice::lab
