#include "gateway/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/body_share.hpp"
#include "gateway/door.hpp"
#include "gateway/forward_fields.hpp"
#include "gateway/pages.hpp"
#include "gateway/relay.hpp"
#include "gateway/reply.hpp"
#include "gateway/request_labels.hpp"
#include "gateway/routes.hpp"
#include "gateway/worker_watch.hpp"
#include "net/alarm.hpp"
#include "openai/rewrite.hpp"

namespace sluice::gateway {

namespace {

/// Adds `amount` to a shared sum while it lives.
template <class Number>
class counted {
public:
    counted(std::atomic<Number>& in, Number amount) : x_in(in), x_amount(amount) {
        x_in.fetch_add(amount, std::memory_order_relaxed);
    }
    ~counted() { x_in.fetch_sub(x_amount, std::memory_order_relaxed); }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

private:
    std::atomic<Number>& x_in;
    Number x_amount;
};

class in_flight {
public:
    explicit in_flight(obs::gauge& in) : x_in(in) { x_in.add(1); }
    ~in_flight() { x_in.add(-1); }
    in_flight(const in_flight&) = delete;
    in_flight& operator=(const in_flight&) = delete;

private:
    obs::gauge& x_in;
};

/// What a step found: go on; or end, with a refusal to tell or, the client being gone, without.
struct finding {
    bool go_on = true;
    std::optional<failure> told{};
};

finding refused(failure what) {
    return {.go_on = false, .told = std::move(what)};
}

/// A request for a model, from its head to its log line. What needs no waiting is no coroutine: a
/// dozen frames a request are dear enough.
class model_call {
public:
    model_call(hall& in, net::exchange& with, openai::endpoint_kind endpoint, const entrance& by)
        : x_in(in),
          x_with(with),
          x_endpoint(endpoint),
          x_by(by),
          x_share(in.body_bytes, in.config.limits.queued_body_bytes) {}

    net::task<void> run();

private:
    finding look_at_head();
    finding ask_for_body() const;
    finding take_body(const result<std::string_view>& body);
    finding find_pool();
    net::task<finding> admit();
    finding take_answer(admission_hub::answer answer);
    finding client_left();
    void watch_slowness();
    void let_body_go();
    net::task<void> forward();
    net::task<bool> attempt(const net::request_out& request, request_clock& clock, bool last);
    coord::submission ticket() const;
    net::task<void> refuse(failure what) {
        return answer_failure(x_with, x_in, x_record, std::move(what));
    }

    hall& x_in;
    net::exchange& x_with;
    openai::endpoint_kind x_endpoint;
    entrance x_by;  // of use until the first wait
    request_record x_record;
    body_share x_share;
    std::string_view x_body;
    std::string x_rewritten;  // the body with another model's name
    openai::request_facts x_facts;
    request_labels x_labels;
    const model_target* x_target = nullptr;
    admission_cost x_cost;
    permit_lease x_lease;
    std::optional<net::alarm> x_slow;
};

net::task<void> model_call::run() {
    const counted<std::int64_t> here(x_in.running, 1);
    x_record.id = request_id_for(x_in, x_with);
    finding now = look_at_head();
    if (now.go_on && x_with.request().expect_continue) {
        now = ask_for_body();
    }
    if (now.go_on) {
        now = take_body(co_await x_with.read_body(x_in.config.limits.body_bytes, &x_share));
    }
    if (now.go_on) {
        now = find_pool();
    }
    if (now.go_on) {
        const in_flight shown(x_target->to->meters.inflight);
        now = co_await admit();
        if (now.go_on) {
            co_await forward();
        }
    }
    if (now.told) {
        co_await refuse(*std::move(now.told));
    }
    // A client that left while we spoke, or a handler's early end, still has its line.
    conclude(x_record, x_in);
}

finding model_call::look_at_head() {
    if (x_in.draining.load(std::memory_order_relaxed)) {
        return refused(
            {.why = openai::reason::draining,
             .message = "this gateway is shutting down; retry, another one will answer"}
        );
    }
    const bool names_tenants =
        x_by.who != nullptr ? x_by.who->names_tenants : x_by.how == entry::open;
    auto labels = read_labels(x_with.request(), names_tenants);
    if (!labels) {
        return refused(
            {.why = openai::reason::bad_request,
             .message = std::move(labels.error().message),
             .param = std::move(labels.error().param)}
        );
    }
    x_labels = *std::move(labels);
    apply(x_by, x_labels);
    x_record.tenant = x_labels.tenant;
    return {};
}

/// A client that waits for 100 Continue need not send a body that has no place in any queue (B28).
finding model_call::ask_for_body() const {
    const bool full = std::ranges::all_of(x_in.pools, [](const auto& one) {
        const auto most = static_cast<std::size_t>(one->options.queue.max_length);
        return one->hub->waiting() >= most;
    });
    if (!full) {
        return {};
    }
    return refused(
        {.why = openai::reason::queue_full,
         .message = "the queue of every pool is full; retry after the time in Retry-After"}
    );
}

finding model_call::client_left() {
    x_record.outcome = openai::reason::client_gone;
    x_record.status = 499;
    return {.go_on = false};
}

finding model_call::take_body(const result<std::string_view>& body) {
    if (!body) {
        if (body.error().code == errc::limit_exceeded) {
            return refused(
                {.why = openai::reason::body_too_large,
                 .message = fmt::format(
                     "the body is larger than {} bytes (limits.body_bytes); send less",
                     x_in.config.limits.body_bytes.count()
                 )}
            );
        }
        if (body.error().code == errc::unavailable) {
            return refused(
                {.why = openai::reason::queue_full,
                 .message = "the bodies of requests that wait fill limits.queued_body_bytes; retry "
                            "after the time in Retry-After"}
            );
        }
        if (x_with.signal().aborted()) {
            return client_left();
        }
        if (body.error().code == errc::timed_out) {
            return refused(
                {.why = openai::reason::bad_request,
                 .message = "the body did not arrive in time (limits.body_timeout); send it faster",
                 .status = 408}
            );
        }
        return refused({.why = openai::reason::bad_request, .message = body.error().message});
    }
    x_body = *body;
    auto facts = openai::inspect(x_endpoint, x_body);
    if (!facts) {
        return refused(
            {.why = openai::reason::bad_request,
             .message = std::move(facts.error().message),
             .param = std::move(facts.error().param)}
        );
    }
    x_facts = *std::move(facts);
    x_record.model = x_facts.model;
    x_record.stream = x_facts.stream;
    x_record.prompt_estimate = x_facts.prompt;
    return {};
}

/// From the model's name to the pool, and what the request costs there.
finding model_call::find_pool() {
    const auto found = x_in.models.find(std::string_view(x_facts.model));
    if (found == x_in.models.end()) {
        return refused(
            {.why = openai::reason::model_not_found,
             .message = fmt::format(
                 "no pool serves the model '{}'; GET /v1/models lists those that are served",
                 x_facts.model
             ),
             .param = "model"}
        );
    }
    x_target = &found->second;
    x_record.in = x_target->to;
    if (x_facts.priority) {
        take_body_priority(x_labels, *x_facts.priority, x_in.config.body_priority);
    }
    x_record.cls = x_labels.cls;
    x_record.lowered = x_labels.lowered;
    const cost_rules rules = x_target->to->rules();
    if (rules.context && x_facts.longest_prompt > *rules.context) {
        return refused(
            {.why = openai::reason::too_large,
             .message = fmt::format(
                 "the prompt has about {} tokens, the context of pool '{}' is {}; shorten it",
                 x_facts.longest_prompt.count(),
                 x_target->to->options.name,
                 rules.context->count()
             )}
        );
    }
    x_cost = cost_of(x_facts, rules);
    return {};
}

coord::submission model_call::ticket() const {
    coord::submission what;
    what.cls = x_labels.cls;
    what.tenant = x_labels.tenant;
    what.prompt_kv = x_cost.prompt_kv;
    what.peak_kv = x_cost.peak_kv;
    what.predicted = x_cost.predicted;
    what.wait = x_labels.patience.value_or(x_target->to->options.queue.timeout);
    what.queued_bytes = bytes(static_cast<std::int64_t>(x_body.size()));
    return what;
}

/// Waits for the permit.
net::task<finding> model_call::admit() {
    admission_hub& hub = *x_target->to->hub;
    co_return take_answer(co_await hub.acquire(ticket(), x_with.signal(), x_with.thread_index()));
}

finding model_call::take_answer(admission_hub::answer answer) {
    const net::abort_cause cause = x_with.signal().cause();
    if (cause.kind == net::abort_kind::peer_gone) {
        return client_left();  // a permit that came all the same goes back with `answer`
    }
    if (cause.kind != net::abort_kind::none) {
        return refused(
            {.why = openai::reason::draining,
             .message = "this gateway is shutting down; retry, another one will answer"}
        );
    }
    if (!answer) {
        return refused(
            {.why = answer.error().why,
             .message = refusal_message(answer.error(), *x_target->to),
             .from_queue = answer.error()}
        );
    }
    x_lease = *std::move(answer);
    x_record.granted = request_record::clock::now();
    x_record.worker = x_lease.permit().worker->id;
    watch_slowness();
    return {};
}

/// A request that holds its worker for longer than `slow` is told of while it still does.
void model_call::watch_slowness() {
    const auto& slow = x_target->to->options.timeouts.slow;
    if (!slow) {
        return;
    }
    if (!x_slow) {
        x_slow.emplace(x_with.get_executor(), [this] { warn_slow(x_record, x_in); });
    }
    x_slow->arm(*slow);
}

/// A stream may last for hours after its request was of use.
void model_call::let_body_go() {
    x_with.release_body();
    x_rewritten = std::string();
    x_share.give_back();
}

net::task<void> model_call::forward() {
    net::request_out request;
    request.target = x_with.request().target;
    request.body = x_body;
    if (!x_target->alias_of.empty()) {
        openai::body_rewrite rewrite(x_body, x_facts);
        rewrite.set_model(x_target->alias_of);
        x_rewritten = rewrite.joined();
        request.body = x_rewritten;
    }
    const pool& in = *x_target->to;
    const auto& limits = in.options.timeouts;
    const auto first = first_answer_limit(limits, x_facts, in.rules());
    request_clock clock(x_with.get_executor(), x_with.signal(), limits, first);
    const auto attempts = static_cast<std::uint32_t>(in.options.retries) + 1;
    for (x_record.attempts = 1;; ++x_record.attempts) {
        // Elsewhere is only where there is another worker: the same one is not asked twice.
        const bool last = x_record.attempts >= attempts || x_record.attempts >= in.watch->size();
        if (co_await attempt(request, clock, last)) {
            co_return;
        }
    }
}

/// True: the request has ended. False: it waits for its next attempt's permit, which has come.
net::task<bool> model_call::attempt(
    const net::request_out& request, request_clock& clock, bool last
) {
    const coord::permit& permit = x_lease.permit();
    thread_state& thread = x_in.thread(x_with.thread_index());
    const net::endpoint* const remembered = thread.endpoint_of(permit.worker->address);
    if (remembered == nullptr) {
        co_await refuse(
            {.why = openai::reason::worker_failed,
             .message = fmt::format("worker {} has no usable address", permit.worker->id)}
        );
        co_return true;
    }
    const net::endpoint worker = *remembered;
    field_list_pool::lease fields = thread.lists.take();
    const forwarded_key key{
        .drop = !thread.known->keys.is_open(), .own = thread.known->of_worker(permit.worker->id)
    };
    forward_fields(x_with.request(), x_record.id, permit, x_cost.predicted, key, *fields);
    net::request_out out = request;
    out.fields = fields->fields();
    relay one(
        {x_with,
         x_in,
         x_record,
         clock,
         x_lease,
         worker,
         out,
         fields,
         [this] { let_body_go(); },
         x_facts.sequences}
    );
    if (co_await one.run()) {
        co_return true;
    }
    clock.stop();
    if (last) {
        x_lease.finish(core::release_outcome::failed);
        x_record.error = one.trouble();
        co_await refuse(
            {.why = openai::reason::worker_failed,
             .message = fmt::format(
                 "worker {} cannot be reached: {}; start it, or take it out of pool '{}'",
                 x_record.worker,
                 one.trouble(),
                 x_target->to->options.name
             )}
        );
        co_return true;
    }
    auto answer = co_await x_target->to->hub->acquire_again(
        std::move(x_lease), core::requeue_why::failed, x_with.signal()
    );
    finding now = take_answer(std::move(answer));
    if (now.told) {
        co_await refuse(*std::move(now.told));
    }
    co_return !now.go_on;
}

}  // namespace

net::task<void> handle(hall& in, net::exchange& with) {
    const route where = route_of(with.request().method, with.request().target);
    const entrance by = ask_at_door(in, with, where);
    if (by.refused()) {
        co_await turn_away(in, with, by);
        co_return;
    }
    if (where.kind != route_kind::call) {
        co_await answer_page(in, with, where);
        co_return;
    }
    model_call call(in, with, where.endpoint, by);
    co_await call.run();
}

}  // namespace sluice::gateway
