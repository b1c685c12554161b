#include "app/cli_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/config.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

duration required_duration(const std::string& text) {
    const auto value = parse_duration(text);
    if (!value) {
        throw CLI::ValidationError(
            fmt::format("expected a duration such as 30s, got '{}'", printable(text))
        );
    }
    return *value;
}

}  // namespace

void complain(std::string_view words, std::string_view who) {
    const std::string line = fmt::format("{}: {}\n", who, words);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

CLI::Option* add_output(CLI::App& command, bool& json) {
    return command
        .add_option_function<std::string>(
            "-o,--output",
            [&json](const std::string& form) { json = form == "json"; },
            "table for people, json for scripts"
        )
        ->check(CLI::IsMember({"table", "json"}))
        ->default_str("table");
}

CLI::Option* add_duration(
    CLI::App& command, const std::string& flag, duration& target, const std::string& help
) {
    return command
        .add_option_function<std::string>(
            flag, [&target](const std::string& text) { target = required_duration(text); }, help
        )
        ->type_name("DURATION")
        ->default_str(format_duration(target));
}

CLI::Option* add_duration(
    CLI::App& command,
    const std::string& flag,
    std::optional<duration>& target,
    const std::string& help
) {
    return command
        .add_option_function<std::string>(
            flag, [&target](const std::string& text) { target = required_duration(text); }, help
        )
        ->type_name("DURATION");
}

void add_override(
    CLI::App& command,
    std::vector<config_override>& overrides,
    const std::string& flag,
    const std::string& path,
    const std::string& help
) {
    command.add_option_function<std::string>(
        flag,
        [&overrides, flag, path](const std::string& text) {
            overrides.push_back({path, text, flag});
        },
        help
    );
}

file_text read_whole_file(const std::string& path, std::size_t limit) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    if (!std::filesystem::exists(status)) {
        return {std::nullopt, fmt::format("{} does not exist; check the path", printable(path))};
    }
    if (std::filesystem::is_directory(status)) {
        return {std::nullopt, fmt::format("{} is a directory, not a file", printable(path))};
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return {
            std::nullopt,
            fmt::format("{} cannot be read: {}", printable(path), std::strerror(errno))
        };
    }
    std::string text;
    constexpr std::size_t piece = std::size_t{64} * 1024;
    while (file && text.size() <= limit) {
        const std::size_t before = text.size();
        text.resize(before + piece);
        file.read(text.data() + before, piece);
        text.resize(before + static_cast<std::size_t>(file.gcount()));
    }
    if (text.size() > limit) {
        return {
            std::nullopt,
            fmt::format(
                "{} is longer than {}",
                printable(path),
                format_bytes(bytes(static_cast<std::int64_t>(limit)))
            )
        };
    }
    return {std::move(text), {}};
}

}  // namespace sluice::app
