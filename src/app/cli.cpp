#include "app/cli.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "app/cli_options.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

namespace {

/// A gateway holds two sockets a request: what the system allows is what we take.
void raise_open_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// "sluice config check" for the innermost command that was named.
std::string command_name(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? command.get_name()
                             : command_name(*parent) + " " + command.get_name();
}

const CLI::App& innermost(const CLI::App& command) {
    const auto chosen = command.get_subcommands();
    return chosen.empty() ? command : innermost(*chosen.back());
}

int usage_error(const CLI::App& command, const std::string& words) {
    const std::string name = command_name(command);
    complain(words + "; see " + name + " -h", name);
    return exit_usage;
}

int run_verb(const std::vector<std::pair<CLI::App*, verb_action>>& actions) {
    for (const auto& [command, action] : actions) {
        if (command->parsed()) {
            const int code = action();
            const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
            if (!written && code == exit_ok) {
                complain("the output could not be written", command_name(*command));
                return exit_failure;
            }
            return code;
        }
    }
    return exit_usage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    raise_open_files();

    CLI::App root(
        "Sluice queues requests for LLM engines and admits what their memory holds.", "sluice"
    );
    root.require_subcommand(1);
    root.set_version_flag("--version", std::string("sluice " SLUICE_VERSION));
    root.footer("Example:\n  sluice demo\n  sluice gateway --worker http://127.0.0.1:8000");
    std::vector<std::pair<CLI::App*, verb_action>> actions;
    for (const verb& one : verbs()) {
        CLI::App* command = root.add_subcommand(std::string(one.name), std::string(one.summary));
        actions.emplace_back(command, one.set_up(*command));
    }
    try {
        root.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::fputs(root.help().c_str(), stdout);
        return exit_ok;
    } catch (const CLI::CallForVersion& version) {
        std::puts(version.what());
        return exit_ok;
    } catch (const CLI::ParseError& problem) {
        return usage_error(innermost(root), problem.what());
    }
    try {
        return run_verb(actions);
    } catch (const std::exception& problem) {
        complain(problem.what());
        return exit_failure;
    }
}

}  // namespace sluice::app
