// Between the requests, which live on every thread, and the admission port of one pool, which lives
// on one strand (context 0 of the io_pool).
//
//  1. Every acquire() ends in exactly one of: a lease, a refusal, or an aborted signal. A grant
//     that comes after the caller gave up is given back by the hub.
//  2. A lease gives its permit back exactly once: by finish(), or `aborted` when it is destroyed.
//     A permit that the backend took away fires the request's signal (tag_permit_lost) instead.
//  3. Operations of other threads travel in batches, one flush in flight; those of context 0 are
//     applied at once. Nothing blocks, and no lock is held while the port is called.
//  4. Leases may outlive the hub's close(); they then do nothing.
//  5. Live permits are renewed every `renew_every` in one call. A request that still holds its
//     lease is inside its own time-outs, because those end it.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "coord/ports.hpp"
#include "net/abort.hpp"
#include "net/io_pool.hpp"
#include "openai/errors.hpp"

namespace sluice::gateway {

/// abort_cause::tag of a request whose permit is lost. Deadlines of the request have smaller ones.
inline constexpr unsigned tag_permit_lost = 1000;

/// Why a request may not run.
struct refusal {
    openai::reason why = openai::reason::no_worker;
    duration retry_after = duration::zero();  ///< Zero: never.
    std::uint32_t queue_length = 0;
};

/// What a request used, as far as it is known.
struct token_use {
    tokens prompt;
    tokens output;
};

class admission_hub;
struct hub_ticket;

/// The right to run, held by one request on its thread.
class permit_lease {
public:
    permit_lease() = default;
    permit_lease(permit_lease&& other) noexcept = default;
    permit_lease& operator=(permit_lease&& other) noexcept;
    ~permit_lease();

    explicit operator bool() const { return x_ticket != nullptr; }
    const coord::permit& permit() const { return x_permit; }

    /// Gives the permit back. Later calls do nothing.
    void finish(core::release_outcome outcome, token_use used = {});

private:
    friend class admission_hub;
    std::shared_ptr<admission_hub> x_hub;
    std::shared_ptr<hub_ticket> x_ticket;
    coord::permit x_permit;
};

struct hub_options {
    session_id session{};
    duration permit_ttl = std::chrono::seconds(30);
    duration renew_every = std::chrono::seconds(10);
    /// Whether a lost permit ends its request (on_permit_loss: cut).
    bool cut_on_loss = true;
    /// Called on the strand when a worker turned suspect, or a request was taken back from it.
    std::function<void(const std::shared_ptr<const coord::worker_info>&)> on_trouble{};
};

class admission_hub : public coord::outcome_sink,
                      public std::enable_shared_from_this<admission_hub> {
public:
    using answer = std::expected<permit_lease, refusal>;
    using snapshot_reader = std::function<void(const core::pool_snapshot&)>;

    static std::shared_ptr<admission_hub> make(net::io_pool& pool, hub_options options);
    ~admission_hub() override;

    /// Before the first request. The hub is the port's sink.
    void attach(std::shared_ptr<coord::admission_port> port);

    /// Waits for a permit; called on context `thread` of the io_pool. `what.id` is set here. After
    /// an abort of `signal` the answer is a refusal that means nothing: look at the signal.
    net::task<answer> acquire(
        coord::submission what, net::abort_signal& signal, std::size_t thread
    );
    /// Gives the lease's permit back and waits for another one in the old place.
    net::task<answer> acquire_again(
        permit_lease lease, core::requeue_why why, net::abort_signal& signal
    );

    /// Thread-safe. Refuses who waits and who comes: draining.
    void drain();
    /// From the owner, after the io_pool has stopped: nothing reaches the port any more.
    void close();
    /// Thread-safe. How many of this gateway's requests waited when it was last looked at: a hint.
    std::size_t waiting() const;
    /// Thread-safe. Calls `done` on the strand.
    void look(std::size_t waiting_at_most, snapshot_reader done);

    void on_outcomes(std::span<const coord::outcome> batch) override;

private:
    friend class permit_lease;
    struct impl;
    explicit admission_hub(std::unique_ptr<impl> state);
    net::task<answer> wait_for(std::shared_ptr<hub_ticket> ticket, net::abort_signal& signal);

    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::gateway
