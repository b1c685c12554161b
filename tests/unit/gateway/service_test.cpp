// The whole gateway in one process: real sockets, a scripted worker, a fake backend.
#include "gateway/service.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>
#include <boost/asio/post.hpp>
#include <future>
#include <mutex>
#include <thread>

#include "fake_pool.hpp"
#include "net/event.hpp"
#include "net/server.hpp"

namespace sluice::gateway {
namespace {

using namespace std::chrono_literals;
using testing::fake_pool;

/// A blocking client: one request a connection.
class browser {
public:
    explicit browser(const std::string& address) {
        x_fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        timeval patience{10, 0};
        ::setsockopt(x_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port =
            htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(x_fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    }
    ~browser() { close(); }
    browser(const browser&) = delete;
    browser& operator=(const browser&) = delete;

    browser& send(const std::string& bytes) {
        EXPECT_EQ(
            ::send(x_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size())
        );
        return *this;
    }
    browser& chat(const std::string& body, const std::string& fields = {}) {
        return send(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nConnection: close\r\n" + fields +
            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body
        );
    }
    browser& get(const std::string& path) {
        return send("GET " + path + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    }
    /// Everything to the end of the connection.
    std::string read() {
        std::string all;
        char piece[4096];
        for (;;) {
            const ssize_t got = ::recv(x_fd, piece, sizeof piece, 0);
            EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << all;
            if (got <= 0) {
                return all;
            }
            all.append(piece, static_cast<std::size_t>(got));
        }
    }
    void reset() {
        const linger hard{1, 0};
        ::setsockopt(x_fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }
    void close() {
        if (x_fd >= 0) {
            ::close(std::exchange(x_fd, -1));
        }
    }

private:
    int x_fd = -1;
};

constexpr std::string_view event_type = "text/event-stream";
const std::string plain =
    R"({"model":"m","max_tokens":4,"messages":[{"role":"user","content":"hi"}]})";
const std::string streamed =
    R"({"model":"m","stream":true,"max_tokens":4,"messages":[{"role":"user","content":"hi"}]})";
const std::string token_event =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const std::string last_events =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: "
    "[DONE]\n\n";

/// The gateway, its worker and its backend on one io_pool of two threads.
class service_test : public ::testing::Test {
protected:
    using script = std::function<net::task<>(net::exchange&)>;

    service_test() : threads(std::make_unique<net::io_pool>(2)), io(*threads) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        log_out = ends[0];
        log_in = ends[1];
    }
    ~service_test() override {
        if (runner.joinable()) {
            io.stop();
            runner.join();
        }
        gateway.reset();
        worker.reset();
        log.reset();
        threads.reset();  // and with it whoever still holds the logger
        ::close(log_in);
        ::close(log_out);
    }

    void start(script answer, config::pool_options pool = {}, std::int64_t slots = 1) {
        worker_answer = std::move(answer);
        worker = std::make_unique<net::server>(
            io, net::server_options{}, [this](net::exchange& with) { return serve(with); }
        );
        ASSERT_TRUE(worker->start().has_value());
        pool.name = "p";
        pool.models = {"m"};
        pool.workers = {{worker->address(), slots, tokens(1'000'000), config::probe_kind::fixed}};
        start_with(std::move(pool));
    }
    void start_with(config::pool_options pool) {
        config::gateway_config config;
        config.listen = "127.0.0.1:0";
        config.limits.body_bytes = bytes(10'000);
        config.pools = {std::move(pool)};
        log = std::make_shared<obs::logger>(obs::log_options{.descriptor = log_in});
        wiring parts;
        parts.log = log;
        parts.grace = 300ms;
        parts.open_pool = [this](auto, auto, auto, coord::outcome_sink& sink) {
            fake = std::make_shared<fake_pool>(sink);
            return result<coord::pool_ports>(coord::pool_ports{fake, fake});
        };
        gateway = std::make_unique<service>(config, io, std::move(parts));
        const auto started = gateway->start();
        ASSERT_TRUE(started.has_value()) << started.error().message;
        address = gateway->data_address();
        runner = std::thread([this] { io.run(); });
    }
    net::task<> serve(net::exchange& with) {
        const auto body = co_await with.read_body(bytes(100'000));
        if (with.request().method == "GET") {
            co_await with.respond(200, {}, {});
            co_return;
        }
        {
            const std::lock_guard lock(mutex);
            bodies.emplace_back(body ? *body : std::string_view());
            if (const auto permit = with.request().field("x-sluice-permit")) {
                permits.emplace_back(*permit);
            }
        }
        const script answer = worker_answer;
        co_await answer(with);
    }
    /// A value of the backend, read on its strand.
    template <class Read>
    auto read(Read&& what) {
        std::promise<decltype(what(*fake))> got;
        net::asio::post(io.executor_of(0), [&] { got.set_value(what(*fake)); });
        return got.get_future().get();
    }
    bool eventually(const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + 10s;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::yield();
        }
        return true;
    }
    /// Every permit came back, and none twice.
    void expect_balance(std::size_t granted) {
        EXPECT_TRUE(eventually([&] {
            return read([](fake_pool& of) { return of.running() + of.waiting(); }) == 0;
        }));
        EXPECT_EQ(read([](fake_pool& of) { return of.granted; }), granted);
        EXPECT_EQ(read([](fake_pool& of) { return of.released; }), granted);
        EXPECT_EQ(read([](fake_pool& of) { return of.misused; }), 0u);
    }
    std::string ask(const std::string& body, const std::string& fields = {}) {
        return browser(address).chat(body, fields).read();
    }

    std::unique_ptr<net::io_pool> threads;
    net::io_pool& io;
    std::shared_ptr<obs::logger> log;
    std::shared_ptr<fake_pool> fake;
    std::unique_ptr<net::server> worker;
    std::unique_ptr<service> gateway;
    std::string address;
    script worker_answer;
    std::mutex mutex;
    std::vector<std::string> bodies;
    std::vector<std::string> permits;
    std::thread runner;
    int log_in = -1;
    int log_out = -1;
};

net::task<> answer_json(net::exchange& with) {
    const net::header_field fields[] = {{"content-type", "application/json"}};
    co_await with.respond(
        200, fields, R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})"
    );
}

void begin_stream(net::exchange& with) {
    const net::header_field fields[] = {{"content-type", event_type}};
    with.begin(200, fields, std::nullopt);
}

net::task<> answer_stream(net::exchange& with) {
    begin_stream(with);
    co_await with.write(token_event);
    co_await with.finish(last_events);
}

/// Waits until the gateway gives up.
net::task<> answer_never(net::exchange& with) {
    net::event never(with.get_executor());
    while (!with.signal().aborted()) {
        co_await never.wait(with.signal());
    }
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST_F(service_test, plain_and_streamed_answers_pass_unchanged) {
    start(answer_json);
    const std::string answer = ask(plain);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(
        answer.ends_with(R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})")
    );
    EXPECT_TRUE(has(answer, "x-sluice-worker: " + worker->address())) << answer;
    expect_balance(1);
    EXPECT_EQ(bodies.front(), plain);
    EXPECT_TRUE(has(permits.front(), ";worker=" + worker->address() + ";")) << permits.front();
}

TEST_F(service_test, streams_pass_event_by_event) {
    start(answer_stream);
    const std::string answer = ask(streamed);
    EXPECT_TRUE(has(answer, token_event)) << answer;
    EXPECT_TRUE(has(answer, last_events)) << answer;
    EXPECT_TRUE(answer.ends_with("0\r\n\r\n"));
    expect_balance(1);
}

TEST_F(service_test, b10_a_stream_cut_inside_an_event_leaves_whole_events_and_an_error) {
    start([](net::exchange& with) -> net::task<> {
        begin_stream(with);
        co_await with.write(token_event);
        co_await with.write(token_event + "data: {\"choi");
        with.close_after();
    });
    const std::string answer = ask(streamed);
    EXPECT_FALSE(has(answer, "choi\r\n")) << answer;
    EXPECT_FALSE(has(answer, "[DONE]"));
    EXPECT_TRUE(has(answer, R"("code":"worker_failed")")) << answer;
    EXPECT_TRUE(answer.ends_with("0\r\n\r\n")) << "the failure is an event, not a cut";
    expect_balance(1);
    EXPECT_EQ(read([](fake_pool& of) { return of.outcomes.at(0); }), core::release_outcome::failed);
}

TEST_F(service_test, b10_an_empty_stream_is_a_502) {
    start([](net::exchange& with) -> net::task<> {
        begin_stream(with);
        co_await with.finish();
    });
    EXPECT_TRUE(ask(streamed).starts_with("HTTP/1.1 502 "));
    expect_balance(1);
}

TEST_F(service_test, b10_an_error_as_the_first_event_keeps_its_status_and_words) {
    start([](net::exchange& with) -> net::task<> {
        begin_stream(with);
        co_await with.finish("data: {\"error\":{\"message\":\"x\",\"code\":400}}\n\n");
    });
    const std::string answer = ask(streamed);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_TRUE(answer.ends_with(R"({"error":{"message":"x","code":400}})")) << answer;
    expect_balance(1);
}

TEST_F(service_test, b20_headers_and_comments_are_no_first_token) {
    config::pool_options pool;
    pool.timeouts.first_token = 50ms;
    start(
        [](net::exchange& with) -> net::task<> {
            begin_stream(with);
            co_await with.write(": still here\n\n");
            co_await answer_never(with);
        },
        pool
    );
    const std::string answer = ask(streamed);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 504 ")) << answer;
    EXPECT_TRUE(has(answer, "x-sluice-reason: first_token_timeout")) << answer;
    expect_balance(1);
    EXPECT_EQ(read([](fake_pool& of) { return of.outcomes.at(0); }), core::release_outcome::hung);
}

TEST_F(service_test, b20_silence_after_a_token_is_an_error_event) {
    config::pool_options pool;
    pool.timeouts.first_token = 5s;
    pool.timeouts.idle = 50ms;
    start(
        [](net::exchange& with) -> net::task<> {
            begin_stream(with);
            co_await with.write(token_event);
            co_await answer_never(with);
        },
        pool
    );
    const std::string answer = ask(streamed);
    EXPECT_TRUE(has(answer, token_event));
    EXPECT_TRUE(has(answer, R"("code":"idle_timeout")")) << answer;
    EXPECT_TRUE(answer.ends_with("0\r\n\r\n"));
    expect_balance(1);
}

TEST_F(service_test, total_counts_from_sending) {
    config::pool_options pool;
    pool.timeouts.total = 60ms;
    start(answer_never, pool);
    EXPECT_TRUE(has(ask(plain), "x-sluice-reason: total_timeout"));
    expect_balance(1);
}

TEST_F(service_test, b01_a_reset_while_the_worker_thinks_closes_the_worker) {
    std::atomic<bool> given_up{false};
    start([&](net::exchange& with) -> net::task<> {
        co_await answer_never(with);
        given_up = true;
    });
    browser leaving(address);
    leaving.chat(streamed);
    ASSERT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return bodies.size() == 1;
    }));
    leaving.reset();
    EXPECT_TRUE(eventually([&] { return given_up.load(); }));
    expect_balance(1);
    EXPECT_EQ(
        read([](fake_pool& of) { return of.outcomes.at(0); }), core::release_outcome::aborted
    );
}

TEST_F(service_test, b02_a_reset_while_waiting_leaves_the_queue) {
    start(answer_json);
    read([](fake_pool& of) { return of.held = true; });
    browser leaving(address);
    leaving.chat(plain);
    ASSERT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.waiting(); }) == 1; }));
    leaving.reset();
    EXPECT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.waiting(); }) == 0; }));
    read([](fake_pool& of) {
        of.let_go();
        return 0;
    });
    EXPECT_TRUE(ask(plain).starts_with("HTTP/1.1 200 "));
    expect_balance(1);
    EXPECT_EQ(bodies.size(), 1u);
}

TEST_F(service_test, a_worker_that_refuses_is_a_502_and_another_one_answers) {
    start(answer_json);
    const std::string dead = "127.0.0.1:1";
    read([&](fake_pool& of) {
        of.largest = bytes::max();
        return 0;
    });
    // The only worker of the configuration is fine; a lease on a dead one is asked for once.
    read([&](fake_pool& of) {
        of.add_worker(worker->address(), "http://" + dead, 1);
        return 0;
    });
    const std::string answer = ask(plain);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
    EXPECT_TRUE(has(answer, "x-sluice-reason: worker_failed"));
    EXPECT_TRUE(has(answer, "cannot be reached")) << answer;
    expect_balance(1);
}

TEST_F(service_test, failover_goes_to_another_worker_before_anything_was_sent) {
    config::pool_options pool;
    worker_answer = answer_json;
    worker = std::make_unique<net::server>(io, net::server_options{}, [this](net::exchange& with) {
        return serve(with);
    });
    ASSERT_TRUE(worker->start().has_value());
    pool.name = "p";
    pool.models = {"m"};
    // Nothing listens on port 1; it is the first in the list, and the first to be granted.
    pool.workers = {
        {"http://127.0.0.1:1", 1, tokens(1000), config::probe_kind::fixed},
        {worker->address(), 1, tokens(1000), config::probe_kind::fixed},
    };
    start_with(std::move(pool));
    const std::string answer = ask(plain);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    EXPECT_TRUE(has(answer, "x-sluice-attempts: 2")) << answer;
    EXPECT_TRUE(has(answer, "x-sluice-worker: " + worker->address())) << answer;
    EXPECT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.running(); }) == 0; }));
    EXPECT_EQ(read([](fake_pool& of) { return of.misused; }), 0u);
}

TEST_F(service_test, b37_refused_requests_cost_nothing) {
    start(answer_json);
    EXPECT_TRUE(ask(std::string(20'000, ' ')).starts_with("HTTP/1.1 413 "));
    EXPECT_TRUE(ask("{").starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(ask(R"({"model":"other","messages":[]})").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(ask(plain, "x-sluice-priority: urgent\r\n").starts_with("HTTP/1.1 400 "));
    expect_balance(0);
    EXPECT_TRUE(bodies.empty());
}

TEST_F(service_test, b40_a_workers_unreadable_error_is_readable) {
    start([](net::exchange& with) -> net::task<> {
        co_await with.respond(500, {}, "{\"error\":\"\xff\xc3\"}");
    });
    const std::string answer = ask(plain);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 ")) << answer;
    EXPECT_FALSE(has(answer, "\xff"));
    expect_balance(1);
}

TEST_F(service_test, metrics_and_health_answer_while_the_pool_is_full) {
    start(answer_never);
    browser busy(address);
    busy.chat(streamed);
    ASSERT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.granted; }) == 1; }));
    EXPECT_TRUE(browser(address).get("/health").read().starts_with("HTTP/1.1 200 "));
    const std::string page = browser(address).get("/metrics").read();
    EXPECT_TRUE(has(page, "sluice_permits_in_use{pool=\"p\"} 1")) << page;
    EXPECT_TRUE(has(page, "sluice_inflight{pool=\"p\"} 1")) << page;
    busy.reset();
    expect_balance(1);
}

TEST_F(service_test, b36_a_drain_refuses_new_ones_and_ends_what_does_not) {
    start([](net::exchange& with) -> net::task<> {
        begin_stream(with);
        co_await with.write(token_event);
        co_await answer_never(with);
    });
    browser endless(address);
    endless.chat(streamed);
    ASSERT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.granted; }) == 1; }));
    browser waiting(address);
    waiting.chat(streamed);
    ASSERT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.waiting(); }) == 1; }));

    std::promise<void> drained;
    gateway->drain([&] { drained.set_value(); });
    const std::string refused = waiting.read();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_TRUE(has(refused, "x-sluice-reason: draining"));
    EXPECT_TRUE(has(refused, "retry-after: 1"));
    EXPECT_TRUE(browser(address).get("/readyz").read().starts_with("HTTP/1.1 503 "));
    EXPECT_TRUE(has(ask(plain), "x-sluice-reason: draining"));
    const std::string cut = endless.read();
    EXPECT_TRUE(has(cut, R"("code":"draining")")) << cut;
    EXPECT_EQ(drained.get_future().wait_for(10s), std::future_status::ready);
    expect_balance(1);
}

TEST_F(service_test, b37_a_blocked_log_holds_nobody_up) {
    start(answer_json);
    const int one_page = ::fcntl(log_in, F_SETPIPE_SZ, 4096);
    EXPECT_GE(one_page, 4096);
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(ask(plain).starts_with("HTTP/1.1 200 "));
    }
    expect_balance(50);
}

}  // namespace
}  // namespace sluice::gateway
