// The rules R1–R12 of core/scheduler.hpp a second time, as dumb as possible: plain vectors, scans
// and sorts at every question. It shares nothing with the scheduler but the value types, so that a
// difference between the two means that one of them has misread the rules.
//
// Everything is public: checkers look into it. `planted` makes it wrong on purpose.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "unit/core/reference_state.hpp"

namespace sluice::core::reference {

class scheduler {
public:
    explicit scheduler(scheduler_config config, planted wrong = {})
        : x_config(config), x_wrong(wrong) {}

    instant step(instant now, const input& what, std::vector<decision>& out);
    void reconfigure(const scheduler_config& config) { x_config = config; }

    const std::vector<waiting_ticket>& waiting() const { return x_waiting; }
    const std::vector<running_permit>& running() const { return x_running; }
    const std::vector<known_worker>& workers() const { return x_workers; }
    const scheduler_config& config() const { return x_config; }
    /// Waiting tickets in the order of a look (not cut at max_heads).
    std::vector<const waiting_ticket*> walk_order() const;
    /// R4, without the tried order: would this worker take the ticket now?
    bool has_slot(const known_worker& worker) const;
    bool open_to(const known_worker& worker, const waiting_ticket& what) const;

    void operator()(const tick&) {}
    void operator()(const worker_joined& what);
    void operator()(const worker_reported& what);
    void operator()(const worker_probed& what);
    void operator()(const worker_draining& what);
    void operator()(const worker_lost& what);
    void operator()(const ticket_submitted& what);
    void operator()(const ticket_cancelled& what);
    void operator()(const permit_renewed& what);
    void operator()(const permit_released& what);
    void operator()(const permit_requeued& what);
    void operator()(const permit_adopted& what);
    void operator()(const session_lost& what);

private:
    struct found {
        worker_number worker{};
        bool by_hint = false;
        bool third_way = false;
        bool kept_for_it = false;
    };

    // Questions.
    known_worker& worker(worker_number number);
    known_worker* present(std::string_view id, worker_epoch epoch);
    bool live_on(const running_permit& permit, const known_worker& worker) const;
    bool listed(const known_worker& worker, const running_permit& permit) const;
    std::int64_t in_use(const known_worker& worker) const;
    std::optional<std::uint32_t> free_index(const known_worker& worker) const;
    /// What is free, and what the ticket needs of it; nothing: memory does not matter.
    std::optional<std::pair<bytes, bytes>> free_and_need(
        const known_worker& worker, const waiting_ticket& what
    ) const;
    bool takes_tickets(const known_worker& worker) const;
    bool avoided(const waiting_ticket& what, const known_worker& worker) const;
    bool low_is_owed() const;
    bool any_waiting(priority cls) const;
    duration retry_after(instant now) const;
    instant promotion_due(const waiting_ticket& what) const;
    instant stale_at(const known_worker& worker) const;
    bool can_go_stale(const known_worker& worker) const;
    instant next_due() const;
    running_permit* permit_of(const ticket_id& id, fencing_token token);

    // Moves; each returns whether there was something due.
    bool expire_one();
    bool suspect_one();
    bool time_out_one();
    bool lose_one();
    bool promote_one();

    // Changes.
    void say(decision what) { x_out->push_back(what); }
    decision about(const waiting_ticket& what, decision_kind kind) const;
    decision about(const running_permit& what, decision_kind kind) const;
    void fail_call(
        const ticket_id& id,
        fencing_token token,
        errc failure,
        decision_why why = decision_why::none
    );
    void open_trial(known_worker& worker);
    void forget_ended_sessions();
    void take_hints(waiting_ticket& into, const ticket& from) const;
    static void move_up(waiting_ticket& what);
    void apply_report(const report& what, const ticket_id* just_requeued);
    void make_suspect(known_worker& worker, decision_why why);
    void drop_reservation(known_worker& worker);
    waiting_ticket take_waiting(std::size_t at);
    running_permit take_running(const ticket_id& id);
    void end_trial(const running_permit& permit, release_outcome outcome, bool released);
    bool grants();
    bool look();
    std::optional<found> place(const waiting_ticket& what);
    std::optional<found> place_third_way(const waiting_ticket& what);
    void grant(const ticket_id& id, const found& where, bool bypassed, bool owed);
    void reserve(waiting_ticket& what);
    std::optional<instant> fits_at(const known_worker& worker, const waiting_ticket& what) const;
    bool reject_overfull();

    scheduler_config x_config;
    planted x_wrong;
    std::vector<waiting_ticket> x_waiting;
    std::vector<running_permit> x_running;
    std::vector<known_worker> x_workers;
    std::vector<session_id> x_lost_sessions;
    std::vector<instant> x_grant_times;
    std::uint64_t x_next_key = 1;
    std::uint64_t x_next_learned = 1;
    std::uint64_t x_others_in_a_row = 0;
    duration x_pace = std::chrono::milliseconds(30);
    std::size_t x_cursor = 0;
    std::optional<std::size_t> x_next_cursor;
    /// Looked at in looks without a find since the last input.
    std::size_t x_seen = 0;
    instant x_now;
    std::optional<ticket_id> x_submitted;
    bool x_release_step = false;
    std::vector<decision>* x_out = nullptr;
};

}  // namespace sluice::core::reference
