#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>

#include "app/cli_options.hpp"
#include "app/config.hpp"
#include "app/demo_traffic.hpp"
#include "app/gateway_host.hpp"
#include "app/signals.hpp"
#include "app/verbs.hpp"
#include "engine/simulated_engine.hpp"
#include "load/load_run.hpp"

namespace sluice::app {

namespace {

constexpr std::string_view who = "sluice demo";
constexpr std::string_view model = "llama-3-8b";
constexpr std::int64_t slots = 32;
/// What a 24 GB card holds beside an 8 B model in bf16 (measured: 2,588 blocks of 16).
constexpr std::int64_t kv_tokens = 41'408;

struct demo_flags {
    std::optional<duration> run_for;
    std::int64_t workers = 2;
    bool traffic = true;
    std::vector<config_override> overrides;
};

/// Everything that runs, in one process and on one io_pool.
class demo {
public:
    demo(const demo_flags& flags, config::gateway_config config)
        : x_flags(flags),
          x_config(std::move(config)),
          x_log(std::make_shared<obs::logger>()),
          x_pool(thread_count(x_config)),
          x_trace(demo_trace(flags.workers, 1)),
          x_end(x_pool.executor_of(0)) {}

    result<void> start();
    void run();

private:
    result<void> start_engines();
    void say();
    void start_traffic();
    void stop();

    const demo_flags& x_flags;
    config::gateway_config x_config;
    std::shared_ptr<obs::logger> x_log;
    net::io_pool x_pool;
    sim::trace x_trace;
    std::vector<std::unique_ptr<engine::simulated_engine>> x_engines;
    std::optional<gateway::service> x_gateway;
    std::unique_ptr<load::load_run> x_traffic;
    net::steady_timer x_end;
};

result<void> demo::start_engines() {
    config::pool_options pool;
    pool.name = "llama";
    pool.models = {std::string(model)};
    for (std::int64_t i = 0; i < x_flags.workers; ++i) {
        engine::engine_options options;
        options.listen = "127.0.0.1:0";
        options.model = std::string(model);
        options.slots = slots;
        options.kv_tokens = tokens(kv_tokens);
        auto& one =
            x_engines.emplace_back(std::make_unique<engine::simulated_engine>(std::move(options)));
        if (auto started = one->start(x_pool); !started) {
            return started;
        }
        config::worker_options worker;
        worker.url = "http://" + one->address();
        worker.slots = slots;
        worker.kv_tokens = tokens(kv_tokens);
        worker.probe = config::probe_kind::vllm;
        pool.workers.push_back(std::move(worker));
    }
    x_config.pools = {std::move(pool)};
    return {};
}

result<void> demo::start() {
    if (auto started = start_engines(); !started) {
        return started;
    }
    // A line for every request would bury what people came to see.
    obs::log_options quiet;
    quiet.least = obs::level::warn;
    x_gateway.emplace(
        x_config, x_pool, make_wiring(std::make_shared<obs::logger>(quiet), std::chrono::seconds(2))
    );
    if (auto started = x_gateway->start(); !started) {
        return started;
    }
    x_log->write(obs::log_line(obs::level::info, "listening")
                     .text("listen", x_gateway->data_address())
                     .text("admin", x_gateway->admin_address())
                     .number("workers", x_flags.workers));
    say();
    return {};
}

/// An address as a client of this machine writes it.
std::string reachable(std::string address) {
    for (const std::string_view any : {"0.0.0.0:", "[::]:"}) {
        if (address.starts_with(any)) {
            return "127.0.0.1:" + address.substr(any.size());
        }
    }
    return address;
}

void demo::say() {
    const std::string url =
        fmt::format("http://{}/v1/chat/completions", reachable(x_gateway->data_address()));
    const std::string body = fmt::format(
        R"({{"model":"{}","max_tokens":32,"messages":[{{"role":"user","content":"Hello"}}])", model
    );
    std::string out = fmt::format(
        "Sluice {} with {} simulated GPU worker{} of {} slots and {} tokens of KV cache each.\n\n",
        SLUICE_VERSION,
        x_flags.workers,
        x_flags.workers == 1 ? "" : "s",
        slots,
        kv_tokens
    );
    constexpr std::string_view head = "-H 'content-type: application/json'";
    out += "Ask it:\n";
    out += fmt::format("  curl {} {} -d '{}}}'\n", url, head, body);
    out += fmt::format("  curl -N {} {} -d '{},\"stream\":true}}'\n\n", url, head, body);
    out += fmt::format("Watch it:  http://{}/\n", reachable(x_gateway->admin_address()));
    out += fmt::format(
        "           sluice status --admin http://{}\n\n", reachable(x_gateway->admin_address())
    );
    out += x_flags.traffic ? "Some traffic is on its way; --no-traffic leaves it out. "
                           : "No traffic is sent. ";
    out += x_flags.run_for ? "It ends by itself or with Ctrl-C.\n" : "Ctrl-C ends it.\n";
    print(out);
    std::fflush(stdout);
}

void demo::start_traffic() {
    const auto target = net::parse_endpoint(reachable(x_gateway->data_address()));
    if (!x_flags.traffic || !target) {
        return;
    }
    load::load_options options;
    options.target = *target;
    options.model = std::string(model);
    options.repeat = true;
    options.connections = 1000;
    const net::executor where = x_pool.executor_of(x_pool.size() - 1);
    x_traffic = std::make_unique<load::load_run>(where, x_trace, std::move(options));
    net::asio::co_spawn(
        where,
        x_traffic->run(),
        [](std::exception_ptr problem, const result<load::load_report>& /*report*/) {
            if (problem) {
                std::rethrow_exception(problem);
            }
        }
    );
}

void demo::stop() {
    if (x_traffic) {
        net::asio::post(x_pool.executor_of(x_pool.size() - 1), [this] { x_traffic->abort(); });
    }
    x_gateway->drain([this] {
        for (const auto& one : x_engines) {
            one->stop();
        }
        x_pool.stop();
    });
}

void demo::run() {
    const stop_signals signals(x_pool.executor_of(0), {[this] { stop(); }});
    if (x_flags.run_for) {
        x_end.expires_after(*x_flags.run_for);
        x_end.async_wait([this](net::error_code problem) {
            if (!problem) {
                stop();
            }
        });
    }
    start_traffic();
    x_pool.run();
}

int run(const demo_flags& flags) {
    std::vector<config_override> overrides = environment_overrides();
    overrides.insert(overrides.end(), flags.overrides.begin(), flags.overrides.end());
    auto config = load_config(std::nullopt, overrides);
    if (!config) {
        for (const std::string& line : config.error()) {
            complain(line, who);
        }
        return exit_failure;
    }
    demo all(flags, std::move(*config));
    if (const auto started = all.start(); !started) {
        complain(started.error().message, who);
        return exit_failure;
    }
    all.run();
    return exit_ok;
}

}  // namespace

verb_action set_up_demo(CLI::App& command) {
    auto flags = std::make_shared<demo_flags>();
    add_duration(command, "--for", flags->run_for, "End after so long; none: with Ctrl-C");
    command.add_option("--workers", flags->workers, "Simulated GPU workers")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{64}))
        ->capture_default_str();
    command.add_flag(
        "--traffic,!--no-traffic", flags->traffic, "Whether to send some requests (yes)"
    );
    add_override(command, flags->overrides, "--listen", "listen", "Data port, HOST:PORT");
    add_override(command, flags->overrides, "--admin", "admin", "Admin port, HOST:PORT");
    command.footer("Example:\n  sluice demo --for 20s --no-traffic");
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
