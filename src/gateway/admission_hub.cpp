#include "gateway/admission_hub.hpp"

#include <boost/asio/post.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.hpp"
#include "net/event.hpp"
#include "net/mailbox.hpp"

namespace sluice::gateway {

namespace {

enum class op_kind { submit, cancel, release, requeue };

struct operation {
    op_kind kind = op_kind::submit;
    std::shared_ptr<hub_ticket> who;
    core::release_outcome outcome = core::release_outcome::ok;
    core::requeue_why why = core::requeue_why::refused;
    token_use used;
};

struct permit_lost {};
using verdict = std::variant<std::monostate, coord::permit, refusal, permit_lost>;

struct delivery {
    std::shared_ptr<hub_ticket> to;
    verdict what;
};

/// A core `why` as the reason that the client reads.
openai::reason reason_of(core::decision_why why) {
    switch (why) {
        case core::decision_why::too_large:
            return openai::reason::too_large;
        case core::decision_why::queue_full:
            return openai::reason::queue_full;
        case core::decision_why::queue_timeout:
            return openai::reason::queue_timeout;
        case core::decision_why::no_worker:
            return openai::reason::no_worker;
        default:
            return openai::reason::backend_lost;
    }
}

constexpr duration draining_retry_after = std::chrono::seconds(1);

}  // namespace

/// One request's ticket. The first part belongs to the request's thread, the second to the strand.
struct hub_ticket {
    hub_ticket(std::size_t on, net::executor where) : thread(on), wake(where) {}

    const std::size_t thread;
    net::event wake;
    verdict answer;
    bool abandoned = false;
    net::abort_signal* signal = nullptr;  // while a lease is held

    enum class phase { fresh, waiting, given_up, running, ended };
    phase now = phase::fresh;
    coord::submission what;
    ticket_id id;
    fencing_token token{};
    std::shared_ptr<const coord::worker_info> worker;
};

struct admission_hub::impl {
    using phase = hub_ticket::phase;

    impl(net::io_pool& threads, hub_options wanted)
        : options(std::move(wanted)), pool(threads), timer(threads.executor_of(0)) {}

    hub_options options;
    net::io_pool& pool;
    admission_hub* self = nullptr;
    std::shared_ptr<coord::admission_port> port;
    std::atomic<std::uint64_t> next_number{1};
    std::atomic<bool> closed{false};

    /// Towards the strand, and from it to the thread of each index but 0.
    std::unique_ptr<net::mailbox<operation>> inbox;
    std::vector<std::unique_ptr<net::mailbox<delivery>>> outboxes;

    // On the strand:
    std::unordered_map<std::uint64_t, std::shared_ptr<hub_ticket>> open;
    std::size_t running = 0;
    bool draining = false;
    bool inside_call = false;  // a call of the port is on the stack
    bool late_posted = false;
    std::vector<coord::release> late;  // grants that nobody waits for any more
    net::steady_timer timer;
    bool timer_set = false;
    std::vector<coord::submission> submissions;
    std::vector<ticket_id> ids;
    std::vector<coord::release> releases;
    std::vector<coord::requeue> requeues;

    void send(operation op, std::size_t from_thread);
    void apply_on_strand(std::span<operation> batch);
    std::size_t apply_run(std::span<operation> run);
    void submit_run(std::span<operation> run);
    void cancel_run(std::span<operation> run);
    void release_run(std::span<operation> run);
    void requeue_run(std::span<operation> run);
    void flush_late();
    void take(const coord::outcome& one);
    void take_grant(hub_ticket& ticket, const coord::outcome& one);
    void end(std::uint64_t number);
    void deliver(const std::shared_ptr<hub_ticket>& to, verdict what);
    static void arrive(delivery& one);
    void arm_renewal();
    void renew_on_strand();
    void drain_on_strand();
    void trouble(const std::shared_ptr<const coord::worker_info>& with);

    template <class Call>
    void call(Call&& what) {
        const bool outer = std::exchange(inside_call, true);
        what(*port);
        inside_call = outer;
    }
};

void admission_hub::impl::send(operation op, std::size_t from_thread) {
    if (closed.load(std::memory_order_acquire)) {
        return;
    }
    if (from_thread == 0) {
        apply_on_strand({&op, 1});
    } else {
        inbox->push(std::move(op));
    }
}

void admission_hub::impl::apply_on_strand(std::span<operation> batch) {
    while (!batch.empty()) {
        batch = batch.subspan(apply_run(batch));
    }
    flush_late();
}

/// Applies the operations of one kind at the front in one call; how many there were.
std::size_t admission_hub::impl::apply_run(std::span<operation> run) {
    std::size_t count = 1;
    while (count < run.size() && run[count].kind == run.front().kind) {
        ++count;
    }
    run = run.first(count);
    switch (run.front().kind) {
        case op_kind::submit:
            submit_run(run);
            break;
        case op_kind::cancel:
            cancel_run(run);
            break;
        case op_kind::release:
            release_run(run);
            break;
        case op_kind::requeue:
            requeue_run(run);
            break;
    }
    return count;
}

void admission_hub::impl::submit_run(std::span<operation> run) {
    submissions.clear();
    for (const operation& op : run) {
        if (draining) {
            op.who->now = phase::ended;
            deliver(op.who, refusal{openai::reason::draining, draining_retry_after, 0});
            continue;
        }
        op.who->now = phase::waiting;
        open.emplace(op.who->id.number, op.who);
        submissions.push_back(std::move(op.who->what));
    }
    if (!submissions.empty()) {
        call([&](coord::admission_port& to) { to.submit(submissions); });
    }
}

void admission_hub::impl::cancel_run(std::span<operation> run) {
    ids.clear();
    for (const operation& op : run) {
        if (op.who->now == phase::waiting) {
            op.who->now = phase::given_up;
            ids.push_back(op.who->id);
        } else if (op.who->now == phase::running) {
            // The grant was on its way while the caller left.
            op.who->now = phase::ended;
            --running;
            late.push_back({op.who->id, op.who->token, core::release_outcome::aborted, {}, {}, {}});
        }
    }
    if (!ids.empty()) {
        call([&](coord::admission_port& to) { to.cancel(ids); });
    }
}

void admission_hub::impl::release_run(std::span<operation> run) {
    releases.clear();
    for (const operation& op : run) {
        if (op.who->now != phase::running) {
            continue;  // lost meanwhile
        }
        op.who->now = phase::ended;
        --running;
        releases.push_back(
            {op.who->id, op.who->token, op.outcome, op.used.prompt, op.used.output, {}}
        );
    }
    if (!releases.empty()) {
        call([&](coord::admission_port& to) { to.release(releases); });
    }
}

void admission_hub::impl::requeue_run(std::span<operation> run) {
    requeues.clear();
    for (const operation& op : run) {
        if (op.who->now != phase::running) {
            // Its permit is gone, and with it the place that it could have gone back to.
            deliver(op.who, refusal{openai::reason::backend_lost, draining_retry_after, 0});
            continue;
        }
        --running;
        op.who->now = phase::waiting;
        requeues.push_back({op.who->id, op.who->token, op.why, {}});
    }
    if (!requeues.empty()) {
        call([&](coord::admission_port& to) { to.requeue(requeues); });
    }
    for (const operation& op : run) {
        if (op.why == core::requeue_why::failed) {
            trouble(op.who->worker);
        }
    }
    if (draining) {
        drain_on_strand();
    }
}

void admission_hub::impl::trouble(const std::shared_ptr<const coord::worker_info>& with) {
    if (with && options.on_trouble) {
        options.on_trouble(with);
    }
}

void admission_hub::impl::flush_late() {
    // Releasing may grant, and that grant may be late too.
    while (!late.empty() && !inside_call) {
        const auto batch = std::exchange(late, {});
        call([&](coord::admission_port& to) { to.release(batch); });
    }
}

void admission_hub::impl::end(std::uint64_t number) {
    open.erase(number);
}

void admission_hub::impl::take_grant(hub_ticket& ticket, const coord::outcome& one) {
    ticket.token = one.permit.token;
    ticket.worker = one.permit.worker;
    if (ticket.now != phase::waiting) {
        ticket.now = phase::ended;
        late.push_back({ticket.id, ticket.token, core::release_outcome::aborted, {}, {}, {}});
        return;
    }
    ticket.now = phase::running;
    ++running;
    arm_renewal();
    deliver(open.at(ticket.id.number), one.permit);
}

void admission_hub::impl::take(const coord::outcome& one) {
    if (one.kind == core::decision_kind::worker_suspect) {
        trouble(one.permit.worker);
        return;
    }
    const auto found = open.find(one.ticket.number);
    if (found == open.end()) {
        return;
    }
    const std::shared_ptr<hub_ticket> ticket = found->second;
    using kind = core::decision_kind;
    switch (one.kind) {
        case kind::granted:
        case kind::adopted:
            take_grant(*ticket, one);
            return;
        case kind::rejected:
        case kind::timed_out:
        case kind::cancelled:
            if (ticket->now == phase::waiting) {
                deliver(ticket, refusal{reason_of(one.why), one.retry_after, one.queue_length});
            }
            ticket->now = phase::ended;
            end(one.ticket.number);
            return;
        case kind::lost:
            if (ticket->now == phase::running) {
                --running;
                deliver(ticket, permit_lost{});
            }
            ticket->now = phase::ended;
            end(one.ticket.number);
            return;
        case kind::released:
            end(one.ticket.number);
            return;
        case kind::call_failed:
            if (ticket->now == phase::ended) {
                end(one.ticket.number);
            }
            return;
        case kind::requeued:
        case kind::worker_suspect:  // above
        case kind::worker_ready:
            return;
    }
}

void admission_hub::impl::deliver(const std::shared_ptr<hub_ticket>& to, verdict what) {
    delivery one{to, std::move(what)};
    if (to->thread == 0) {
        arrive(one);
    } else {
        outboxes[to->thread]->push(std::move(one));
    }
}

/// On the thread of the request.
void admission_hub::impl::arrive(delivery& one) {
    hub_ticket& ticket = *one.to;
    if (std::holds_alternative<permit_lost>(one.what)) {
        if (ticket.signal != nullptr) {
            ticket.signal->fire({net::abort_kind::deadline, tag_permit_lost});
        }
        return;
    }
    if (ticket.abandoned) {
        return;
    }
    ticket.answer = std::move(one.what);
    ticket.wake.set();
}

void admission_hub::impl::arm_renewal() {
    if (std::exchange(timer_set, true)) {
        return;
    }
    timer.expires_after(options.renew_every);
    timer.async_wait([weak = self->weak_from_this()](net::error_code failed) {
        const auto hub = weak.lock();
        if (hub && !failed) {
            hub->x_impl->renew_on_strand();
        }
    });
}

void admission_hub::impl::renew_on_strand() {
    timer_set = false;
    if (closed || running == 0) {
        return;
    }
    std::vector<coord::renewal> batch;
    batch.reserve(running);
    for (const auto& [number, ticket] : open) {
        if (ticket->now == phase::running) {
            batch.push_back({ticket->id, ticket->token, options.permit_ttl});
        }
    }
    arm_renewal();
    call([&](coord::admission_port& to) { to.renew(batch); });
    flush_late();
}

void admission_hub::impl::drain_on_strand() {
    draining = true;
    std::vector<ticket_id> gone;
    for (const auto& [number, ticket] : open) {
        if (ticket->now == phase::waiting) {
            ticket->now = phase::given_up;
            gone.push_back(ticket->id);
            deliver(ticket, refusal{openai::reason::draining, draining_retry_after, 0});
        }
    }
    if (!gone.empty()) {
        call([&](coord::admission_port& to) { to.cancel(gone); });
    }
    flush_late();
}

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
    hub->x_impl->send({op_kind::release, std::move(x_ticket), outcome, {}, used}, thread);
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
    state.inbox = std::make_unique<net::mailbox<operation>>(
        pool.executor_of(0),
        [weak = hub->weak_from_this()](std::vector<operation>&& batch) {
            const auto alive = weak.lock();
            if (alive && !alive->x_impl->closed) {
                alive->x_impl->apply_on_strand(batch);
            }
        }
    );
    state.outboxes.resize(pool.size());
    for (std::size_t i = 1; i < pool.size(); ++i) {
        state.outboxes[i] = std::make_unique<net::mailbox<delivery>>(
            pool.executor_of(i),
            [](std::vector<delivery>&& batch) {
                for (delivery& one : batch) {
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
    x_impl->send({op_kind::submit, ticket, {}, {}, {}}, thread);
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
    x_impl->send({op_kind::requeue, ticket, {}, why, {}}, ticket->thread);
    return wait_for(ticket, signal);
}

net::task<admission_hub::answer> admission_hub::wait_for(
    std::shared_ptr<hub_ticket> ticket, net::abort_signal& signal
) {
    while (std::holds_alternative<std::monostate>(ticket->answer)) {
        if (signal.aborted()) {
            ticket->abandoned = true;
            x_impl->send({op_kind::cancel, ticket, {}, {}, {}}, ticket->thread);
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
    x_impl->port.reset();
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
