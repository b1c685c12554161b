// A model's config.json (as published with its weights) as the shape that core/kv_model works on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/kv_model.hpp"

namespace sluice::app {

struct model_config {
    core::model_shape shape;
    /// Longest sequence the model was made for, where it says so.
    std::optional<std::int64_t> context;
    /// Which part of the file describes the language model ("text_config"); empty: its top level.
    std::string part;
};

/// `corrupt_input`: not a JSON object. What the file does not say stays empty in the shape.
result<model_config> parse_model_config(std::string_view json_text);

/// The same from a file; `not_found` or `system_error` in one sentence.
result<model_config> load_model_config(const std::string& path);

}  // namespace sluice::app
