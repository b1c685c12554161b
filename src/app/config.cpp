#include "app/config.hpp"

#include <cstdlib>
#include <utility>

#include "app/cli_options.hpp"
#include "app/config_reader.hpp"
#include "app/config_table.hpp"

namespace sluice::app {

namespace {

/// No configuration is that long; a wrong path (a model, a trace) should not be parsed as one.
constexpr std::size_t largest_file = std::size_t{4} * 1024 * 1024;

config_result finish(
    config::gateway_config config,
    const std::vector<config_override>& overrides,
    config_report& report
) {
    for (const config_override& one : overrides) {
        if (!set_by_path(config, one.path, one.text, one.origin, report)) {
            report.add_at({0, 0, one.origin}, "", "names no setting of sluice.yaml");
        }
    }
    check_relations(config, report);
    check_availability(config, report);
    std::vector<std::string> problems = report.lines();
    if (!problems.empty()) {
        return std::unexpected(std::move(problems));
    }
    return config;
}

/// Collects the paths of all scalars below sections.
class path_collector final : public section_visitor {
public:
    void field(const field_info& info, const value_ref& value) override {
        const std::string path = x_prefix + std::string(info.key);
        if (value.is_scalar()) {
            paths.push_back(path);
        } else if (value.is_section()) {
            const std::string outer = std::exchange(x_prefix, path + ".");
            std::get<section_ref>(value.kind).describe(*this);
            x_prefix = outer;
        }
    }
    std::vector<std::string> paths;

private:
    std::string x_prefix;
};

}  // namespace

config_result read_config(
    std::string_view yaml, std::string_view name, const std::vector<config_override>& overrides
) {
    config::gateway_config config;
    config_report report;
    read_yaml(yaml, name, config, report);
    return finish(std::move(config), overrides, report);
}

config_result load_config(
    const std::optional<std::string>& file, const std::vector<config_override>& overrides
) {
    if (!file) {
        config_report report;
        return finish({}, overrides, report);
    }
    const file_text read = read_whole_file(*file, largest_file);
    if (!read.text) {
        return std::unexpected(config_problems{read.problem});
    }
    return read_config(*read.text, *file, overrides);
}

std::map<std::string, std::string> environment_names() {
    config::gateway_config scratch;
    path_collector collector;
    describe(scratch, collector);
    std::map<std::string, std::string> names;
    for (const std::string& path : collector.paths) {
        std::string name = "SLUICE_";
        for (const char c : path) {
            const bool letter = c >= 'a' && c <= 'z';
            name += c == '.' ? '_' : letter ? static_cast<char>(c - 'a' + 'A') : c;
        }
        names.emplace(std::move(name), path);
    }
    return names;
}

std::vector<config_override> environment_overrides() {
    std::vector<config_override> out;
    for (const auto& [name, path] : environment_names()) {
        const char* text = std::getenv(name.c_str());
        if (text != nullptr && *text != '\0') {
            out.push_back({path, text, name});
        }
    }
    return out;
}

}  // namespace sluice::app
