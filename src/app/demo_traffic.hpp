// Made-up traffic for the demo: three tenants, three classes, prompts and answers of mixed length,
// and bursts above what two workers can do, so that the queue is seen to breathe.
#pragma once

#include <cstdint>

#include "sim/trace.hpp"

namespace sluice::app {

/// The same for the same arguments on every machine. `workers` ≥ 1 scales the rate.
sim::trace demo_trace(std::int64_t workers, std::uint64_t seed);

}  // namespace sluice::app
