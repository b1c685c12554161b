// The request side of admission_hub: leases, waiting, start and end.
#include "gateway/admission_hub.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/assert.hpp"
#include "gateway/admission_hub_impl.hpp"

namespace sluice::gateway {

permit_lease& permit_lease::operator=(permit_lease&& other) noexcept {
    if (this != &other) {
        finish(core::release_outcome::aborted);
        x_hub = std::move(other.x_hub);
        x_ticket = std::move(other.x_ticket);
        x_permit = std::move(other.x_permit);
    }
    return *this;
}

permit_lease::~permit_lease() {
    finish(core::release_outcome::aborted);
}

void permit_lease::finish(core::release_outcome outcome, token_use used) {
    if (!x_ticket) {
        return;
    }
    x_ticket->signal = nullptr;
    const std::size_t thread = x_ticket->thread;
    const auto hub = std::move(x_hub);
    hub->x_impl->send({hub_call::release, std::move(x_ticket), outcome, {}, used}, thread);
    x_ticket = nullptr;
}

admission_hub::admission_hub(std::unique_ptr<impl> state) : x_impl(std::move(state)) {}
admission_hub::~admission_hub() = default;

std::shared_ptr<admission_hub> admission_hub::make(net::io_pool& pool, hub_options options) {
    auto hub = std::shared_ptr<admission_hub>(
        new admission_hub(std::make_unique<impl>(pool, std::move(options)))
    );
    impl& state = *hub->x_impl;
    state.self = hub.get();
    state.inbox = std::make_unique<net::mailbox<hub_operation>>(
        pool.executor_of(0),
        [weak = hub->weak_from_this()](std::vector<hub_operation>&& batch) {
            const auto alive = weak.lock();
            if (alive && !alive->x_impl->closed) {
                alive->x_impl->apply_on_strand(batch);
            }
        }
    );
    state.outboxes.resize(pool.size());
    for (std::size_t i = 1; i < pool.size(); ++i) {
        state.outboxes[i] = std::make_unique<net::mailbox<hub_delivery>>(
            pool.executor_of(i),
            [](std::vector<hub_delivery>&& batch) {
                for (hub_delivery& one : batch) {
                    impl::arrive(one);
                }
            }
        );
    }
    return hub;
}

void admission_hub::attach(std::shared_ptr<coord::admission_port> port) {
    x_impl->port = std::move(port);
}

net::task<admission_hub::answer> admission_hub::acquire(
    coord::submission what, net::abort_signal& signal, std::size_t thread
) {
    auto ticket = std::make_shared<hub_ticket>(thread, x_impl->pool.executor_of(thread));
    ticket->id = {
        x_impl->options.session, x_impl->next_number.fetch_add(1, std::memory_order_relaxed)
    };
    what.id = ticket->id;
    ticket->what = std::move(what);
    x_impl->send({hub_call::submit, ticket, {}, {}, {}}, thread);
    return wait_for(std::move(ticket), signal);
}

net::task<admission_hub::answer> admission_hub::acquire_again(
    permit_lease lease, core::requeue_why why, net::abort_signal& signal
) {
    SLUICE_ASSERT(lease);
    const auto ticket = std::exchange(lease.x_ticket, nullptr);
    ticket->signal = nullptr;
    ticket->answer = {};
    ticket->wake.reset();
    x_impl->send({hub_call::requeue, ticket, {}, why, {}}, ticket->thread);
    return wait_for(ticket, signal);
}

net::task<admission_hub::answer> admission_hub::wait_for(
    std::shared_ptr<hub_ticket> ticket, net::abort_signal& signal
) {
    while (std::holds_alternative<std::monostate>(ticket->answer)) {
        if (signal.aborted()) {
            ticket->abandoned = true;
            x_impl->send({hub_call::cancel, ticket, {}, {}, {}}, ticket->thread);
            co_return std::unexpected(refusal{openai::reason::client_gone, {}, 0});
        }
        co_await ticket->wake.wait(signal);
    }
    if (auto* refused = std::get_if<refusal>(&ticket->answer)) {
        co_return std::unexpected(*refused);
    }
    permit_lease lease;
    lease.x_permit = std::get<coord::permit>(std::move(ticket->answer));
    lease.x_hub = shared_from_this();
    if (x_impl->options.cut_on_loss) {
        ticket->signal = &signal;
    }
    lease.x_ticket = std::move(ticket);
    co_return lease;
}

void admission_hub::drain() {
    boost::asio::post(x_impl->pool.executor_of(0), [hub = shared_from_this()] {
        if (!hub->x_impl->closed) {
            hub->x_impl->drain_on_strand();
        }
    });
}

void admission_hub::close() {
    x_impl->closed.store(true, std::memory_order_release);
    // Leases that are still suspended somewhere keep the hub alive, longer than the contexts.
    x_impl->port.reset();
    x_impl->open.clear();
    x_impl->timer.reset();
}

std::size_t admission_hub::waiting() const {
    return x_impl->waiting.load(std::memory_order_relaxed);
}

void admission_hub::look(std::size_t waiting_at_most, snapshot_reader done) {
    boost::asio::post(
        x_impl->pool.executor_of(0),
        [hub = shared_from_this(), waiting_at_most, done = std::move(done)] {
            if (!hub->x_impl->closed) {
                hub->x_impl->port->inspect(waiting_at_most, done);
            }
        }
    );
}

void admission_hub::on_outcomes(std::span<const coord::outcome> batch) {
    for (const coord::outcome& one : batch) {
        x_impl->take(one);
    }
    x_impl->count_waiting();
    if (x_impl->late.empty() || x_impl->inside_call || std::exchange(x_impl->late_posted, true)) {
        return;
    }
    // The backend is on the stack: it is called back after it has returned.
    boost::asio::post(x_impl->pool.executor_of(0), [hub = shared_from_this()] {
        hub->x_impl->late_posted = false;
        if (!hub->x_impl->closed) {
            hub->x_impl->flush_late();
        }
    });
}

}  // namespace sluice::gateway
