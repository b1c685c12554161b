#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli_options.hpp"
#include "app/config.hpp"
#include "app/gateway_host.hpp"
#include "app/signals.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

namespace {

constexpr std::string_view who = "sluice gateway";

struct gateway_flags {
    std::string file;
    std::vector<std::string> workers;
    std::vector<config_override> overrides;
    duration grace = std::chrono::seconds(30);
};

result<void> complete(const gateway_flags& flags, config::gateway_config& config) {
    if (!flags.workers.empty()) {
        auto pools = pools_of_workers(flags.workers);
        if (!pools) {
            return std::unexpected(std::move(pools.error()));
        }
        config.pools = std::move(*pools);
    }
    if (config.pools.empty()) {
        return fail(
            errc::invalid_argument, flags.file + ": pools: is empty; name a pool with its workers"
        );
    }
    return resolve_models(config);
}

int run(const gateway_flags& flags) {
    std::vector<config_override> overrides = environment_overrides();
    overrides.insert(overrides.end(), flags.overrides.begin(), flags.overrides.end());
    const std::optional<std::string> file =
        flags.file.empty() ? std::nullopt : std::optional(flags.file);
    auto config = load_config(file, overrides);
    if (!config) {
        for (const std::string& line : config.error()) {
            complain(line, who);
        }
        return exit_failure;
    }
    if (const auto ready = complete(flags, *config); !ready) {
        complain(ready.error().message, who);
        return exit_failure;
    }
    net::io_pool pool(thread_count(*config));
    gateway::service service(std::move(*config), pool, make_wiring(nullptr, flags.grace));
    if (const auto started = service.start(); !started) {
        complain(started.error().message, who);
        return exit_failure;
    }
    const stop_signals signals(
        pool.executor_of(0),
        {[&] { service.drain([&pool] { pool.stop(); }); }, [&] { service.hurry(); }}
    );
    const reload_signal reload(pool.executor_of(0), [&service] { service.read_secrets_again(); });
    pool.run();
    return exit_ok;
}

}  // namespace

verb_action set_up_gateway(CLI::App& command) {
    auto flags = std::make_shared<gateway_flags>();
    CLI::Option_group* source = command.add_option_group("source", "One of:");
    source->add_option("-c,--config", flags->file, "The configuration")->type_name("FILE");
    source
        ->add_option(
            "--worker", flags->workers, "An engine; model and capacity are read from it (repeat)"
        )
        ->type_name("URL");
    source->require_option(1);
    add_override(command, flags->overrides, "--listen", "listen", "Data port, HOST:PORT");
    add_override(command, flags->overrides, "--admin", "admin", "Admin port, HOST:PORT");
    add_override(command, flags->overrides, "--threads", "threads", "Threads; null: one per core");
    add_override(command, flags->overrides, "--log-level", "log.level", "trace … error");
    add_override(command, flags->overrides, "--log-format", "log.format", "json or text");
    add_duration(command, "--grace", flags->grace, "After SIGTERM, for running answers");
    command.footer(
        "Examples:\n  sluice gateway --config sluice.yaml\n"
        "  sluice gateway --worker http://127.0.0.1:8000 --worker http://127.0.0.1:8001"
    );
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
