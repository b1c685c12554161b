// `sluice bench core|gateway`: figures, not tests.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "app/cli_options.hpp"
#include "app/verbs.hpp"
#include "lab/core_bench.hpp"
#include "lab/gateway_bench.hpp"

namespace sluice::app {

namespace {

struct bench_flags {
    bool json = false;
    lab::core_bench_options core;
    lab::gateway_bench_options gateway;
};

std::string core_table(const std::vector<lab::core_bench_row>& rows) {
    std::string text = fmt::format(
        "{:>10}{:>10}{:>14}{:>10}{:>10}{:>15}\n",
        "waiting",
        "workers",
        "pairs/s",
        "p50 us",
        "p99 us",
        "bytes/ticket"
    );
    for (const lab::core_bench_row& row : rows) {
        text += fmt::format(
            "{:>10}{:>10}{:>14.0f}{:>10.2f}{:>10.2f}{:>15.0f}\n",
            row.waiting,
            row.workers,
            row.pairs_per_s,
            row.p50_us,
            row.p99_us,
            row.bytes_per_ticket
        );
    }
    return text;
}

int bench_core(const bench_flags& flags) {
    const auto rows = lab::run_core_bench(flags.core);
    print(flags.json ? lab::to_json(rows) + "\n" : core_table(rows));
    return exit_ok;
}

/// The binary that runs now: the gateway under test is this very build.
std::string own_path() {
    std::array<char, 4096> path{};
    const auto size = ::readlink("/proc/self/exe", path.data(), path.size());
    return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "sluice";
}

int bench_gateway(bench_flags flags) {
    flags.gateway.self = own_path();
    const auto report = lab::run_gateway_bench(flags.gateway);
    if (!report) {
        complain(report.error().message, "sluice bench gateway");
        return exit_failure;
    }
    print(flags.json ? lab::to_json(*report) + "\n" : lab::to_table(*report));
    return exit_ok;
}

}  // namespace

verb_action set_up_bench(CLI::App& command) {
    auto flags = std::make_shared<bench_flags>();
    command.require_subcommand(1);
    CLI::App* core = command.add_subcommand("core", "Decisions a second of the scheduler alone");
    core->add_option("--waiting", flags->core.waiting, "Tickets in the queue, a row each")
        ->check(CLI::Range(0, 10'000'000))
        ->capture_default_str();
    core->add_option("--workers", flags->core.workers, "Workers of the pool")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    add_output(*core, flags->json);
    CLI::App* gateway =
        command.add_subcommand("gateway", "Speed and memory, beside nginx on one upstream");
    gateway->add_option("--part", flags->gateway.parts, "What to measure; may be repeated")
        ->check(CLI::IsMember(flags->gateway.parts))
        ->capture_default_str();
    gateway->add_option("--streams", flags->gateway.streams, "Open streams of the idle part")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    gateway
        ->add_option(
            "-c,--connections", flags->gateway.connections, "Of the throughput part, a row each"
        )
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    gateway->add_option("--seconds", flags->gateway.seconds, "Length of one measurement")
        ->check(CLI::Range(1, 600))
        ->capture_default_str();
    gateway->add_option("--rounds", flags->gateway.rounds, "The median of so many counts")
        ->check(CLI::Range(1, 99))
        ->capture_default_str();
    add_output(*gateway, flags->json);
    command.footer("Examples:\n  sluice bench core -o json\n  sluice bench gateway -c 64 --rounds 5"
    );
    return [flags, core] { return core->parsed() ? bench_core(*flags) : bench_gateway(*flags); };
}

}  // namespace sluice::app
