// Identities that cross rooms.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice {

/// A gateway's or agent's liveness in the backend.
enum class session_id : std::uint64_t {};

/// A request that waits or runs: its session and a counter of that session. Never reused.
struct ticket_id {
    session_id session{};
    std::uint64_t number = 0;

    friend auto operator<=>(const ticket_id&, const ticket_id&) = default;
};

/// The incarnation of a worker; every registration is a new, higher one.
enum class worker_epoch : std::uint64_t {};

/// Rises strictly on every worker; an agent refuses what is not newer. Zero: none yet.
enum class fencing_token : std::uint64_t {};

struct ticket_id_hash {
    std::size_t operator()(const ticket_id& id) const noexcept {
        std::uint64_t h = static_cast<std::uint64_t>(id.session) * 0x9e3779b97f4a7c15ULL;
        h ^= id.number * 0xc2b2ae3d27d4eb4fULL;
        h ^= h >> 29;
        h *= 0xbf58476d1ce4e5b9ULL;
        return static_cast<std::size_t>(h ^ (h >> 32));
    }
};

}  // namespace sluice
