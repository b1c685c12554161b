// The embedded backend: the core in this process, for one gateway.
//
// Both ports of one pool on one executor. Time is the steady clock; the only timer is the one that
// the core asks for (next_wakeup). A call that grants tells the sink before it returns.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "coord/ports.hpp"
#include "core/scheduler.hpp"
#include "net/asio.hpp"

namespace sluice::coord {

class embedded_pool : public admission_port, public registry_port {
public:
    /// `sink` outlives the pool. `now` is replaceable for tests; empty: the steady clock.
    embedded_pool(
        net::executor where,
        core::scheduler_config config,
        outcome_sink& sink,
        std::function<instant()> now = {}
    );
    ~embedded_pool() override;

    void submit(std::span<const submission> batch) override;
    void cancel(std::span<const ticket_id> batch) override;
    void renew(std::span<const renewal> batch) override;
    void release(std::span<const coord::release> batch) override;
    void requeue(std::span<const coord::requeue> batch) override;
    void sync() override;
    const capabilities& record() const override;
    void inspect(std::size_t waiting_at_most, std::function<void(const core::pool_snapshot&)> done)
        override;

    void join(const worker_info& worker) override;
    void report(const core::report& what) override;
    void probed(std::string_view worker, worker_epoch epoch) override;
    void drain(std::string_view worker, worker_epoch epoch) override;
    void leave(std::string_view worker, worker_epoch epoch) override;
    void watch(watcher changed) override;

    /// The session's holder is gone: its tickets and permits go too.
    void end_session(session_id session);
    /// Limits and times in place; queue and permits stay.
    void reconfigure(const core::scheduler_config& config);

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::coord
