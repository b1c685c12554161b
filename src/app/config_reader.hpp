// From YAML to the configuration's fields, driven by the field table. Private to the sources of the
// configuration.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config_field.hpp"
#include "base/config.hpp"

namespace sluice::app {

/// Where a value was written.
struct config_place {
    int line = 0;  ///< From 1; 0: not in the file.
    int column = 0;
    std::string text;  ///< "sluice.yaml:12:14", "SLUICE_LISTEN"
};

/// Collects problems and remembers where each value stood, so that the checks that come after the
/// reading can say so too.
class config_report {
public:
    void remember(const std::string& path, config_place place);
    /// "<place>: <path>: <words>"; an unknown path takes the place of its nearest known ancestor.
    void add(const std::string& path, std::string_view words);
    void add_at(const config_place& place, const std::string& path, std::string_view words);
    /// Whether `path`, or something below it, has a problem: checks that build on it are skipped.
    bool spoiled(std::string_view path) const;
    /// In the order of the file.
    std::vector<std::string> lines() const;

private:
    struct problem {
        std::string path;
        std::string text;
    };
    std::map<std::string, config_place> x_places;
    std::multimap<std::pair<int, int>, problem>
        x_problems;  ///< By line and column; equal ones keep their order.
};

/// Reads `yaml` over the values in `config`; `name` stands in places.
void read_yaml(
    std::string_view yaml,
    std::string_view name,
    config::gateway_config& config,
    config_report& report
);

/// Stores `text` at `path` ("limits.body_bytes"); false when no such scalar exists.
bool set_by_path(
    config::gateway_config& config,
    const std::string& path,
    std::string_view text,
    const std::string& origin,
    config_report& report
);

/// Relations between fields, and what the configuration promises elsewhere (base/config.hpp).
void check_relations(const config::gateway_config& config, config_report& report);

/// Options that this build knows but cannot honour yet.
void check_availability(const config::gateway_config& config, config_report& report);

/// "; did you mean 'listen'?" or the list of what is known.
std::string suggestion(std::string_view unknown, const std::vector<std::string_view>& known);

/// A backend address without its user and password.
std::string without_password(std::string_view address);

}  // namespace sluice::app
