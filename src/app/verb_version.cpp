#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli_options.hpp"
#include "app/json_text.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

verb_action set_up_version(CLI::App& command) {
    auto json = std::make_shared<bool>(false);
    add_output(command, *json);
    command.footer("Example:\n  sluice version -o json");
    return [json] {
        print(*json ? "{\"version\": \"" SLUICE_VERSION "\"}\n" : "sluice " SLUICE_VERSION "\n");
        return exit_ok;
    };
}

}  // namespace sluice::app
