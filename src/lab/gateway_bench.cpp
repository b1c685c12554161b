#include "lab/gateway_bench.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <utility>

#include "lab/bench_stage.hpp"
#include "lab/child.hpp"
#include "lab/wrk.hpp"

namespace sluice::lab {

namespace {

constexpr std::size_t small_prompt = 200;
constexpr std::size_t long_prompt = std::size_t{220} * 1000;
constexpr std::size_t big_body = 1'000'000;
constexpr int body_connections = 8;

using peers = std::vector<const peer*>;

result<gateway_bench_report> add(
    gateway_bench_report to, result<std::vector<gateway_bench_row>> rows
) {
    if (!rows) {
        return std::unexpected(rows.error());
    }
    to.append({.rows = *std::move(rows), .figures = {}});
    return to;
}

wrk_run run_of(const gateway_bench_options& options, std::string path, int connections) {
    wrk_run what;
    what.path = std::move(path);
    what.connections = connections;
    what.seconds = options.seconds;
    what.rounds = options.rounds;
    return what;
}

/// JSON and streams at so many connections each.
result<gateway_bench_report> small_requests(
    const gateway_bench_options& options, const std::vector<int>& connections
) {
    bench_stage stage(options.self);
    if (auto started = stage.start({}); !started) {
        return std::unexpected(started.error());
    }
    result<gateway_bench_report> report;
    for (const bool stream : {false, true}) {
        for (const int count : connections) {
            wrk_run what = run_of(options, stream ? "sse" : "json", count);
            what.script = wrk_script(stage.folder(), what.path, small_prompt, stream);
            what.unbuffered = stream;
            const peers all{&stage.direct(), &stage.nginx(), &stage.sluice()};
            report = add(*std::move(report), take_turns(stage.folder(), all, what));
            if (!report) {
                return report;
            }
        }
    }
    return report;
}

result<gateway_bench_report> bench_throughput(const gateway_bench_options& options) {
    return small_requests(options, options.connections);
}

/// What `peer` adds to the median of the upstream alone.
double added_ms(const gateway_bench_report& report, const char* peer, const char* path) {
    const gateway_bench_row* with = report.find(peer, path, 1);
    const gateway_bench_row* without = report.find("direct", path, 1);
    return with != nullptr && without != nullptr ? with->p50_ms - without->p50_ms : 0;
}

result<gateway_bench_report> bench_latency(const gateway_bench_options& options) {
    auto report = small_requests(options, {1});
    if (report) {
        for (const char* path : {"json", "sse"}) {
            const double other = added_ms(*report, "nginx", path);
            const double ours = added_ms(*report, "sluice", path);
            report->figures.push_back(
                {fmt::format("added median at one connection, {}, nginx", path), other, "ms", ""}
            );
            report->figures.push_back(
                {fmt::format("added median at one connection, {}, sluice", path),
                 ours,
                 "ms",
                 path == std::string_view("json") ? fmt::format("at most {:.3f}", other + 0.1) : ""}
            );
        }
    }
    return report;
}

result<gateway_bench_report> bench_prompt(const gateway_bench_options& options) {
    bench_stage stage(options.self);
    if (auto started = stage.start({}); !started) {
        return std::unexpected(started.error());
    }
    wrk_run what = run_of(options, "prompt", 1);
    what.script = wrk_script(stage.folder(), what.path, long_prompt, false);
    const peers all{&stage.direct(), &stage.relay(), &stage.nginx(), &stage.sluice()};
    auto report = add({}, take_turns(stage.folder(), all, what));
    if (report) {
        for (const char* peer : {"relay", "nginx", "sluice"}) {
            report->figures.push_back(
                {fmt::format("added median with a prompt of 220 KB, {}", peer),
                 added_ms(*report, peer, "prompt"),
                 "ms",
                 peer == std::string_view("sluice") ? "under 0.3" : ""}
            );
        }
    }
    return report;
}

/// What passes at so many connections, as shares of what the bare relay passes.
void add_body_figures(gateway_bench_report& to, int connections) {
    const auto rps = [&](const char* peer) { return to.find(peer, "body", connections)->rps; };
    const double relay = rps("relay");
    const auto add = [&](std::string what, double value, const char* unit, const char* goal) {
        std::string name =
            fmt::format("bodies of 1 MB, connections: {}, {}", connections, std::move(what));
        to.figures.push_back({std::move(name), value, unit, goal});
    };
    add("bare relay", relay * big_body / 1e9, "GB/s", "");
    add("nginx / bare relay", rps("nginx") / relay, "", "");
    add("sluice / bare relay", rps("sluice") / relay, "", "at least 0.6");
}

result<gateway_bench_report> bench_bodies(const gateway_bench_options& options) {
    bench_stage stage(options.self);
    if (auto started = stage.start({}); !started) {
        return std::unexpected(started.error());
    }
    const peers all{&stage.direct(), &stage.relay(), &stage.nginx(), &stage.sluice()};
    result<gateway_bench_report> report;
    for (const int connections : {1, body_connections}) {
        wrk_run what = run_of(options, "body", connections);
        what.script = wrk_script(stage.folder(), what.path, big_body, false);
        report = add(*std::move(report), take_turns(stage.folder(), all, what));
        if (!report) {
            return report;
        }
        add_body_figures(*report, connections);
    }
    return report;
}

using part = std::function<result<gateway_bench_report>(const gateway_bench_options&)>;

const std::map<std::string, part>& all_parts() {
    static const std::map<std::string, part> parts{
        {"throughput", bench_throughput},
        {"latency", bench_latency},
        {"prompt", bench_prompt},
        {"bodies", bench_bodies},
        {"idle", bench_idle_streams},
        {"refusals", bench_refusals},
    };
    return parts;
}

}  // namespace

result<gateway_bench_report> run_gateway_bench(const gateway_bench_options& options) {
    for (const char* program : {"nginx", "wrk"}) {
        if (!is_installed(program)) {
            return fail(
                errc::not_found,
                fmt::format("{0} is not installed; run 'apt-get install nginx-light wrk'", program)
            );
        }
    }
    gateway_bench_report whole;
    for (const std::string& name : options.parts) {
        const auto found = all_parts().find(name);
        if (found == all_parts().end()) {
            return fail(errc::invalid_argument, fmt::format("there is no part '{}'", name));
        }
        auto made = found->second(options);
        if (!made) {
            return made;
        }
        whole.append(*std::move(made));
    }
    return whole;
}

}  // namespace sluice::lab
