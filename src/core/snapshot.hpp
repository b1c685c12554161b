// A readable copy of a scheduler's state, for admin pages and command lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace sluice::core {

enum class worker_state : std::uint8_t { ready, draining, suspect };
std::string_view to_string(worker_state value);

struct worker_snapshot {
    std::string id;
    worker_number number = no_worker;
    worker_epoch epoch{};
    worker_state state = worker_state::ready;
    std::uint32_t slots = 0;
    std::uint32_t in_use = 0;
    bytes kv_capacity;
    bytes kv_reserved;
    /// Largest prompt KV that a ticket without output could have now (g(0) less what is unlisted).
    bytes kv_headroom;
    bool reports = false;
    duration report_age = duration::zero();
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    bytes kv_used;
};

struct permit_snapshot {
    ticket_id ticket;
    worker_number worker = no_worker;
    std::uint32_t slot = 0;
    fencing_token token{};
    std::string tenant;
    priority cls = priority::normal;
    bytes peak_kv;
    duration age = duration::zero();
    duration expires_in = duration::zero();
};

struct ticket_snapshot {
    ticket_id ticket;
    priority cls = priority::normal;
    std::string tenant;
    bytes peak_kv;
    std::size_t position = 0;
    duration waited = duration::zero();
    duration eta = duration::zero();
};

struct pool_snapshot {
    std::vector<worker_snapshot> workers;
    std::vector<permit_snapshot> permits;
    std::vector<ticket_snapshot> queue;
    std::array<std::size_t, priority_count> waiting{};
    std::uint64_t grants_total = 0;
    /// Grants a second over the recent past, in thousandths.
    std::int64_t grants_per_1000_s = 0;
    duration oldest_wait = duration::zero();
};

}  // namespace sluice::core
