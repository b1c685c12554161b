// An admission backend for tests: slots, first come first served, and every trick a real one may
// play (late grants, lost permits) on command.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "coord/ports.hpp"

namespace sluice::gateway::testing {

class fake_pool : public coord::admission_port, public coord::registry_port {
public:
    explicit fake_pool(coord::outcome_sink& sink) : x_sink(sink) {}

    // What a test turns and reads. On the strand, or before and after it runs.
    bool held = false;  ///< Grants nothing.
    std::vector<std::string> calls;
    std::size_t granted = 0;
    std::size_t released = 0;
    std::size_t misused = 0;  ///< Releases, renewals and requeues of what is not held.
    std::size_t peak = 0;
    std::vector<coord::renewal> renewals;

    std::size_t waiting() const { return x_waiting.size(); }
    std::size_t running() const { return x_running.size(); }

    void add_worker(std::string id, std::string address, std::uint32_t slots) {
        coord::worker_info made;
        made.id = std::move(id);
        made.address = std::move(address);
        made.slots = slots;
        join(made);
    }
    void let_go() {
        held = false;
        grant();
    }
    /// Takes every permit away.
    void lose_all() {
        for (const auto& [number, one] : std::exchange(x_running, {})) {
            tell(core::decision_kind::lost, core::decision_why::permit_expired, one.ticket);
        }
        grant();
    }
    /// Tells that the first worker turned suspect.
    void suspect() {
        coord::outcome one;
        one.kind = core::decision_kind::worker_suspect;
        one.permit.worker = x_workers.front();
        x_sink.on_outcomes({&one, 1});
    }
    /// Grants a ticket whose cancel is on its way: as a store that had already decided.
    void grant_although_cancelled() { x_ignore_cancel = true; }

    void submit(std::span<const coord::submission> batch) override {
        calls.push_back("submit " + std::to_string(batch.size()));
        for (const coord::submission& one : batch) {
            if (one.peak_kv > largest) {
                tell(core::decision_kind::rejected, core::decision_why::too_large, one.id);
                continue;
            }
            x_waiting.push_back(one.id);
        }
        grant();
    }
    void cancel(std::span<const ticket_id> batch) override {
        calls.push_back("cancel " + std::to_string(batch.size()));
        for (const ticket_id& id : batch) {
            if (!x_ignore_cancel && std::erase(x_waiting, id) > 0) {
                tell(core::decision_kind::cancelled, core::decision_why::none, id);
            }
        }
    }
    void renew(std::span<const coord::renewal> batch) override {
        renewals.insert(renewals.end(), batch.begin(), batch.end());
        for (const coord::renewal& one : batch) {
            misused += holds(one.ticket, one.token) ? 0 : 1;
        }
    }
    void release(std::span<const coord::release> batch) override {
        for (const coord::release& one : batch) {
            if (!holds(one.ticket, one.token)) {
                ++misused;
                tell(core::decision_kind::call_failed, core::decision_why::none, one.ticket);
                continue;
            }
            x_running.erase(one.ticket.number);
            ++released;
            outcomes.push_back(one.outcome);
            tell(core::decision_kind::released, core::decision_why::none, one.ticket);
        }
        grant();
    }
    void requeue(std::span<const coord::requeue> batch) override {
        for (const coord::requeue& one : batch) {
            if (!holds(one.ticket, one.token)) {
                ++misused;
                continue;
            }
            avoided[one.ticket.number] = x_running.at(one.ticket.number).worker->id;
            x_running.erase(one.ticket.number);
            x_waiting.push_front(one.ticket);
            tell(core::decision_kind::requeued, core::decision_why::none, one.ticket);
        }
        grant();
    }
    void sync() override {}
    const coord::capabilities& record() const override { return x_record; }
    void inspect(std::size_t, std::function<void(const core::pool_snapshot&)> done) override {
        core::pool_snapshot now;
        now.waiting[1] = x_waiting.size();
        for (const auto& one : x_workers) {
            core::worker_snapshot to;
            to.id = one->id;
            to.slots = one->slots;
            to.in_use = static_cast<std::uint32_t>(used(one->id));
            now.workers.push_back(to);
        }
        done(now);
    }

    void join(const coord::worker_info& worker) override {
        joined.push_back(worker);
        std::erase_if(x_workers, [&](const auto& one) { return one->id == worker.id; });
        x_workers.push_back(std::make_shared<const coord::worker_info>(worker));
        grant();
    }
    void report(const core::report&) override {}
    void probed(std::string_view worker, worker_epoch) override { probes.emplace_back(worker); }
    void drain(std::string_view, worker_epoch) override {}
    void leave(std::string_view, worker_epoch) override {}
    void watch(watcher) override {}

    bytes largest = bytes::max();
    std::vector<core::release_outcome> outcomes;
    std::vector<std::string> probes;
    std::vector<coord::worker_info> joined;
    std::map<std::uint64_t, std::string> avoided;

private:
    bool holds(const ticket_id& id, fencing_token token) const {
        const auto found = x_running.find(id.number);
        return found != x_running.end() && found->second.token == token;
    }
    std::size_t used(const std::string& worker) const {
        return static_cast<std::size_t>(std::ranges::count_if(x_running, [&](const auto& one) {
            return one.second.worker->id == worker;
        }));
    }
    void grant() {
        while (!held && !x_waiting.empty()) {
            const ticket_id id = x_waiting.front();
            const auto open = std::ranges::find_if(x_workers, [&](const auto& one) {
                const auto shunned = avoided.find(id.number);
                return used(one->id) < one->slots &&
                       (shunned == avoided.end() || shunned->second != one->id);
            });
            if (open == x_workers.end()) {
                return;
            }
            x_waiting.pop_front();
            coord::outcome one;
            one.kind = core::decision_kind::granted;
            one.ticket = id;
            one.permit.ticket = id;
            one.permit.worker = *open;
            one.permit.token = fencing_token{++x_token};
            x_running[id.number] = one.permit;
            peak = std::max(peak, x_running.size());
            ++granted;
            x_sink.on_outcomes({&one, 1});
        }
    }
    void tell(core::decision_kind kind, core::decision_why why, const ticket_id& id) {
        coord::outcome one;
        one.kind = kind;
        one.why = why;
        one.ticket = id;
        x_sink.on_outcomes({&one, 1});
    }

    coord::outcome_sink& x_sink;
    coord::capabilities x_record{.name = "fake"};
    std::deque<ticket_id> x_waiting;
    std::map<std::uint64_t, coord::permit> x_running;
    std::vector<std::shared_ptr<const coord::worker_info>> x_workers;
    std::uint64_t x_token = 0;
    bool x_ignore_cancel = false;
};

}  // namespace sluice::gateway::testing
