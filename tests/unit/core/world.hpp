// A small world around a scheduler: engines with real memory, holders of permits, a network that
// delays, drops, repeats and reorders reports, and every kind of mishap. Draws the next input and
// learns from the decisions. All chance comes from one seeded source.
//
// An honest world keeps to what the contract asks of it (engines report the truth, outputs stay
// within predictions): there overcommitted() must never find anything. The other worlds lie in
// reports, so that the scheduler meets figures that contradict each other.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "core/scheduler.hpp"

namespace sluice::core::reference {

struct world_options {
    scheduler_config config;
    bool honest = true;
    std::size_t workers = 2;
    std::uint32_t slots_most = 4;
    std::int64_t capacity = 1000;
    /// Of four workers so many report.
    std::uint32_t reporting = 2;
    bool unknown_capacity = false;
    /// Mishaps in a thousand events; 0: a calm world.
    std::uint32_t mishaps = 60;
    std::uint32_t submits = 300;
    duration wait_most = std::chrono::seconds(3);
    duration step_most = std::chrono::milliseconds(200);
};
world_options draw_options(random_source& random);
std::string describe(const world_options& options);

class world {
public:
    world(const world_options& options, std::uint64_t seed);

    struct event {
        instant now;
        input what;
    };
    /// Valid until the next call. `wakeup`: what the last step asked for.
    const event& next(instant wakeup);
    /// Nothing new arrives, nothing fails any more: everyone gives back what they hold.
    const event& next_of_the_end(instant wakeup);
    void observe(const std::vector<decision>& decisions);
    /// I1 at the moment of the newest report: what it shows to run, together with all that was
    /// granted on its strength, needs more over time than there is. (Honest worlds. What time adds
    /// between a report and the start of a request is the business of the guard at the door.)
    std::optional<std::string> overcommitted() const;
    instant now() const { return x_now; }
    /// The scheduler lost its memory: workers register again, holders state what they have. Returns
    /// a token above all that were given out.
    fencing_token restart();

private:
    struct engine_run {
        ticket_id id;
        fencing_token token{};
        std::int64_t prompt = 0;
        std::int64_t predicted = 0;
        std::int64_t produced = 0;
        std::int64_t actual = 0;
    };
    struct engine {
        std::string id;
        worker_epoch epoch{};
        std::uint32_t slots = 0;
        bytes capacity;
        bool reports = false;
        bool alive = true;
        bool draining = false;
        std::uint64_t number = 0;
        std::uint64_t applied = 0;
        /// What ran when the newest report that counts was written; those of others under way.
        std::vector<engine_run> shown;
        std::map<std::uint64_t, std::vector<engine_run>> written;
        fencing_token max_token{};
        std::vector<engine_run> runs;
        std::vector<report> under_way;
    };
    enum class phase : std::uint8_t { waits, granted, runs, finished };
    struct holder {
        ticket what;
        phase where = phase::waits;
        std::size_t engine = 0;
        worker_epoch epoch{};
        std::uint32_t slot = 0;
        fencing_token token{};
        /// Number of the report on whose strength it was granted.
        std::uint64_t granted_on = 0;
        std::uint64_t order_key = 0;
        bool unstated = false;
    };
    /// A stream whose permit is gone while it goes on; it may be adopted.
    struct orphan {
        holder was;
    };

    bool cancel_what_can_never_run();
    bool submit();
    bool release(bool only_finished);
    bool requeue();
    bool renew();
    bool cancel();
    bool deliver_report();
    bool probe();
    bool mishap();
    bool lose_worker();
    bool join_again();
    bool drain();
    bool lose_session();
    bool adopt();
    permit_adopted adoption_of(const holder& one) const;
    bool state_again();
    bool wrong_call();

    void let_time_pass(instant wakeup);
    void engines_work();
    void finish(holder& one, bool leave_running);
    void start(holder& one);
    report make_report(engine& from);
    void lie(report& about, const engine& from);
    bytes headroom(const engine& from, std::int64_t row) const;
    const report* carried_report(engine& from);
    holder* some_holder(phase first, phase last);
    holder* holder_of(const ticket_id& id);
    void forget(const ticket_id& id);
    input join_of(const engine& one) const;
    void note_applied(const report& what);
    template <class Event>
    bool emit(Event what) {
        x_event.what = std::move(what);
        return true;
    }

    world_options x_options;
    random_source x_random;
    instant x_now = instant(std::chrono::seconds(1000));
    event x_event;
    std::vector<engine> x_engines;
    /// Engine of a worker number: they join in this order.
    std::size_t x_joined = 0;
    std::deque<holder> x_holders;
    std::deque<orphan> x_orphans;
    std::vector<holder> x_former;
    std::uint64_t x_next_ticket = 1;
    bool x_lies = false;
    std::uint32_t x_burst = 0;
    duration x_burst_wait = duration::zero();
    report x_report;
    std::optional<report> x_carried_now;
};

}  // namespace sluice::core::reference
