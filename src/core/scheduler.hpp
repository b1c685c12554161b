// The brain: who runs next, where, with how much memory. One scheduler per pool.
//
// A pure state machine: inputs and the time go in, decisions come out. No thread, clock or I/O.
// Equal histories give equal decisions on every machine and build.
//
// The rules (the reference in the tests is written from this text alone):
//
//  R1 Time. `now` never runs backwards (an earlier one is taken as the latest seen). Every step
//     first does what is due (≤ now), at most `max_moves` moves in this order: permits that expired
//     (by expiry, then order key) → lost; workers that take tickets though their report (without
//     one: their registration) is three heartbeats old (by join order) → suspect; tickets past
//     their deadline (by deadline, then order key) → timed_out; tickets and permits of lost
//     sessions (sessions as lost, inside one as learned of; waiting → cancelled, running → lost);
//     promotions (R6). Then the input is applied. If due work is left over or came with the input
//     (a lost session), nothing is granted in this step and next_wakeup is `now`. The wakeup is
//     never too late; it may be early. A wait or ttl lies between 1 µs and 2^53 µs.
//  R2 Submit. A known id is ignored. No worker registered → no_worker. peak_kv above every
//     registered worker's capacity → too_large (suspect and draining ones count). Otherwise it
//     waits under the next order key. If after this step's grants it still waits and the queue
//     holds more than max_length tickets or max_bytes of bodies, it is rejected: queue_full; if a
//     worker was kept for it, the look is repeated. A peak_kv below prompt_kv counts as prompt_kv.
//  R3 Look. While something can be granted: walk the waiting tickets: those that hold a reservation
//     (by class, order key), then the classes high, normal, low (low first when owed, see below),
//     in a class by order key; at most `max_heads` in all. Grant the first that finds a worker
//     (R4), then look anew. A ticket without reservation that was passed over in that look is
//     "passed by" the granted one if the worker could ever hold it (peak_kv ≤ capacity). A ticket
//     with passed_by ≥ max_bypass reserves (R5) at the moment it is passed over, before later ones
//     are looked at. Low is owed (low_share n > 0) once n − 1 grants in a row went to other classes
//     while low waited. If, as a look begins, no unreserved worker that takes tickets has a free
//     slot, only the tickets with a reservation are walked.
//     why: reservation on its reserved worker, else hint on a hinted one, else bypass if any was
//     passed over in the look, else low_share if low was owed and it is low, else in_order.
//  R4 Place. A worker is open to a ticket if it is present, ready (or suspect with its trial open),
//     not reserved for another, not avoided by the ticket, has a free slot and the memory:
//       free slots = slots − |live permits of its epoch ∪ listed tokens|, and a free slot index;
//       with reports: prompt_kv ≤ g(row) − U, U = Σ peak_kv of live permits of its epoch that the
//         report does not list, row the first ≥ predicted; predicted beyond the last row: peak_kv ≤
//         g(last) − U (an agent that shows no report yet has g = 0). Where nothing runs (no slot
//         in use, the report says running = waiting = 0) peak_kv ≤ g(0) is enough, so that the
//         rounding up to a row refuses nobody for ever;
//       without: peak_kv ≤ capacity − Σ peak_kv of live permits of its epoch (unknown capacity:
//         yes).
//     Tried in this order: its reserved worker; its first max_hints hints (those that named a known
//     worker when it came); then, of the unreserved workers that take tickets and have a free slot,
//     in join order starting after the last one granted this third way, at most `max_looked`, until
//     `max_fitting` are open. Of the first two kinds the first open one wins; of the third the
//     least used (in use / slots; ties: met first). If `max_looked` ended the third way without a
//     find, the next look starts after the last one looked at, and the step asks to be called again
//     until every worker has been looked at since the last input, move or grant.
//     The slot is the lowest free index; the token one above all given, reported, listed and the
//     floor.
//  R5 Reserve. At most `max_reservations` a pool, one a worker, one worker a ticket. Among
//     unreserved ready workers with slots that could ever hold it, the one expected to fit soonest:
//     live permits are taken to end at granted + predicted · pace, in that order (ties: slot); the
//     time is the end by which slot and memory (free now + freed peaks) suffice; now if they do,
//     never if no end does. Ties: larger capacity, then smaller id (bytes). Nobody else is placed
//     there until the ticket leaves the queue, or the worker leaves or is no longer ready.
//     pace: 30 ms a token at first; each permit released ok with output moves it by an eighth of
//     the difference to (now − granted) / output (quotients rounded toward zero).
//  R6 Ageing. A waiting ticket is due to move up one class at arrival + k · ageing (k = 1, 2), and
//     keeps order key and tenant. Due ones move in the order: class normal, then low; order key.
//  R7 Ends. Released, lost and requeued permits free slot and memory in the same step, before the
//     look; a carried report is applied right after. With reports, a listed token keeps its slot
//     until a report no longer lists it. A requeued ticket keeps order key, arrival and passed_by,
//     its class is the one it has aged to by now, its deadline moves by the time it ran. If that
//     incarnation is still there, it avoids it until its next report or probe (the carried report
//     does not count). `hung` makes a ready worker suspect in the same step.
//     A report counts if worker, epoch and number (from 1, rising) do and the worker has an agent;
//     its kv_capacity, where not zero, replaces the registered one.
//  R8 Suspect. No grants. A report or probe opens a trial, unless the worker's report is three
//     heartbeats old: one request. Released ok → ready; failed or hung → suspect, closed; any other
//     end → open as by a probe. A draining worker stays draining whatever ends on it.
//  R9 Calls that name no live permit (unknown ticket, other token) → call_failed not_held; one past
//     its expiry → permit_expired. cancel of a ticket that does not wait → call_failed not_found.
//     They change nothing, and what they carry is not read.
//  R10 Retry-after. With n ≤ 64 remembered grants, the oldest at t0: (now − t0) / n · (waiting
//     + 1), who is refused not counted, between 1 s and 300 s; 1 s without any grant. too_large:
//     zero.
//  R11 Workers. join: unknown id or higher epoch → a fresh incarnation, ready; the epoch of a lost
//     one → it is back, fresh, and its permits take room again; same epoch → slots and capacity
//     change in place; lower than any seen → ignored. lost, drain, report, probe of another epoch:
//     ignored. Permits of a lost or replaced incarnation take no room and stay until released,
//     requeued or expired.
//  R12 Adopt. The ticket is unknown and the worker present in that epoch, slot < slots and free but
//     for old_token, by which no live permit there goes → a live permit under a new token (above
//     old_token), order key kept (or new; later ones are higher), granted now; else call_failed
//     slot_taken. A report that lists old_token lists it. Requeued, it waits as high. Equal keys
//     from two holders stand in any order.
//
//  A decision about a ticket carries what is known of it: place and token, peak, order key,
//  passed_by, waited = now − arrival, and queue_length without it.
//
// Not thread-safe: one strand. Work of a step is bounded by the constants below, not by the queue.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/decisions.hpp"
#include "core/inputs.hpp"
#include "core/snapshot.hpp"

namespace sluice::core {

/// Moves (expiries, time-outs, promotions …) a step.
inline constexpr std::size_t max_moves = 64;
/// Waiting tickets looked at in one look.
inline constexpr std::size_t max_heads = 32;
/// Workers looked at for one ticket, and fitting ones among which the choice is made.
inline constexpr std::size_t max_looked = 32;
inline constexpr std::size_t max_fitting = 8;
inline constexpr std::size_t max_hints = 8;
/// Workers kept free for one ticket each, at one time. Below max_heads: every one is looked at.
inline constexpr std::size_t max_reservations = 16;

struct scheduler_config {
    std::size_t max_length = 5000;
    bytes max_bytes = bytes(256LL * 1024 * 1024);
    duration ageing = std::chrono::seconds(10);
    std::uint32_t max_bypass = 16;
    /// n: at least one in n grants goes to the low class while it waits. 0: off.
    std::uint32_t low_share = 0;
    duration permit_ttl = std::chrono::seconds(30);
    duration heartbeat = std::chrono::seconds(3);
    /// Tokens start above this: what an earlier process may have given out.
    fencing_token token_floor{};
};

class scheduler {
public:
    explicit scheduler(scheduler_config config);
    ~scheduler();
    scheduler(scheduler&&) noexcept;
    scheduler& operator=(scheduler&&) noexcept;

    /// Does what is due, applies `what`, grants. Appends to `out`. Returns when to call again (with
    /// tick) if nothing happens before: `never`, a later instant, or `now` when work is left.
    instant step(instant now, const input& what, std::vector<decision>& out);

    /// Changes limits and times in place; permits, tickets and counters stay (B08).
    void reconfigure(const scheduler_config& config);

    std::size_t waiting() const;
    std::size_t running() const;
    /// Number of a worker by id; nothing if it never joined or is lost.
    std::optional<worker_number> find_worker(std::string_view id) const;
    /// Id of a worker that joined; "" for an unknown number.
    std::string_view worker_id(worker_number number) const;

    /// What admin pages show. `waiting_at_most` bounds the list of tickets.
    pool_snapshot snapshot(instant at, std::size_t waiting_at_most) const;

    /// Recomputes every sum and index from scratch; nothing: all hold, else the first that does
    /// not.
    std::optional<std::string> check_invariants() const;
    /// Everything, readable, one line a thing. For assertions and incidents.
    std::string dump() const;
    /// Equal for equal states, on every machine.
    std::uint64_t state_hash() const;
    /// Heap bytes held (tables at their capacity).
    std::size_t memory_bytes() const;

private:
    struct state;
    std::unique_ptr<state> x_state;
};

}  // namespace sluice::core
