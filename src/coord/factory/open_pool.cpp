#include "coord/factory/open_pool.hpp"

#include <string>

#include "coord/embedded/embedded_pool.hpp"

namespace sluice::coord {

result<pool_ports> open_pool(
    std::string_view address,
    net::executor where,
    const core::scheduler_config& config,
    outcome_sink& sink
) {
    if (address != "embedded") {
        return fail(
            errc::unavailable,
            "the coordination backend '" + std::string(address) +
                "' is not available in this version; use 'embedded'"
        );
    }
    auto pool = std::make_shared<embedded_pool>(where, config, sink);
    return pool_ports{.admission = pool, .registry = pool};
}

}  // namespace sluice::coord
