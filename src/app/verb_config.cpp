#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/cli_options.hpp"
#include "app/config.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

namespace {

struct config_flags {
    std::string file;
    bool json = false;
};

void report_problems(const config_problems& problems) {
    for (const std::string& line : problems) {
        complain(line, "sluice config");
    }
}

int check(const std::string& file) {
    const auto config = load_config(file, environment_overrides());
    if (!config) {
        report_problems(config.error());
        return exit_failure;
    }
    print(fmt::format("{} is valid\n", file));
    return exit_ok;
}

int show(const config_flags& flags) {
    std::optional<std::string> file;
    if (!flags.file.empty()) {
        file = flags.file;
    }
    const auto config = load_config(file, environment_overrides());
    if (!config) {
        report_problems(config.error());
        return exit_failure;
    }
    print(flags.json ? config_json(*config) : config_yaml(*config));
    return exit_ok;
}

}  // namespace

verb_action set_up_config(CLI::App& command) {
    auto flags = std::make_shared<config_flags>();
    command.require_subcommand(1);
    command.footer("Example:\n  sluice config check -c sluice.yaml");

    CLI::App* check_command = command.add_subcommand("check", "Say whether a file is valid");
    check_command->add_option("-c,--config", flags->file, "The file")
        ->type_name("FILE")
        ->required();
    check_command->footer("Example:\n  sluice config check -c sluice.yaml");

    CLI::App* show_command = command.add_subcommand(
        "show", "The effective configuration: file, environment, defaults; no secrets"
    );
    show_command->add_option("-c,--config", flags->file, "The file; none: defaults")
        ->type_name("FILE");
    show_command
        ->add_option_function<std::string>(
            "-o,--output",
            [flags](const std::string& form) { flags->json = form == "json"; },
            "yaml or json"
        )
        ->check(CLI::IsMember({"yaml", "json"}))
        ->default_str("yaml");
    show_command->footer("Example:\n  SLUICE_LOG_LEVEL=debug sluice config show -c sluice.yaml");

    CLI::App* schema_command =
        command.add_subcommand("schema", "JSON schema of the file, for editors");
    schema_command->footer("Example:\n  sluice config schema > sluice.schema.json");

    return [=] {
        if (check_command->parsed()) {
            return check(flags->file);
        }
        if (show_command->parsed()) {
            return show(*flags);
        }
        print(config_schema());
        return exit_ok;
    };
}

}  // namespace sluice::app
