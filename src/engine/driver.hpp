// The clock of one simulated engine: feeds real time into the pure model, and hands the model's
// events to the coroutines that answer requests.
//
// The model lives on one strand (the io_context given at construction); handlers may live on other
// contexts. Everything crosses by asio::dispatch, which is a plain call when both are the same
// thread.
//
// Invariants
//  1. One timer is pending at most, for the model's next wake-up. A timer that fires late costs
//     nothing: the model computes with the times at which things should have happened.
//  2. A generation's fields change on its handler's context only.
//  3. A `generation_handle` that goes away before its generation ended aborts it in the model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "net/asio.hpp"
#include "net/event.hpp"
#include "sim/engine_model.hpp"

namespace sluice::engine {

enum class generation_state : unsigned char {
    submitted,  ///< The model has not answered yet (only between threads).
    refused,    ///< `verdict` says why.
    running,
    finished,
    crashed,
    out_of_memory,
};

/// What a handler knows of its request in the model.
struct generation {
    explicit generation(net::executor where) : home(where), changed(where) {}

    bool ended() const { return state > generation_state::running; }

    net::executor home;
    net::event changed;  ///< Set after every change.
    generation_state state = generation_state::submitted;
    sim::submit_outcome verdict = sim::submit_outcome::accepted;
    std::int64_t generated = 0;
};

class driver;

/// A handler's hold on its generation; move-only.
class generation_handle {
public:
    generation_handle(
        std::shared_ptr<driver> owner, sim::engine_request_id id, std::shared_ptr<generation> what
    );
    ~generation_handle();
    generation_handle(generation_handle&&) noexcept = default;
    generation_handle& operator=(generation_handle&&) = delete;

    generation& operator*() const { return *x_generation; }
    generation* operator->() const { return x_generation.get(); }

private:
    std::shared_ptr<driver> x_owner;
    sim::engine_request_id x_id;
    std::shared_ptr<generation> x_generation;
};

class driver : public std::enable_shared_from_this<driver> {
public:
    driver(net::executor where, const sim::engine_settings& settings);

    /// Any thread; `home` is the context of the calling handler.
    generation_handle submit(tokens prompt, tokens output, net::executor home);
    /// Any thread. The engine dies `after` from now.
    void crash_after(duration after);
    /// While no thread runs the context and before it is destroyed: gives up everything that
    /// belongs to it. Handles may go later, with the coroutines of whichever context dies last.
    void close();

    /// Any thread; as of the latest input or event.
    sim::engine_stats stats() const;
    /// Any thread. Whether the engine is down after a crash now.
    bool restarting() const;

private:
    friend class generation_handle;
    /// The model's side of a generation.
    struct entry {
        std::shared_ptr<generation> what;
        generation_state state = generation_state::running;
        std::int64_t generated = 0;
        bool touched = false;
    };

    instant now() const;
    void submit_on_strand(const sim::engine_request& request, std::shared_ptr<generation> what);
    void abort(sim::engine_request_id id);
    void tick();
    /// After every input: events to handlers, counters to readers, the timer to its place.
    void settle();
    void note(const sim::engine_event& event);
    void hand_over(sim::engine_request_id id);
    void arm();

    net::executor x_executor;
    const std::chrono::steady_clock::time_point x_start;
    std::atomic<std::uint64_t> x_next_id = 1;

    // On the strand:
    sim::engine_model x_model;
    std::unique_ptr<net::steady_timer> x_timer;
    instant x_armed_for = never;
    std::vector<std::unique_ptr<net::steady_timer>> x_crash_timers;
    std::unordered_map<std::uint64_t, entry> x_open;
    std::vector<sim::engine_event> x_events;
    std::vector<sim::engine_request_id> x_touched;
    std::atomic<bool> x_closed = false;

    mutable std::mutex x_mutex;  // for what other threads read, below; held for a copy
    sim::engine_stats x_stats;
    instant x_up_again_at{};
};

}  // namespace sluice::engine
