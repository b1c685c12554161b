// The chat request that stands for one line of a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace sluice::load {

struct body_shape {
    std::string_view model;
    /// The prompt's text has four bytes a token, the usual rule of thumb for English.
    tokens input;
    /// Wanted length of the answer; only the simulated engine reads it (`sluice_sim_output`).
    tokens output;
    tokens max_tokens;
    bool stream = true;
    /// Makes the prompt differ from every other one, so that no prefix cache helps.
    std::uint64_t number = 0;
};

std::string chat_body(const body_shape& shape);

}  // namespace sluice::load
