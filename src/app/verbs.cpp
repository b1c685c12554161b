#include "app/verbs.hpp"

#include <array>

namespace sluice::app {

std::span<const verb> verbs() {
    static constexpr std::array table{
        verb{"demo", "A gateway with simulated GPU workers and some traffic", set_up_demo},
        verb{"gateway", "Queue requests for engines and forward them", set_up_gateway},
        verb{"engine", "A GPU worker without a GPU", set_up_engine},
        verb{"load", "Send a trace to a server and check every answer", set_up_load},
        verb{"status", "Pools, permits and queues of a running gateway", set_up_status},
        verb{"kv", "What a token of a model costs in GPU memory", set_up_kv},
        verb{"bench", "How fast this build is on this machine", set_up_bench},
        verb{"config", "Check and show the configuration", set_up_config},
        verb{"version", "Print the version", set_up_version},
    };
    return table;
}

}  // namespace sluice::app
