#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "app/cli_options.hpp"
#include "app/http_get.hpp"
#include "app/json_text.hpp"
#include "app/text_table.hpp"
#include "app/units_text.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

namespace {

namespace json = boost::json;

struct status_flags {
    std::string admin = "http://127.0.0.1:9090";
    duration limit = std::chrono::seconds(5);
    bool json = false;
};

/// A cell for any value that the server may send.
std::string cell(const json::object& row, std::string_view key) {
    const json::value* value = row.if_contains(key);
    if (value == nullptr || value->is_null()) {
        return "-";
    }
    if (const json::string* text = value->if_string()) {
        return printable(std::string_view(text->data(), text->size()));
    }
    if (value->is_double()) {
        return fmt::format("{:.1f}", value->as_double());
    }
    if (const json::array* list = value->if_array()) {
        std::string out;
        for (const json::value& element : *list) {
            const json::string* text = element.if_string();
            out += (out.empty() ? "" : ",") +
                   (text != nullptr ? printable(std::string_view(text->data(), text->size()))
                                    : json::serialize(element));
        }
        return out.empty() ? "-" : out;
    }
    return json::serialize(*value);
}

std::string waiting_cell(const json::object& row) {
    const json::value* waiting = row.if_contains("waiting");
    if (waiting == nullptr || !waiting->is_object()) {
        return "-";
    }
    const json::object& classes = waiting->as_object();
    return fmt::format(
        "{}/{}/{}", cell(classes, "high"), cell(classes, "normal"), cell(classes, "low")
    );
}

std::string table(const json::array& pools) {
    text_table out(
        {"POOL",
         "MODELS",
         "WORKERS",
         "IN USE",
         "WAITING h/n/l",
         "KV RESERVED",
         "GRANTS/S",
         "OLDEST",
         "BACKEND"}
    );
    for (const json::value& value : pools) {
        const json::object* row = value.if_object();
        if (row == nullptr) {
            continue;
        }
        out.add({
            cell(*row, "name"),
            cell(*row, "models"),
            cell(*row, "workers"),
            cell(*row, "in_use") + "/" + cell(*row, "slots"),
            waiting_cell(*row),
            cell(*row, "kv_reserved") + "/" + cell(*row, "kv_capacity"),
            cell(*row, "grants_per_s"),
            cell(*row, "oldest_wait_ms") + " ms",
            cell(*row, "backend"),
        });
    }
    return out.text();
}

int run(const status_flags& flags) {
    const auto body = http_get(flags.admin, "/api/v1/pools", flags.limit);
    if (!body) {
        complain(
            body.error().message + "; is the gateway running, and is --admin its admin port?",
            "sluice status"
        );
        return exit_failure;
    }
    json::error_code problem;
    const json::value pools = json::parse(*body, problem);
    if (problem || !pools.is_array()) {
        complain(
            flags.admin + " answered, but not as an admin port of Sluice; check --admin",
            "sluice status"
        );
        return exit_failure;
    }
    print(flags.json ? pretty_json(pools) : table(pools.as_array()));
    return exit_ok;
}

}  // namespace

verb_action set_up_status(CLI::App& command) {
    auto flags = std::make_shared<status_flags>();
    command.add_option("--admin", flags->admin, "Admin port of the gateway")
        ->type_name("URL")
        ->capture_default_str();
    add_duration(command, "--timeout", flags->limit, "How long the answer may take");
    add_output(command, flags->json);
    command.footer("Example:\n  sluice status --admin http://127.0.0.1:9090 -o json");
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
