// The whole gateway in one process: real sockets, a scripted worker, a fake backend.
#pragma once

#include "gateway/service.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fcntl.h>
#include <boost/asio/post.hpp>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "browser.hpp"
#include "fake_pool.hpp"
#include "net/event.hpp"
#include "net/server.hpp"

namespace sluice::gateway::testing {

using namespace std::chrono_literals;

inline constexpr std::string_view event_type = "text/event-stream";
inline const std::string plain =
    R"({"model":"m","max_tokens":4,"messages":[{"role":"user","content":"hi"}]})";
inline const std::string streamed =
    R"({"model":"m","stream":true,"max_tokens":4,"messages":[{"role":"user","content":"hi"}]})";
inline const std::string token_event =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
inline const std::string last_events =
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
    void start_worker() {
        worker = std::make_unique<net::server>(
            io, net::server_options{}, [this](net::exchange& with) { return serve(with); }
        );
        ASSERT_TRUE(worker->start().has_value());
    }
    void start_with(config::pool_options pool) {
        const auto started = try_start(std::move(pool));
        ASSERT_TRUE(started.has_value()) << started.error().message;
        address = gateway->data_address();
        run();
    }
    result<void> try_start(config::pool_options pool) {
        config::gateway_config config;
        config.listen = "127.0.0.1:0";
        config.limits.body_bytes = bytes(20'000);
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
        return gateway->start();
    }
    void run() {
        if (!runner.joinable()) {
            runner = std::thread([this] { io.run(); });
        }
    }
    net::task<> serve(net::exchange& with) {
        const auto body = co_await with.read_body(bytes(100'000));
        if (with.request().method == "GET") {
            const auto page = pages.find(with.request().target);
            co_await with.respond(200, {}, page == pages.end() ? "" : page->second);
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
    std::map<std::string, std::string, std::less<>> pages;  ///< Of the worker, by path.
    std::mutex mutex;
    std::vector<std::string> bodies;
    std::vector<std::string> permits;
    std::thread runner;
    int log_in = -1;
    int log_out = -1;
};

inline net::task<> answer_json(net::exchange& with) {
    const net::header_field fields[] = {{"content-type", "application/json"}};
    co_await with.respond(
        200, fields, R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})"
    );
}

inline void begin_stream(net::exchange& with) {
    const net::header_field fields[] = {{"content-type", event_type}};
    with.begin(200, fields, std::nullopt);
}

inline net::task<> answer_stream(net::exchange& with) {
    begin_stream(with);
    co_await with.write(token_event);
    co_await with.finish(last_events);
}

/// Waits until the gateway gives up.
inline net::task<> answer_never(net::exchange& with) {
    net::event never(with.get_executor());
    while (!with.signal().aborted()) {
        co_await never.wait(with.signal());
    }
}

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

}  // namespace sluice::gateway::testing
