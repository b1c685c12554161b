// Flags that several verbs share, and the way they speak.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sluice::app {

struct config_override;

/// One sentence on stderr: "sluice load: words".
void complain(std::string_view words, std::string_view who = "sluice");

/// `text` on stdout as it is.
void print(std::string_view text);

/// `-o table|json`; `json` is set for the latter.
CLI::Option* add_output(CLI::App& command, bool& json);

/// A duration such as 30s; anything else is a usage error. Shows `fallback` as the default.
CLI::Option* add_duration(
    CLI::App& command, const std::string& flag, duration& target, const std::string& help
);
CLI::Option* add_duration(
    CLI::App& command,
    const std::string& flag,
    std::optional<duration>& target,
    const std::string& help
);

/// A flag that stands for the setting at `path` of the configuration.
void add_override(
    CLI::App& command,
    std::vector<config_override>& overrides,
    const std::string& flag,
    const std::string& path,
    const std::string& help
);

/// The whole file, or what is wrong with it in one sentence ("x.json does not exist"). Files longer
/// than `limit` are refused.
struct file_text {
    std::optional<std::string> text;
    std::string problem;
};
file_text read_whole_file(const std::string& path, std::size_t limit);

}  // namespace sluice::app
