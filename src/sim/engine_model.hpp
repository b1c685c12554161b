// A continuous-batching inference engine as a pure state machine: requests and the time go in,
// tokens, ends and the next wake-up come out. No clock, no thread, no I/O.
//
// It schedules as vLLM does. An iteration gives every decoding request one token; what is left of
// the token budget goes to prompt chunks: first of the request whose prefill is under way, then of
// waiting ones, first come first served, each admitted only when blocks for its whole prompt are
// free. When a decoding request needs a block and none is free, `when_full` decides: the tail of
// the batch is preempted and later recomputed (nobody is admitted in that iteration), the engine
// crashes, or the last request that cannot get its block ends with an error.
//
// Called by the HTTP face (on its strand) and by the discrete-event simulator.
//
// Invariants (checked by check_invariants() and by a random property test)
//  1. Blocks in use never exceed usable_blocks(), requests in the batch never exceed the slots.
//  2. Every accepted request has exactly one end: finished, crashed, out_of_memory or abort().
//  3. started = finished + aborted + crashed_requests + out_of_memory + running.
//  4. abort() frees slot and blocks at once, also in the middle of an iteration.
//  5. Events depend on the inputs and their times only, not on how often advance() is called.
//  6. Events come in the order of time; an iteration under way ends when it would have, whatever
//     arrives or leaves meanwhile.
//
// Cost: between two things that matter (an arrival, an end, a block that cannot be had) all
// iterations are one closed formula, so work is per request, not per token. With `token_events`
// every token is an event, and work is per token of the requests in the batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine_batch.hpp"
#include "sim/engine_types.hpp"

namespace sluice::sim {

class engine_model {
public:
    explicit engine_model(const engine_settings& settings);

    /// Each input first does what advance(now) does. Time that runs backwards counts as standing.
    submit_outcome submit(
        instant now, const engine_request& request, std::vector<engine_event>& events
    );
    /// False when no such request is under way; otherwise it is gone without a further event.
    bool abort(instant now, engine_request_id id, std::vector<engine_event>& events);
    /// The process dies with everything in it and restarts (also what when_full::crash does).
    void crash(instant now, std::vector<engine_event>& events);
    /// Appends all that happened up to and including `now`.
    void advance(instant now, std::vector<engine_event>& events);

    /// When advance() will next have something to say, if no input comes before; `never` if idle.
    instant next_wakeup() const;
    /// Whether, as of the last input, the engine is down after a crash.
    bool restarting() const { return x_now < x_up_at; }
    /// Until when the latest crash keeps the engine down; some time past if it does not.
    instant up_again_at() const { return to_instant(x_up_at); }

    /// As of the last input.
    engine_stats stats() const;
    /// Requests under way, the batch first, then the waiting queue.
    std::vector<engine_progress> progress() const;
    std::int64_t usable_blocks() const { return x_batch.usable_blocks(); }
    /// All tokens that fit, in whole blocks.
    tokens capacity() const;
    /// Longest prompt plus output that is accepted.
    tokens longest() const;
    const engine_settings& settings() const { return x_settings; }

    /// Empty, or what is wrong. Linear in the requests under way.
    std::string check_invariants() const;

private:
    /// Nanoseconds of the engine's own time: real ones times the speed. 128 bits, since years at
    /// a thousandfold speed do not fit into 64.
    using engine_time = __int128;
    using index = engine_batch::index;
    using event_list = std::vector<engine_event>;

    /// Iterations that differ only in the growth of the cache: the j-th lasts
    /// first + (j − 1) · growth.
    struct stretch {
        engine_time start = 0;
        engine_time first = 0;
        engine_time growth = 0;
        std::int64_t total = 0;  ///< 0: the engine is idle.
        std::int64_t done = 0;
        engine_time end_of(std::int64_t iteration) const;
        /// Iterations that have ended by `now`.
        std::int64_t ended_by(engine_time now) const;
    };
    /// A prompt chunk of the iteration under way; `admission` tells whether it is still there.
    struct chunk {
        index where = engine_batch::none;
        std::uint64_t admission = 0;
        std::int64_t count = 0;
    };

    engine_time to_engine(instant at) const;
    instant to_instant(engine_time at) const;
    void complete_iterations(std::int64_t count, event_list& events);
    void end_iteration(engine_time when, event_list& events);
    void start_iterations(engine_time when, event_list& events);
    bool find_decode_blocks(engine_time when, event_list& events);
    std::int64_t plan_prefill(bool admit);
    std::int64_t uneventful_iterations(bool eventful_start);
    /// The iteration under way becomes the last of its stretch.
    void cut_stretch();
    void die(engine_time when, event_list& events);
    void emit(
        engine_event_kind kind,
        index i,
        std::int64_t generated,
        engine_time when,
        event_list& events
    ) const;

    engine_settings x_settings;
    engine_batch x_batch;
    bool x_has_origin = false;
    instant x_origin{};
    engine_time x_now = 0;
    engine_time x_up_at = 0;
    stretch x_stretch;
    std::vector<chunk> x_chunks;
    engine_stats x_stats;  ///< The counters; the levels are filled in by stats().
};

}  // namespace sluice::sim
