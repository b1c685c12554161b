// The inside of admission_hub, for its two sources alone: admission_hub.cpp (the threads of the
// requests) and admission_hub_strand.cpp (context 0, where the port lives).
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "gateway/admission_hub.hpp"
#include "net/event.hpp"
#include "net/mailbox.hpp"

namespace sluice::gateway {

enum class hub_call { submit, cancel, release, requeue };

struct hub_operation {
    hub_call kind = hub_call::submit;
    std::shared_ptr<hub_ticket> who;
    core::release_outcome outcome = core::release_outcome::ok;
    core::requeue_why why = core::requeue_why::refused;
    token_use used;
};

struct hub_permit_lost {};
using hub_verdict = std::variant<std::monostate, coord::permit, refusal, hub_permit_lost>;

struct hub_delivery {
    std::shared_ptr<hub_ticket> to;
    hub_verdict what;
};

/// One request's ticket. The first part belongs to the request's thread, the second to the strand.
struct hub_ticket {
    hub_ticket(std::size_t on, net::executor where) : thread(on), wake(where) {}

    const std::size_t thread;
    net::event wake;
    hub_verdict answer;
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
        : options(std::move(wanted)),
          pool(threads),
          timer(std::make_unique<net::steady_timer>(threads.executor_of(0))) {}

    hub_options options;
    net::io_pool& pool;
    admission_hub* self = nullptr;
    std::shared_ptr<coord::admission_port> port;
    std::atomic<std::uint64_t> next_number{1};
    std::atomic<bool> closed{false};

    /// Towards the strand, and from it to the thread of each index but 0.
    std::unique_ptr<net::mailbox<hub_operation>> inbox;
    std::vector<std::unique_ptr<net::mailbox<hub_delivery>>> outboxes;

    /// Tickets that wait, as the strand last saw it.
    std::atomic<std::size_t> waiting{0};

    // On the strand:
    boost::unordered_flat_map<std::uint64_t, std::shared_ptr<hub_ticket>> open;
    std::size_t running = 0;
    bool draining = false;
    bool inside_call = false;  // a call of the port is on the stack
    bool late_posted = false;
    std::vector<coord::release> late;  // grants that nobody waits for any more
    std::unique_ptr<net::steady_timer> timer;
    bool timer_set = false;
    std::vector<coord::submission> submissions;
    std::vector<ticket_id> ids;
    std::vector<coord::release> releases;
    std::vector<coord::requeue> requeues;

    void send(hub_operation op, std::size_t from_thread);
    void apply_on_strand(std::span<hub_operation> batch);
    std::size_t apply_run(std::span<hub_operation> run);
    void submit_run(std::span<hub_operation> run);
    void cancel_run(std::span<hub_operation> run);
    void release_run(std::span<hub_operation> run);
    void requeue_run(std::span<hub_operation> run);
    void flush_late();
    void count_waiting() { waiting.store(open.size() - running, std::memory_order_relaxed); }
    void take(const coord::outcome& one);
    void take_grant(hub_ticket& ticket, const coord::outcome& one);
    void end(std::uint64_t number);
    void deliver(const std::shared_ptr<hub_ticket>& to, hub_verdict what);
    static void arrive(hub_delivery& one);
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

}  // namespace sluice::gateway
