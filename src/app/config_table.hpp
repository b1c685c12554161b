// The field table of sluice.yaml: the one place that names a key, its bounds and its meaning.
#pragma once

#include "app/config_field.hpp"
#include "base/config.hpp"

namespace sluice::app {

/// Shows every top-level field of `config` to `visitor`. References point into `config`.
void describe(config::gateway_config& config, section_visitor& visitor);

/// The same for one pool.
void describe(config::pool_options& pool, section_visitor& visitor);

}  // namespace sluice::app
