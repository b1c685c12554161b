#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <cstdlib>
#include <exception>
#include <memory>

#include "app/cli_options.hpp"
#include "app/http_get.hpp"
#include "app/signals.hpp"
#include "app/verbs.hpp"
#include "load/load_run.hpp"

namespace sluice::app {

namespace {

constexpr std::size_t longest_trace = std::size_t{4} * 1024 * 1024 * 1024;

struct load_flags {
    std::string trace;
    std::string format = "auto";
    std::string target;
    std::int64_t max_tokens = 0;
    bool no_stream = false;
    bool loose_usage = false;
    std::string key_env;
    bool json = false;
    load::load_options options;
};

/// Redrawn in place; only where somebody looks.
void show_progress(const load::load_progress& now) {
    const std::string line = fmt::format(
        "\r\033[Ksent {}  open {}  ok {}  refused {}  failed {}",
        now.sent,
        now.open,
        now.ok,
        now.refused,
        now.failed
    );
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
}

result<sim::trace> read(const load_flags& flags) {
    const file_text file = read_whole_file(flags.trace, longest_trace);
    if (!file.text) {
        return fail(errc::not_found, file.problem);
    }
    const auto format = flags.format == "azure" ? sim::trace_format::azure
                        : flags.format == "csv" ? sim::trace_format::csv
                                                : sim::trace_format::automatic;
    auto trace = sim::read_trace(*file.text, format);
    if (!trace) {
        return fail(trace.error().code, flags.trace + ": " + trace.error().message);
    }
    return trace;
}

result<void> complete(load_flags& flags) {
    load::load_options& options = flags.options;
    const url_parts url = split_url(flags.target);
    const auto target = net::parse_endpoint(flags.target);
    if (!target) {
        return std::unexpected(target.error());
    }
    options.target = *target;
    options.prefix = url.path;
    if (flags.max_tokens > 0) {
        options.max_tokens = tokens(flags.max_tokens);
    }
    options.stream = !flags.no_stream;
    options.exact_usage = !flags.loose_usage;
    if (!flags.key_env.empty()) {
        const char* key = std::getenv(flags.key_env.c_str());
        if (key == nullptr || *key == '\0') {
            return fail(
                errc::not_found,
                fmt::format("the environment variable {} holds no key; set it", flags.key_env)
            );
        }
        options.authorization = fmt::format("Bearer {}", key);
    }
    if (isatty(STDERR_FILENO) == 1) {
        options.progress = show_progress;
    }
    return {};
}

int run(load_flags flags) {
    if (const auto ready = complete(flags); !ready) {
        complain(ready.error().message, "sluice load");
        return exit_failure;
    }
    const auto trace = read(flags);
    if (!trace) {
        complain(trace.error().message, "sluice load");
        return exit_failure;
    }
    net::asio::io_context context(1);
    result<load::load_report> report = fail(errc::cancelled, "the run was ended");
    load::load_run load(context.get_executor(), *trace, flags.options);
    // The first signal ends the sending, the second one the waiting.
    stop_signals signals(
        context.get_executor(), {[&load] { load.stop_sending(); }, [&load] { load.abort(); }}
    );
    net::asio::co_spawn(
        context.get_executor(),
        load.run(),
        [&](std::exception_ptr problem, result<load::load_report> done) {
            context.stop();
            if (problem) {
                std::rethrow_exception(problem);
            }
            report = std::move(done);
        }
    );
    context.run();
    if (flags.options.progress) {
        std::fputs("\r\033[K", stderr);
    }
    if (!report) {
        complain(report.error().message, "sluice load");
        return exit_failure;
    }
    print(flags.json ? load::report_json(*report) : load::report_table(*report));
    return exit_ok;
}

void add_pace_flags(CLI::App& command, load_flags& flags) {
    load::load_options& options = flags.options;
    command.add_option("--speed", options.speed, "How much faster than the trace")
        ->check(CLI::Range(1e-6, 1e6))
        ->capture_default_str();
    add_duration(
        command, "--for", options.send_for, "Send for so long, then wait for what is open"
    );
    add_duration(
        command, "--wait", options.wait_limit, "Longest wait for open answers after the sending"
    );
    command
        .add_option(
            "-c,--connections", options.connections, "Open requests at most; later ones wait"
        )
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->capture_default_str();
    add_duration(command, "--slo-ttft", options.slo_ttft, "Goal for the first token");
    add_duration(command, "--slo-tpot", options.slo_tpot, "Goal for each further token");
}

}  // namespace

verb_action set_up_load(CLI::App& command) {
    auto flags = std::make_shared<load_flags>();
    command.add_option("--trace", flags->trace, "When requests come and how long they are")
        ->type_name("FILE")
        ->required();
    command.add_option("--format", flags->format, "Format of the trace")
        ->check(CLI::IsMember({"auto", "azure", "csv"}))
        ->capture_default_str();
    command.add_option("--target", flags->target, "Server to send to")
        ->type_name("URL")
        ->required();
    command.add_option(
        "--model", flags->options.model, "Model to ask for; none: the first that the server lists"
    );
    command.add_option("--max-tokens", flags->max_tokens, "Output limit; none: the trace's length")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
    command.add_flag("--no-stream", flags->no_stream, "Ask for whole answers");
    command.add_flag(
        "--loose-usage", flags->loose_usage, "The engine puts several tokens into one event"
    );
    command.add_option("--key-env", flags->key_env, "Environment variable that holds the API key")
        ->type_name("NAME");
    add_pace_flags(command, *flags);
    add_output(command, flags->json);
    command.footer(
        "The trace is CSV: Azure's (TIMESTAMP,ContextTokens,GeneratedTokens) or\n"
        "arrival_s,input_tokens,output_tokens[,tenant[,class]].\n\n"
        "Example:\n  sluice load --trace trace.csv --target http://127.0.0.1:8080 --speed 20 --for "
        "60s"
    );
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
