#include "admin/console.hpp"

#include <fmt/format.h>

#include <atomic>
#include <random>
#include <utility>
#include <vector>

#include "admin/live_page.hpp"
#include "admin/state_json.hpp"
#include "net/await_elsewhere.hpp"
#include "net/server.hpp"

namespace sluice::admin {

namespace {

constexpr duration push_every = std::chrono::milliseconds(250);
/// Tickets listed in a push of the live page.
constexpr std::size_t pushed_tickets = 20;
/// An unchanged state is told as a comment after so many pushes left out: who left is noticed.
constexpr int silent_at_most = 20;
constexpr std::string_view json_type = "application/json";

std::string make_nonce() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

net::task<void> answer(
    net::exchange& with, int status, std::string_view type, std::string_view body
) {
    const net::header_field fields[] = {
        {"content-type", type}, {"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}
    };
    co_await with.respond(status, fields, body);
}

net::task<void> answer_error(net::exchange& with, int status, std::string_view message) {
    const net::header_field fields[] = {{"content-type", json_type}, {"allow", "GET, HEAD"}};
    const std::string body = fmt::format(
        R"({{"error":{{"message":"{}","type":"invalid_request_error","param":null,"code":"{}"}}}})",
        message,
        status == 503 ? "shed" : "bad_request"
    );
    // Allow belongs to 405 alone.
    co_await with.respond(status, std::span(fields).first(status == 405 ? 2 : 1), body);
}

/// What the handlers share; outlives them in the server's handler.
struct office {
    explicit office(coord::live_view from) : view(std::move(from)) {}
    const coord::live_view view;
    std::atomic<std::size_t> events_open{0};
};

pool_look look_of(const coord::live_pool& pool, const std::string& holder) {
    pool_look look;
    look.name = pool.name;
    look.models = pool.models;
    look.backend = pool.backend;
    look.holder = holder;
    return look;
}

net::task<std::vector<pool_look>> look_at(
    office& in, net::executor where, std::size_t tickets_at_most
) {
    std::vector<pool_look> looks;
    for (const coord::live_pool& pool : in.view.pools) {
        looks.push_back(co_await net::await_elsewhere<pool_look>(
            where,
            [&](std::function<void(pool_look)> done) {
                pool.look(
                    tickets_at_most,
                    [&pool, holder = in.view.holder, done](const core::pool_snapshot& now) {
                        pool_look look = look_of(pool, holder);
                        look.now = now;
                        for (const core::worker_snapshot& one : now.workers) {
                            look.notes.emplace(one.id, pool.worker(one.id));
                        }
                        done(std::move(look));
                    }
                );
            }
        ));
    }
    co_return looks;
}

using printer = std::string (*)(std::span<const pool_look>);

net::task<void> answer_state(office& in, net::exchange& with, printer print) {
    const auto looks = co_await look_at(in, with.get_executor(), listed_at_most);
    const std::string body = print(looks);
    co_await answer(with, 200, json_type, body);
}

net::task<void> answer_metrics(office& in, net::exchange& with) {
    const std::string text = co_await net::await_elsewhere<std::string>(
        with.get_executor(),
        [&in](std::function<void(std::string)> done) { in.view.metrics(std::move(done)); }
    );
    co_await answer(with, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

net::task<void> answer_page(net::exchange& with) {
    const std::string nonce = make_nonce();
    const std::string policy = live_page_policy(nonce);
    const net::header_field fields[] = {
        {"content-type", "text/html; charset=utf-8"},
        {"content-security-policy", policy},
        {"cache-control", "no-store"},
        {"x-content-type-options", "nosniff"},
        {"referrer-policy", "no-referrer"},
    };
    co_await with.respond(200, fields, live_page(nonce));
}

/// Pushes the state until the reader leaves.
net::task<void> push_state(office& in, net::exchange& with) {
    const net::header_field fields[] = {
        {"content-type", "text/event-stream"}, {"cache-control", "no-store"}
    };
    with.begin(200, fields, std::nullopt);
    net::steady_timer pause(with.get_executor());
    std::string last;
    int silent = 0;
    while (!with.signal().aborted()) {
        std::string now = push_json(co_await look_at(in, with.get_executor(), pushed_tickets));
        if (now != last) {
            last = std::move(now);
            silent = 0;
            if (!co_await with.write("data: " + last + "\n\n")) {
                co_return;
            }
        } else if (++silent >= silent_at_most) {
            silent = 0;
            if (!co_await with.write(": same\n\n")) {
                co_return;
            }
        }
        const net::abort_action wake(with.signal(), [&pause] { pause.cancel(); });
        pause.expires_after(push_every);
        if (!with.signal().aborted()) {
            co_await pause.async_wait(net::as_result);
        }
    }
    co_await with.finish();
}

net::task<void> answer_events(office& in, net::exchange& with) {
    if (in.events_open.fetch_add(1) >= events_at_most) {
        in.events_open.fetch_sub(1);
        co_await answer_error(with, 503, "too many open event streams; close one and retry");
        co_return;
    }
    struct leaving {
        std::atomic<std::size_t>& count;
        ~leaving() { count.fetch_sub(1); }
    };
    const leaving one{in.events_open};
    co_await push_state(in, with);
}

net::task<void> answer_ready(office& in, net::exchange& with) {
    const bool ready = in.view.ready();
    co_await answer(
        with,
        ready ? 200 : 503,
        json_type,
        ready ? R"({"status":"ready"})" : R"({"status":"draining"})"
    );
}

net::task<void> answer_alive(office&, net::exchange& with) {
    co_await answer(with, 200, json_type, R"({"status":"ok"})");
}

net::task<void> handle(office& in, net::exchange& with) {
    const net::request_head& head = with.request();
    const std::string_view path = head.target.substr(0, head.target.find('?'));
    struct page {
        std::string_view path;
        net::task<void> (*answer)(office&, net::exchange&);
    };
    static constexpr page pages[] = {
        {"/", [](office&, net::exchange& to) { return answer_page(to); }},
        {"/api/v1/pools",
         [](office& of, net::exchange& to) { return answer_state(of, to, pools_json); }},
        {"/api/v1/workers",
         [](office& of, net::exchange& to) { return answer_state(of, to, workers_json); }},
        {"/api/v1/permits",
         [](office& of, net::exchange& to) { return answer_state(of, to, permits_json); }},
        {"/api/v1/queue",
         [](office& of, net::exchange& to) { return answer_state(of, to, queue_json); }},
        {"/api/v1/events", answer_events},
        {"/metrics", answer_metrics},
        {"/health", answer_alive},
        {"/health/live", answer_alive},
        {"/live", answer_alive},
        {"/livez", answer_alive},
        {"/ready", answer_ready},
        {"/readyz", answer_ready},
        {"/health/ready", answer_ready},
    };
    for (const page& one : pages) {
        if (path != one.path) {
            continue;
        }
        if (head.method != "GET" && head.method != "HEAD") {
            co_await answer_error(with, 405, "this path takes GET");
            co_return;
        }
        co_await one.answer(in, with);
        co_return;
    }
    co_await answer_error(with, 404, "unknown path; the page is at /, the API below /api/v1/");
}

}  // namespace

struct console::impl {
    impl(net::io_pool& pool, std::string listen, coord::live_view view)
        : shared(std::make_shared<office>(std::move(view))),
          server(pool, options(std::move(listen)), [in = shared](net::exchange& with) {
              return handle(*in, with);
          }) {}

    static net::server_options options(std::string listen) {
        net::server_options made;
        made.listen = std::move(listen);
        made.connections = 1000;
        return made;
    }

    std::shared_ptr<office> shared;
    net::server server;
};

console::console(net::io_pool& pool, std::string listen, coord::live_view view)
    : x_impl(std::make_unique<impl>(pool, std::move(listen), std::move(view))) {}
console::~console() = default;

result<void> console::start() {
    return x_impl->server.start();
}

std::string console::address() const {
    return x_impl->server.address();
}

}  // namespace sluice::admin
