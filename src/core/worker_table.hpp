// The workers of a pool: slots, memory as last reported, who runs where, and which of them are
// open.
//
// Invariants (checked by scheduler::check_invariants)
//  1. by_slot[i] names a live permit of this epoch whose slot is i, or nobody; `live`, `live_peak`
//     and `unlisted_peak` are the sums over them.
//  2. `ghosts` counts listed tokens that no live permit carries: they keep their slots.
//  3. A worker is in the open set exactly when it takes new tickets and has a free slot.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry_table.hpp"
#include "core/snapshot.hpp"

namespace sluice::core {

struct worker {
    std::string id;
    worker_number number = no_worker;
    worker_epoch epoch{};
    worker_state state = worker_state::ready;
    bool present = false;
    bool reports = false;
    bool trial_open = false;
    bool trial_running = false;
    std::uint32_t slots = 0;
    bytes capacity;
    fencing_token last_token{};

    std::vector<entry_index> by_slot;
    std::uint32_t live = 0;
    /// Permits that name it, those of earlier incarnations included.
    std::uint32_t permits = 0;
    bytes live_peak;
    bytes unlisted_peak;

    /// A token whose permit ended while the report still lists it, and the slot it had.
    struct ghost {
        fencing_token token{};
        std::uint32_t slot = 0;
    };
    std::vector<ghost> known_ghosts;
    std::uint32_t ghosts = 0;

    std::uint64_t report_number = 0;
    instant report_at;
    std::array<bytes, headroom_rows.size()> headroom{};
    std::vector<fencing_token> listed;  // sorted
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    bytes kv_used;
    /// Counts reports and probes: what a ticket that avoids this worker waits for.
    std::uint64_t news = 0;

    entry_index reserved_for = no_entry;
    std::size_t ring_position = 0;

    bool takes_tickets() const {
        return present && (state == worker_state::ready ||
                           (state == worker_state::suspect && trial_open && !trial_running));
    }
    std::uint32_t in_use() const { return live + ghosts; }
    std::uint32_t free_slots() const { return in_use() < slots ? slots - in_use() : 0; }
    /// Lowest index below `slots` that neither a live permit nor a known ghost has; `slots` if
    /// none.
    std::uint32_t free_index() const;
    bool lists(fencing_token token) const;
    /// Whether the memory test of R4 admits a ticket of this size now.
    bool has_memory_for(const entry& newcomer) const;
    /// Free memory by the measure that has_memory_for() uses for `newcomer`, and what it asks for.
    bytes free_memory_for(const entry& newcomer) const;
    bytes need_of(const entry& newcomer) const;
    bool could_ever_hold(bytes peak) const { return peak <= capacity; }
};

class worker_table {
public:
    worker* find(std::string_view id) const;
    worker* find(worker_number number) const;
    /// Present or not; creates it, absent, when unknown.
    worker& find_or_create(std::string_view id, fencing_token& floor);

    /// Sorted by number, absent ones included.
    const std::vector<std::unique_ptr<worker>>& all() const { return x_ring; }
    std::size_t present_count() const { return x_present; }
    void set_present(worker& which, bool present);

    /// Call after any change of what invariant 3 speaks of.
    void refresh(worker& which);
    std::size_t open_count() const { return x_open_count; }
    /// First open worker at or after ring position `from`, wrapping; nullptr if none is open.
    worker* next_open(std::size_t from) const;

    std::size_t cursor = 0;  ///< Ring position at which the next third-way search starts.

    std::size_t memory_bytes() const;

private:
    void forget_absent(fencing_token& floor);

    std::vector<std::unique_ptr<worker>> x_ring;
    std::vector<std::uint64_t> x_open;
    std::size_t x_open_count = 0;
    std::size_t x_present = 0;
    std::uint32_t x_next_number = 0;
    boost::unordered_flat_map<std::string_view, worker*> x_by_id;
};

}  // namespace sluice::core
