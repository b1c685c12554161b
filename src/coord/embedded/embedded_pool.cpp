#include "coord/embedded/embedded_pool.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

namespace sluice::coord {

namespace {

instant steady_now() {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return instant(std::chrono::duration_cast<duration>(since_boot));
}

std::chrono::steady_clock::time_point to_steady(instant at) {
    return std::chrono::steady_clock::time_point(at.time_since_epoch());
}

bool names_worker(core::decision_kind kind) {
    using enum core::decision_kind;
    return kind == granted || kind == adopted || kind == worker_suspect || kind == worker_ready;
}

}  // namespace

struct embedded_pool::impl : std::enable_shared_from_this<impl> {
    impl(
        net::executor where,
        const core::scheduler_config& config,
        outcome_sink& to,
        std::function<instant()> clock
    )
        : brain(config), sink(&to), now(std::move(clock)), timer(where) {
        record.name = "embedded";
        record.recovery = config.permit_ttl;
    }

    /// One step; what it decides waits in `outbox` until deliver().
    void step(const core::input& what) {
        decisions.clear();
        const instant wakeup = brain.step(now(), what, decisions);
        for (const core::decision& one : decisions) {
            outbox.push_back(translate(one));
        }
        wake_at(wakeup);
    }

    outcome translate(const core::decision& from) {
        outcome to;
        to.kind = from.kind;
        to.why = from.why;
        to.failure = from.failure;
        to.ticket = from.ticket;
        to.waited = from.waited;
        to.retry_after = from.retry_after;
        to.queue_length = from.queue_length;
        to.permit.ticket = from.ticket;
        to.permit.slot = from.slot;
        to.permit.token = from.token;
        to.permit.peak_kv = from.peak_kv;
        to.permit.order_key = from.order_key;
        to.permit.waited = from.waited;
        to.permit.passed_by = from.passed_by;
        if (names_worker(from.kind)) {
            to.permit.worker = workers[from.worker];
        }
        return to;
    }

    /// The sink may call back into the pool: what that decides is delivered by the outer loop, so
    /// that outcomes reach the sink in the order in which they were decided.
    void deliver() {
        if (delivering) {
            return;
        }
        delivering = true;
        while (!outbox.empty() && sink != nullptr) {
            told.swap(outbox);
            sink->on_outcomes(told);
            told.clear();
        }
        delivering = false;
    }

    /// The pending wait stays when it is early enough: waking once too often is cheaper than
    /// re-arming a timer with every call.
    void wake_at(instant at) {
        if (at >= armed_at) {
            return;
        }
        armed_at = at;
        timer.expires_at(to_steady(at));
        timer.async_wait([self = weak_from_this()](net::error_code failed) {
            const auto alive = self.lock();
            if (failed || alive == nullptr || alive->sink == nullptr) {
                return;
            }
            alive->armed_at = never;
            alive->step(core::tick{});
            alive->deliver();
        });
    }

    void tell_watchers() {
        std::vector<std::shared_ptr<const worker_info>> list;
        for (const auto& [number, info] : workers) {
            if (brain.find_worker(info->id) == number) {
                list.push_back(info);
            }
        }
        std::ranges::sort(list, {}, [](const auto& info) { return info->id; });
        for (const watcher& one : watchers) {
            one(list);
        }
    }

    core::scheduler brain;
    outcome_sink* sink;
    std::function<instant()> now;
    net::steady_timer timer;
    instant armed_at = never;
    std::vector<core::decision> decisions;
    std::vector<outcome> outbox;
    std::vector<outcome> told;  ///< While the sink looks at them.
    bool delivering = false;
    std::unordered_map<core::worker_number, std::shared_ptr<const worker_info>> workers;
    std::vector<watcher> watchers;
    capabilities record;
};

embedded_pool::embedded_pool(
    net::executor where,
    core::scheduler_config config,
    outcome_sink& sink,
    std::function<instant()> now
)
    : x_impl(std::make_shared<impl>(
          where, config, sink, now ? std::move(now) : std::function<instant()>(steady_now)
      )) {}

embedded_pool::~embedded_pool() {
    x_impl->sink = nullptr;
    x_impl->timer.cancel();
}

void embedded_pool::submit(std::span<const submission> batch) {
    for (const submission& one : batch) {
        core::ticket_submitted input;
        input.what.id = one.id;
        input.what.cls = one.cls;
        input.what.tenant = one.tenant;
        input.what.prompt_kv = one.prompt_kv;
        input.what.peak_kv = one.peak_kv;
        input.what.predicted = one.predicted;
        input.what.wait = one.wait;
        input.what.queued_bytes = one.queued_bytes;
        input.what.hints = one.hints;
        x_impl->step(input);
    }
    x_impl->deliver();
}

void embedded_pool::cancel(std::span<const ticket_id> batch) {
    for (const ticket_id& id : batch) {
        x_impl->step(core::ticket_cancelled{id});
    }
    x_impl->deliver();
}

void embedded_pool::renew(std::span<const renewal> batch) {
    for (const renewal& one : batch) {
        x_impl->step(core::permit_renewed{one.ticket, one.token, one.ttl});
    }
    x_impl->deliver();
}

void embedded_pool::release(std::span<const coord::release> batch) {
    for (const coord::release& one : batch) {
        x_impl->step(core::permit_released{
            one.ticket, one.token, one.outcome, one.prompt, one.output, one.carried.get()
        });
    }
    x_impl->deliver();
}

void embedded_pool::requeue(std::span<const coord::requeue> batch) {
    for (const coord::requeue& one : batch) {
        x_impl->step(core::permit_requeued{one.ticket, one.token, one.why, one.carried.get()});
    }
    x_impl->deliver();
}

void embedded_pool::sync() {
    x_impl->deliver();
}

const capabilities& embedded_pool::record() const {
    return x_impl->record;
}

void embedded_pool::inspect(
    std::size_t waiting_at_most, std::function<void(const core::pool_snapshot&)> done
) {
    done(x_impl->brain.snapshot(x_impl->now(), waiting_at_most));
}

void embedded_pool::join(const worker_info& worker) {
    const auto known = x_impl->brain.find_worker(worker.id);
    if (known && x_impl->workers[*known]->epoch > worker.epoch) {
        return;
    }
    core::worker_joined input;
    input.worker = worker.id;
    input.epoch = worker.epoch;
    input.slots = worker.slots;
    input.kv_capacity = worker.kv_capacity;
    input.reports = worker.reports;
    input.max_token = worker.max_token;
    // A grant may come out of this very step: the table must know the worker before outcomes are
    // translated, hence the number is looked up by joining without slots first when it is new.
    if (!known) {
        core::worker_joined announced = input;
        announced.slots = 0;
        x_impl->step(announced);
    }
    if (const auto number = x_impl->brain.find_worker(worker.id)) {
        x_impl->workers[*number] = std::make_shared<const worker_info>(worker);
    }
    x_impl->step(input);
    x_impl->tell_watchers();
    x_impl->deliver();
}

void embedded_pool::report(const core::report& what) {
    x_impl->step(core::worker_reported{&what});
    x_impl->deliver();
}

void embedded_pool::probed(std::string_view worker, worker_epoch epoch) {
    x_impl->step(core::worker_probed{worker, epoch});
    x_impl->deliver();
}

void embedded_pool::drain(std::string_view worker, worker_epoch epoch) {
    x_impl->step(core::worker_draining{worker, epoch});
    x_impl->deliver();
}

void embedded_pool::leave(std::string_view worker, worker_epoch epoch) {
    x_impl->step(core::worker_lost{worker, epoch});
    x_impl->tell_watchers();
    x_impl->deliver();
}

void embedded_pool::watch(watcher changed) {
    x_impl->watchers.push_back(std::move(changed));
    x_impl->tell_watchers();
}

void embedded_pool::end_session(session_id session) {
    x_impl->step(core::session_lost{session});
    x_impl->deliver();
}

void embedded_pool::reconfigure(const core::scheduler_config& config) {
    x_impl->brain.reconfigure(config);
    x_impl->step(core::tick{});
    x_impl->deliver();
}

}  // namespace sluice::coord
