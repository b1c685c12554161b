#include "load/load_run.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <unordered_set>
#include <utility>
#include <vector>

#include "load/one_request.hpp"
#include "load/request_body.hpp"
#include "net/event.hpp"

namespace sluice::load {

namespace {

constexpr auto progress_interval = std::chrono::milliseconds(500);

double seconds(load_clock::duration span) {
    return std::chrono::duration<double>(span).count();
}

std::string_view name_of(core::priority cls) {
    switch (cls) {
        case core::priority::high:
            return "high";
        case core::priority::normal:
            return "normal";
        case core::priority::low:
            return "low";
    }
    return "normal";
}

}  // namespace

struct load_run::impl : std::enable_shared_from_this<impl> {
    impl(net::executor where, const sim::trace& what, load_options wanted)
        : executor(where),
          trace(what),
          options(std::move(wanted)),
          pool(where, {.idle_per_endpoint = options.connections}),
          pace(where),
          limit(where),
          ticker(where),
          wake(where) {
        report.tenant_tokens.resize(trace.tenants.size());
        target = options.prefix + "/v1/chat/completions";
    }

    net::task<result<load_report>> run();
    net::task<> send_all();
    net::task<> wait_until(load_clock::time_point when);
    net::task<> one(std::size_t index, std::uint64_t number);
    net::task<> tick();
    void launch(std::size_t index, std::uint64_t number);
    void count(const sim::trace_request& request, const answer& got);
    void count_ok(const sim::trace_request& request, const answer& got);
    std::vector<net::header_field> fields_of(const sim::trace_request& request) const;
    void abort_open();
    load_progress snapshot() const;

    net::executor executor;
    const sim::trace& trace;
    load_options options;
    net::client_pool pool;
    net::steady_timer pace;
    net::steady_timer limit;
    net::steady_timer ticker;
    /// Set when a request ended or the run is to stop; run() is its only waiter.
    net::event wake;
    std::string target;
    load_report report;
    std::unordered_set<net::abort_signal*> open;
    std::size_t running = 0;  ///< Launched and not ended; `open` holds those that have begun.
    bool stopping = false;
    bool aborting = false;
    bool finished = false;
    load_clock::time_point started;
    load_clock::time_point last_end;
};

std::vector<net::header_field> load_run::impl::fields_of(const sim::trace_request& request) const {
    std::vector<net::header_field> fields{{"content-type", "application/json"}};
    if (!options.authorization.empty()) {
        fields.push_back({"authorization", options.authorization});
    }
    const std::string& tenant = trace.tenants[request.tenant];
    if (!tenant.empty()) {
        fields.push_back({"x-sluice-tenant", tenant});
    }
    if (request.cls != core::priority::normal) {
        fields.push_back({"x-sluice-priority", name_of(request.cls)});
    }
    return fields;
}

load_progress load_run::impl::snapshot() const {
    return {
        report.sent,
        open.size(),
        report.ok,
        report.answered() - report.ok,
        report.broken_count() + report.unanswered_count(),
    };
}

void load_run::impl::count_ok(const sim::trace_request& request, const answer& got) {
    ++report.ok;
    report.tokens_out += got.output_tokens;
    report.latency.add(seconds(got.ended - got.sent));
    report.tenant_tokens[request.tenant] +=
        static_cast<double>(request.input.count() + got.output_tokens);
    std::optional<double> ttft;
    std::optional<double> tpot;
    if (got.content_events > 0) {
        ttft = seconds(got.first - got.sent);
        report.ttft.add(*ttft);
    }
    if (got.content_events > 1 && got.output_tokens > 1) {
        tpot = seconds(got.last - got.first) / static_cast<double>(got.output_tokens - 1);
        report.tpot.add(*tpot);
    }
    const auto meets = [](const std::optional<duration>& goal, const std::optional<double>& is) {
        return !goal || !is || *is <= seconds(*goal);
    };
    report.good += meets(options.slo_ttft, ttft) && meets(options.slo_tpot, tpot) ? 1 : 0;
}

void load_run::impl::count(const sim::trace_request& request, const answer& got) {
    last_end = got.ended;
    if (got.queue_s) {
        report.queue.add(*got.queue_s);
    }
    switch (got.how) {
        case verdict::ok:
            count_ok(request, got);
            break;
        case verdict::refused:
            ++report.refused[got.reason];
            report.refusal.add(seconds(got.ended - got.sent));
            break;
        case verdict::broken:
            ++report.broken[got.reason];
            break;
        case verdict::unanswered:
            ++report.unanswered[got.reason];
            break;
    }
}

net::task<> load_run::impl::one(std::size_t index, std::uint64_t number) {
    const sim::trace_request& request = trace.requests[index];
    const tokens wanted(std::max<std::int64_t>(request.output.count(), 1));
    body_shape shape;
    shape.model = options.model;
    shape.input = request.input;
    shape.max_tokens = options.max_tokens.value_or(wanted);
    shape.output = std::min(wanted, shape.max_tokens);
    shape.stream = options.stream;
    shape.number = number;
    const std::string body = chat_body(shape);
    const std::vector<net::header_field> fields = fields_of(request);
    question what;
    what.target = target;
    what.fields = fields;
    what.body = body;
    what.exact_usage = options.exact_usage;
    net::abort_signal signal;
    open.insert(&signal);
    if (aborting) {
        signal.fire({net::abort_kind::shutdown, 0});
    }
    const answer got = co_await ask(pool, options.target, what, options.connect_timeout, signal);
    open.erase(&signal);
    count(request, got);
}

void load_run::impl::launch(std::size_t index, std::uint64_t number) {
    ++report.sent;
    auto self = shared_from_this();
    net::asio::co_spawn(executor, one(index, number), [self](std::exception_ptr problem) {
        --self->running;
        self->wake.set();
        if (problem) {
            std::rethrow_exception(problem);
        }
    });
}

net::task<> load_run::impl::wait_until(load_clock::time_point when) {
    if (when <= load_clock::now()) {
        // Behind the trace: answers must be read all the same.
        co_await net::asio::post(executor, net::as_result);
        co_return;
    }
    pace.expires_at(when);
    if (!stopping) {
        co_await pace.async_wait(net::as_result);
    }
}

net::task<> load_run::impl::send_all() {
    started = load_clock::now();
    last_end = started;
    load_clock::time_point base = started;
    const auto end = options.send_for ? started + *options.send_for : load_clock::time_point::max();
    const auto scaled = [this](duration span) {
        return std::chrono::duration_cast<load_clock::duration>(
            std::chrono::duration<double, duration::period>(
                static_cast<double>(span.count()) / options.speed
            )
        );
    };
    std::uint64_t number = 0;
    do {
        for (std::size_t i = 0; i < trace.requests.size(); ++i) {
            const load_clock::time_point due = base + scaled(trace.requests[i].arrival);
            co_await wait_until(std::min(due, end));
            while (running >= options.connections && !stopping) {
                co_await wake.wait();
            }
            const load_clock::time_point now = load_clock::now();
            if (stopping || now >= end) {
                co_return;
            }
            report.lateness.add(seconds(now - due));
            ++running;
            launch(i, number++);
        }
        // The trace again, its first request one ordinary gap after its last.
        const auto count = static_cast<std::int64_t>(trace.requests.size());
        const duration last = trace.requests.back().arrival;
        base += scaled(last + std::max<duration>(last / count, std::chrono::milliseconds(1)));
    } while (options.repeat);
}

net::task<> load_run::impl::tick() {
    while (!finished) {
        ticker.expires_after(progress_interval);
        co_await ticker.async_wait(net::as_result);
        if (!finished && options.progress) {
            options.progress(snapshot());
        }
    }
}

net::task<result<load_report>> load_run::impl::run() {
    auto self = shared_from_this();
    if (options.model.empty()) {
        std::vector<net::header_field> fields;
        if (!options.authorization.empty()) {
            fields.push_back({"authorization", options.authorization});
        }
        auto model = co_await first_model(
            pool, options.target, options.prefix, fields, options.connect_timeout
        );
        if (!model) {
            co_return std::unexpected(model.error());
        }
        options.model = std::move(*model);
    }
    net::asio::co_spawn(executor, tick(), [self](std::exception_ptr problem) {
        if (problem) {
            std::rethrow_exception(problem);
        }
    });
    co_await send_all();
    stopping = true;
    limit.expires_after(options.wait_limit);
    limit.async_wait([self](net::error_code problem) {
        if (!problem) {
            self->aborting = true;
            self->abort_open();
        }
    });
    while (running > 0) {
        co_await wake.wait();
    }
    finished = true;
    limit.cancel();
    ticker.cancel();
    report.elapsed_s = seconds(last_end - started);
    co_return std::move(report);
}

void load_run::impl::abort_open() {
    // Firing may end a request, which takes itself out of the set.
    const std::vector<net::abort_signal*> all(open.begin(), open.end());
    for (net::abort_signal* one_open : all) {
        if (open.contains(one_open)) {
            one_open->fire({net::abort_kind::shutdown, 0});
        }
    }
}

load_run::load_run(net::executor where, const sim::trace& what, load_options options)
    : x_impl(std::make_shared<impl>(where, what, std::move(options))) {}

load_run::~load_run() = default;

net::task<result<load_report>> load_run::run() {
    return x_impl->run();
}

void load_run::stop_sending() {
    x_impl->stopping = true;
    x_impl->pace.cancel();
    x_impl->wake.set();
}

void load_run::abort() {
    stop_sending();
    x_impl->aborting = true;
    x_impl->abort_open();
}

}  // namespace sluice::load
