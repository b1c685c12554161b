// The ports between the product and its coordination backends. Each is chosen on its own.
//
// Strand: every call and every callback happens on the strand that the backend was opened with.
// Calls take batches, never block and never throw; outcomes come through the sink, possibly before
// the call returns. No Asio here: a backend brings its own I/O, a caller its own awaiting.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "coord/values.hpp"
#include "core/snapshot.hpp"

namespace sluice::coord {

/// Receives outcomes in the order in which they were decided.
class outcome_sink {
public:
    virtual ~outcome_sink() = default;
    virtual void on_outcomes(std::span<const outcome> batch) = 0;
};

/// Queue and permits of one pool.
///
/// 1. Each submitted ticket gets exactly one final outcome: rejected, timed_out, cancelled,
/// released
///    or lost. `granted` and `requeued` come in between.
/// 2. cancel is final at the caller at once; a grant that was decided before it reaches the sink
/// all
///    the same and must be released.
/// 3. release, renew, requeue of what is not held: `call_failed`, without effect.
class admission_port {
public:
    virtual ~admission_port() = default;

    virtual void submit(std::span<const submission> batch) = 0;
    virtual void cancel(std::span<const ticket_id> batch) = 0;
    virtual void renew(std::span<const renewal> batch) = 0;
    virtual void release(std::span<const release> batch) = 0;
    virtual void requeue(std::span<const requeue> batch) = 0;
    /// Asks for every open outcome again (after a reconnect). Embedded: nothing to do.
    virtual void sync() = 0;

    virtual const capabilities& record() const = 0;
    /// Calls `done` with a copy of the pool's state; at most `waiting_at_most` tickets listed.
    virtual void inspect(
        std::size_t waiting_at_most, std::function<void(const core::pool_snapshot&)> done
    ) = 0;
};

/// Workers of one pool.
class registry_port {
public:
    virtual ~registry_port() = default;

    /// Registers an incarnation. A lower epoch than the known one is ignored; the same one changes
    /// slots and capacity in place.
    virtual void join(const worker_info& worker) = 0;
    virtual void report(const core::report& what) = 0;
    /// A worker without reports answered a probe.
    virtual void probed(std::string_view worker, worker_epoch epoch) = 0;
    virtual void drain(std::string_view worker, worker_epoch epoch) = 0;
    virtual void leave(std::string_view worker, worker_epoch epoch) = 0;

    using watcher =
        std::function<void(std::span<const std::shared_ptr<const worker_info>> workers)>;
    /// Calls `changed` with the full list now and on every change.
    virtual void watch(watcher changed) = 0;
};

/// The ports of one pool. They may be faces of one object.
struct pool_ports {
    std::shared_ptr<admission_port> admission;
    std::shared_ptr<registry_port> registry;
};

}  // namespace sluice::coord
