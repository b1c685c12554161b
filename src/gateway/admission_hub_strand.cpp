// The strand side of admission_hub: everything here runs on context 0.
#include "gateway/admission_hub_impl.hpp"

namespace sluice::gateway {

namespace {

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

void admission_hub::impl::send(hub_operation op, std::size_t from_thread) {
    if (closed.load(std::memory_order_acquire)) {
        return;
    }
    if (from_thread == 0) {
        apply_on_strand({&op, 1});
    } else {
        inbox->push(std::move(op));
    }
}

void admission_hub::impl::apply_on_strand(std::span<hub_operation> batch) {
    while (!batch.empty()) {
        batch = batch.subspan(apply_run(batch));
    }
    flush_late();
    count_waiting();
}

/// Applies the operations of one kind at the front in one call; how many there were.
std::size_t admission_hub::impl::apply_run(std::span<hub_operation> run) {
    std::size_t count = 1;
    while (count < run.size() && run[count].kind == run.front().kind) {
        ++count;
    }
    run = run.first(count);
    switch (run.front().kind) {
        case hub_call::submit:
            submit_run(run);
            break;
        case hub_call::cancel:
            cancel_run(run);
            break;
        case hub_call::release:
            release_run(run);
            break;
        case hub_call::requeue:
            requeue_run(run);
            break;
    }
    return count;
}

void admission_hub::impl::submit_run(std::span<hub_operation> run) {
    submissions.clear();
    for (const hub_operation& op : run) {
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

void admission_hub::impl::cancel_run(std::span<hub_operation> run) {
    ids.clear();
    for (const hub_operation& op : run) {
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

void admission_hub::impl::release_run(std::span<hub_operation> run) {
    releases.clear();
    for (const hub_operation& op : run) {
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

void admission_hub::impl::requeue_run(std::span<hub_operation> run) {
    requeues.clear();
    // The next grant may come inside the call and replaces the ticket's worker.
    std::vector<std::shared_ptr<const coord::worker_info>> failed;
    for (const hub_operation& op : run) {
        if (op.who->now != phase::running) {
            // Its permit is gone, and with it the place that it could have gone back to.
            deliver(op.who, refusal{openai::reason::backend_lost, draining_retry_after, 0});
            continue;
        }
        --running;
        op.who->now = phase::waiting;
        requeues.push_back({op.who->id, op.who->token, op.why, {}});
        if (op.why == core::requeue_why::failed) {
            failed.push_back(op.who->worker);
        }
    }
    if (!requeues.empty()) {
        call([&](coord::admission_port& to) { to.requeue(requeues); });
    }
    for (const auto& worker : failed) {
        trouble(worker);
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
                deliver(ticket, hub_permit_lost{});
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

void admission_hub::impl::deliver(const std::shared_ptr<hub_ticket>& to, hub_verdict what) {
    hub_delivery one{to, std::move(what)};
    if (to->thread == 0) {
        arrive(one);
    } else {
        outboxes[to->thread]->push(std::move(one));
    }
}

/// On the thread of the request.
void admission_hub::impl::arrive(hub_delivery& one) {
    hub_ticket& ticket = *one.to;
    if (std::holds_alternative<hub_permit_lost>(one.what)) {
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
    timer->expires_after(options.renew_every);
    timer->async_wait([weak = self->weak_from_this()](net::error_code failed) {
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

}  // namespace sluice::gateway
