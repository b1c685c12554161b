// What the scheduler reasons about: classes, tickets, reports. Plain values.
//
// Text in inputs is borrowed (string_view, pointer): it must live until step() returns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace sluice::core {

/// Classes in the order in which they are served.
enum class priority : std::uint8_t { high, normal, low };
inline constexpr std::size_t priority_count = 3;

/// A worker of one scheduler: its ordinal of joining. Kept over re-registrations, never reused.
enum class worker_number : std::uint32_t {};
inline constexpr auto no_worker = worker_number{0xffff'ffff};

/// "This worker has so many of the prompt's tokens in its cache."
struct hint {
    std::string worker;
    tokens cached;
};

/// A request that asks for one slot and some KV cache.
struct ticket {
    ticket_id id;
    priority cls = priority::normal;
    std::string_view tenant;
    /// KV of the prompt alone, and of prompt plus predicted output. prompt_kv ≤ peak_kv.
    bytes prompt_kv;
    bytes peak_kv;
    /// Output tokens expected (not bytes): selects the row of a worker's headroom table.
    tokens predicted;
    /// How long it may wait from now; past it the ticket times out.
    duration wait = std::chrono::seconds(30);
    /// What its body occupies while it waits (counts against queue.max_bytes).
    bytes queued_bytes;
    /// At most `max_hints` are looked at, best first.
    std::vector<hint> hints;
};

/// Predicted outputs for which a report states headroom, in tokens.
inline constexpr std::array<std::int64_t, 7> headroom_rows = {0, 16, 64, 256, 1024, 4096, 16384};

/// What an agent says of its worker (contract: "report").
struct report {
    std::string_view worker;
    worker_epoch epoch{};
    /// Rises with every report of an epoch; older or repeated ones are ignored.
    std::uint64_t number = 0;
    /// How old the report was when it reached the scheduler.
    duration age = duration::zero();
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    bytes kv_capacity;
    bytes kv_used;
    /// g(r): largest prompt KV of a newcomer with predicted output headroom_rows[i].
    std::array<bytes, headroom_rows.size()> headroom{};
    fencing_token max_token{};
    /// Tokens of every request that the figures above contain.
    std::vector<fencing_token> listed;
};

std::string_view to_string(priority value);

}  // namespace sluice::core
