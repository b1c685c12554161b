#include "app/verbs.hpp"

#include <array>

namespace sluice::app {

std::span<const verb> verbs() {
    static constexpr std::array table{
        verb{"kv", "What a token of a model costs in GPU memory", set_up_kv},
        verb{"config", "Check and show the configuration", set_up_config},
        verb{"version", "Print the version", set_up_version},
    };
    return table;
}

}  // namespace sluice::app
