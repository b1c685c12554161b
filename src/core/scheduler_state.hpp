// The inside of the scheduler, shared by its source files: time, inputs, placing, inspection.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "core/due_queue.hpp"
#include "core/entry_table.hpp"
#include "core/name_table.hpp"
#include "core/scheduler.hpp"
#include "core/waiting_lines.hpp"
#include "core/worker_table.hpp"

namespace sluice::core {

struct scheduler::state {
    explicit state(const scheduler_config& with) : config(with) {}

    scheduler_config config;
    instant now{};

    entry_table entries;
    waiting_lines lines{entries};
    due_queue deadlines{entries};
    due_queue expiries{entries};
    worker_table workers;
    name_table tenants;
    bytes waiting_bytes;
    std::uint64_t next_order = 1;
    std::uint64_t grants_total = 0;
    std::uint32_t grants_since_low = 0;

    using session_list = entry_list<&entry::session_line>;
    boost::unordered_flat_map<session_id, session_list> sessions;
    /// Each has tickets or permits left.
    std::deque<session_id> lost_sessions;

    std::vector<entry_index> reserved;  ///< Tickets that hold a reservation.
    /// No report turns stale before this; recomputed when reached.
    instant stale_bound = never;
    /// Workers not yet looked at since the last input, when a look ended on its bound.
    std::size_t unlooked = 0;

    std::array<instant, 64> grant_times{};
    std::size_t grant_count = 0;
    duration pace = std::chrono::milliseconds(30);

    std::vector<decision>* out = nullptr;
    /// The ticket that this step submitted: the only one that a full queue refuses.
    entry_index submitted = no_entry;

    // Time (scheduler_time.cpp)
    bool has_due_work();
    bool do_due_work();
    bool move_one();
    instant stale_at(const worker& which) const { return which.report_at + 3 * config.heartbeat; }
    bool is_stale(const worker& which) const { return which.reports && stale_at(which) <= now; }
    worker* stale_worker();
    void end_one_of_lost_session();
    instant next_wakeup();

    // Inputs (scheduler_inputs.cpp, scheduler_workers.cpp)
    void apply(const tick&) {}
    void apply(const worker_joined& what);
    void apply(const worker_reported& what);
    void apply(const worker_probed& what);
    void apply(const worker_draining& what);
    void apply(const worker_lost& what);
    void apply(const ticket_submitted& what);
    void apply(const ticket_cancelled& what);
    void apply(const permit_renewed& what);
    void apply(const permit_released& what);
    void apply(const permit_requeued& what);
    void apply(const permit_adopted& what);
    void apply(const session_lost& what);
    void take_report(const report& what);
    void relist(worker& which);
    void open_trial(worker& which);
    entry_index held(ticket_id id, fencing_token token);
    bool goes_by(const worker& which, fencing_token token);
    entry_index make_entry(const ticket& what);
    void start_waiting(entry_index index);
    bool refuse_if_over_limit();
    void end_waiting(entry_index index);
    /// Takes the permit off its worker. The entry stays, running no more.
    void detach(entry_index index);
    void attach(entry_index index, worker& onto, std::uint32_t slot);
    void end_trial(worker& which, const entry& of, release_outcome how);
    void finish(entry_index index);
    void suspect(worker& which, decision_why why);
    void announce(const worker& which, decision_kind kind, decision_why why);
    void lose_reservation(worker& which);

    // Placing (scheduler_place.cpp)
    struct placement {
        worker* where = nullptr;
        decision_why kind = decision_why::none;
    };
    void look_and_grant();
    bool look_once();
    placement place(const entry& newcomer);
    worker* place_by_search(const entry& newcomer);
    bool is_open_for(const worker& which, const entry& newcomer) const;
    void grant(entry_index index, const placement& where);
    void reserve(entry_index index);
    instant fits_at(const worker& which, const entry& newcomer) const;
    void count_low_share(priority granted);

    // Figures
    duration retry_after() const;
    duration grant_interval() const;
    decision& decide(decision_kind kind, decision_why why, const entry& about);

    std::size_t search_end = 0;  ///< Where the last truncated search ended.
    bool search_truncated = false;
};

}  // namespace sluice::core
