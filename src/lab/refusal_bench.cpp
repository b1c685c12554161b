// How long a client waits for a no when ten times as many requests come as can be served. Beside
// it: nginx with a limit that serves and queues as many.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "lab/bench_stage.hpp"
#include "lab/gateway_bench.hpp"
#include "load/load_run.hpp"
#include "sim/trace.hpp"

namespace sluice::lab {

namespace {

constexpr int slots = 4;
constexpr int held_ms = 20;  ///< bench_upstream holds a request for the model "held" for so long.
constexpr int capacity_rps = slots * 1000 / held_ms;
constexpr int overload = 10;
constexpr int waiting = 20;

sim::trace even_arrivals(int seconds) {
    sim::trace made;
    made.tenants = {""};
    const int count = capacity_rps * overload * seconds;
    const duration gap = duration(std::chrono::seconds(1)) / (capacity_rps * overload);
    for (int i = 0; i < count; ++i) {
        made.requests.push_back({.arrival = gap * i, .input = tokens(50), .output = tokens(50)});
    }
    return made;
}

result<load::load_report> offer(const peer& to, int seconds) {
    net::asio::io_context context(1);
    const sim::trace trace = even_arrivals(seconds);
    load::load_options options;
    auto target = net::parse_endpoint(fmt::format("127.0.0.1:{}", to.port));
    if (!target) {
        return std::unexpected(target.error());
    }
    options.target = *target;
    options.model = "held";
    options.stream = false;
    options.exact_usage = false;
    load::load_run run(context.get_executor(), trace, options);
    result<load::load_report> report = fail(errc::cancelled, "the run was ended");
    net::asio::co_spawn(
        context.get_executor(),
        run.run(),
        [&](std::exception_ptr problem, result<load::load_report> done) {
            context.stop();
            if (problem) {
                std::rethrow_exception(problem);
            }
            report = std::move(done);
        }
    );
    context.run();
    return report;
}

void add_figures(gateway_bench_report& to, const std::string& peer, const load::load_report& from) {
    const auto number = [](auto value) { return static_cast<double>(value); };
    const auto add = [&](const char* what, double value, const char* unit, const char* goal = "") {
        to.figures.push_back({fmt::format("{}, {}", what, peer), value, unit, goal});
    };
    add("offered", number(from.sent) / from.elapsed_s, "requests/s");
    add("served", number(from.ok) / from.elapsed_s, "requests/s");
    add("refused", number(from.refusal.size()), "requests");
    add("broken or unanswered", number(from.broken_count() + from.unanswered_count()), "requests");
    add("refusal, median", from.refusal.quantile(0.5).value_or(0) * 1000, "ms");
    const bool ours = peer == "sluice";
    add("refusal, p99",
        from.refusal.quantile(0.99).value_or(0) * 1000,
        "ms",
        ours ? "at most 5" : "");
}

}  // namespace

result<gateway_bench_report> bench_refusals(const gateway_bench_options& options) {
    bench_stage stage(options.self);
    const pool_shape shape{.slots = slots, .queue = fmt::format("max_length: {}", waiting)};
    const bench_stage::nginx_limit limit{.per_second = capacity_rps, .waiting = waiting};
    if (auto started = stage.start(shape, limit); !started) {
        return std::unexpected(started.error());
    }
    gateway_bench_report report;
    for (const peer* one : {&stage.nginx(), &stage.sluice()}) {
        std::vector<load::load_report> rounds;
        for (int round = 0; round < options.rounds; ++round) {
            auto made = offer(*one, options.seconds);
            if (!made) {
                return std::unexpected(made.error());
            }
            rounds.push_back(*std::move(made));
        }
        const auto p99 = [](const load::load_report& of) { return of.refusal.quantile(0.99); };
        std::ranges::sort(rounds, {}, p99);
        add_figures(report, one->name, rounds[rounds.size() / 2]);
        report.figures.push_back(
            {fmt::format("refusal, p99 of the worst round, {}", one->name),
             p99(rounds.back()).value_or(0) * 1000,
             "ms",
             ""}
        );
    }
    return report;
}

}  // namespace sluice::lab
