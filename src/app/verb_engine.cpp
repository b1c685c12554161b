#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>

#include "app/cli_options.hpp"
#include "app/signals.hpp"
#include "app/verbs.hpp"
#include "engine/simulated_engine.hpp"
#include "obs/log.hpp"
#include "sim/engine_profile.hpp"

namespace sluice::app {

namespace {

struct engine_flags {
    engine::engine_options options;
    std::int64_t kv_tokens = 0;
    std::string when_full = "preempt";
    duration grace = std::chrono::seconds(10);
};

/// Lets running answers end, for at most `grace`, then ends the pool.
net::task<> finish(engine::simulated_engine& engine, net::io_pool& pool, duration grace) {
    constexpr auto look_again = std::chrono::milliseconds(20);
    net::steady_timer timer(pool.executor_of(0));
    const auto end = std::chrono::steady_clock::now() + grace;
    while (engine.stats().running > 0 && std::chrono::steady_clock::now() < end) {
        timer.expires_after(look_again);
        co_await timer.async_wait(net::as_result);
    }
    engine.stop();
    pool.stop();
}

int run(engine_flags flags) {
    const auto when_full = engine::parse_when_full(flags.when_full);
    if (!when_full) {
        complain(when_full.error().message, "sluice engine");
        return exit_failure;
    }
    flags.options.when_full = *when_full;
    if (flags.kv_tokens > 0) {
        flags.options.kv_tokens = tokens(flags.kv_tokens);
    }
    obs::logger log;
    net::io_pool pool(1);
    engine::simulated_engine engine(flags.options);
    if (const auto started = engine.start(pool); !started) {
        complain(started.error().message, "sluice engine");
        return exit_failure;
    }
    log.write(obs::log_line(obs::level::info, "listening")
                  .text("listen", engine.address())
                  .text("model", flags.options.model)
                  .number("slots", flags.options.slots)
                  .text("profile", flags.options.profile)
                  .real("speed", flags.options.speed));
    const stop_signals signals(pool.executor_of(0), {[&] {
                                   engine.stop_accepting();
                                   net::asio::co_spawn(
                                       pool.executor_of(0),
                                       finish(engine, pool, flags.grace),
                                       [](std::exception_ptr problem) {
                                           if (problem) {
                                               std::rethrow_exception(problem);
                                           }
                                       }
                                   );
                               }});
    pool.run();
    return exit_ok;
}

}  // namespace

verb_action set_up_engine(CLI::App& command) {
    auto flags = std::make_shared<engine_flags>();
    engine::engine_options& options = flags->options;
    command.add_option("--listen", options.listen, "Address; port 0 picks one")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    command.add_option("--model", options.model, "Name of the model that it serves")
        ->capture_default_str();
    command.add_option("--slots", options.slots, "Requests that run at once")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65'536}))
        ->capture_default_str();
    command
        .add_option("--kv-tokens", flags->kv_tokens, "Tokens of the KV cache; none: the profile's")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
    std::string profiles;
    for (const sim::engine_profile& profile : sim::engine_profiles()) {
        profiles += (profiles.empty() ? "" : ", ") + std::string(profile.name);
    }
    command.add_option("--profile", options.profile, "Device and model to imitate: " + profiles)
        ->capture_default_str();
    command.add_option("--speed", options.speed, "How much faster than the device")
        ->check(CLI::Range(0.001, 1000.0))
        ->capture_default_str();
    command.add_option("--when-full", flags->when_full, "What happens when memory runs out")
        ->check(CLI::IsMember({"preempt", "crash", "refuse"}))
        ->capture_default_str();
    command.add_option("--faults", options.faults, "Misbehaviour, such as status=500@3")
        ->type_name("SPEC");
    add_duration(command, "--grace", flags->grace, "After SIGTERM, for running answers");
    command.footer(
        "Example:\n  sluice engine --listen 127.0.0.1:8000 --model llama-3-8b --slots 8 "
        "--kv-tokens 41408"
    );
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
