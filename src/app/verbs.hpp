// The verbs of `sluice`. Each lives in its own verb_<name>.cpp and appears once in the table.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace sluice::app {

/// Exit codes of the process.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;

/// Runs the verb after its flags were read; returns the exit code.
using verb_action = std::function<int()>;

struct verb {
    std::string_view name;
    std::string_view summary;
    /// Adds the verb's flags to its subcommand and returns what to run.
    verb_action (*set_up)(CLI::App& command);
};

/// In the order of `sluice -h`.
std::span<const verb> verbs();

verb_action set_up_bench(CLI::App& command);
verb_action set_up_config(CLI::App& command);
verb_action set_up_demo(CLI::App& command);
verb_action set_up_engine(CLI::App& command);
verb_action set_up_gateway(CLI::App& command);
verb_action set_up_kv(CLI::App& command);
verb_action set_up_load(CLI::App& command);
verb_action set_up_status(CLI::App& command);
verb_action set_up_version(CLI::App& command);

}  // namespace sluice::app
