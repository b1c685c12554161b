// The configuration of the process: file, environment and flags, read strictly.
//
// Invariants
//  1. Precedence: flag, then environment (SLUICE_…), then file, then the default.
//  2. Nothing is ignored: an unknown key, a wrong value, a key given twice, and an option that this
//     build cannot honour are all problems; every problem of a file is reported, in its order.
//  3. A problem is one line: "sluice.yaml:12:14: pools[0].queue.timeout: expected a duration such
//     as 30s, got 'soon'". Column and line count from 1.
//  4. Secrets are never printed.
// Used at start-up and on reload; no state, any thread.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"

namespace sluice::app {

using config_problems = std::vector<std::string>;
using config_result = std::expected<config::gateway_config, config_problems>;

/// A value from outside the file for one scalar that is below no list.
struct config_override {
    std::string path;    ///< "limits.body_bytes"
    std::string text;    ///< "1MiB"
    std::string origin;  ///< "--listen" or "SLUICE_LISTEN", for messages
};

/// Reads `yaml`; `name` stands in the messages.
config_result read_config(
    std::string_view yaml, std::string_view name, const std::vector<config_override>& overrides = {}
);

/// Reads the file (none: defaults), then `overrides` in their order. A missing or unreadable file
/// is one problem that says what to do.
config_result load_config(
    const std::optional<std::string>& file, const std::vector<config_override>& overrides
);

/// Environment variable → path, for every scalar that is below no list: SLUICE_LIMITS_BODY_BYTES →
/// limits.body_bytes.
std::map<std::string, std::string> environment_names();

/// The overrides that the process environment holds. Empty variables count as absent.
std::vector<config_override> environment_overrides();

/// The whole configuration as YAML that read_config() accepts (except hidden secrets).
std::string config_yaml(const config::gateway_config& config);
/// The same as JSON.
std::string config_json(const config::gateway_config& config);
/// JSON schema (draft 2020-12) of sluice.yaml.
std::string config_schema();

}  // namespace sluice::app
