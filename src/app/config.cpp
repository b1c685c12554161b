#include "app/config.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/config_reader.hpp"
#include "app/config_table.hpp"

namespace sluice::app {

namespace {

/// No configuration is that long; a wrong path (a model, a trace) should not be parsed as one.
constexpr std::uintmax_t largest_file = 4 * 1024 * 1024;

std::expected<std::string, std::string> read_file(const std::string& path) {
    std::error_code problem;
    const auto status = std::filesystem::status(path, problem);
    if (!std::filesystem::exists(status)) {
        return std::unexpected(
            fmt::format("{} does not exist; name the configuration with --config FILE", path)
        );
    }
    if (std::filesystem::is_directory(status)) {
        return std::unexpected(fmt::format("{} is a directory, not a file", path));
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return std::unexpected(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    }
    std::string text;
    constexpr std::size_t piece = 64 * 1024;
    while (file && text.size() <= largest_file) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        file.read(text.data() + before, piece);
        text.resize(before + static_cast<std::size_t>(file.gcount()));
    }
    if (text.size() > largest_file) {
        return std::unexpected(fmt::format("{} is larger than 4 MiB, no configuration is", path));
    }
    return text;
}

config_result finish(
    config::gateway_config config,
    const std::vector<config_override>& overrides,
    config_report& report
) {
    for (const config_override& one : overrides) {
        if (!set_by_path(config, one.path, one.text, one.origin, report)) {
            report.add_at({0, one.origin}, "", "names no setting of sluice.yaml");
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
    const auto text = read_file(*file);
    if (!text) {
        return std::unexpected(config_problems{text.error()});
    }
    return read_config(*text, *file, overrides);
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
