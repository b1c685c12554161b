#include "sim/engine_profile.hpp"

#include <array>
#include <string>

namespace sluice::sim {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::array profiles{
    engine_profile{
        .name = default_profile_name,
        .description = "Llama-3.1-8B in bf16 on an RTX 4090, fitted to a recorded vLLM 0.19 run",
        .iteration = microseconds(16'500),
        .kv_token = nanoseconds(130),
        .sequence = microseconds(50),
        .prefill_token = microseconds(95),
        .restart = seconds(20),
    },
    engine_profile{
        .name = "fast",
        .description = "a small model on a large device, for demonstrations and tests",
        .iteration = milliseconds(4),
        .kv_token = nanoseconds(20),
        .sequence = microseconds(5),
        .prefill_token = microseconds(4),
        .restart = seconds(1),
    },
};

}  // namespace

std::span<const engine_profile> engine_profiles() {
    return profiles;
}

result<engine_profile> find_engine_profile(std::string_view name) {
    std::string known;
    for (const engine_profile& profile : profiles) {
        if (profile.name == name) {
            return profile;
        }
        known += known.empty() ? "" : ", ";
        known += profile.name;
    }
    return fail(
        errc::not_found,
        "there is no engine profile '" + std::string(name) + "'; choose one of: " + known
    );
}

}  // namespace sluice::sim
