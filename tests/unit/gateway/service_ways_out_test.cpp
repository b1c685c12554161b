// Who leaves, who fails, who is refused, and what is known of a worker.
#include "service_harness.hpp"

namespace sluice::gateway {
namespace {

using namespace testing;

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

TEST_F(service_test, a_lost_permit_cuts_its_stream_with_an_event) {
    start([](net::exchange& with) -> net::task<> {
        begin_stream(with);
        co_await with.write(token_event);
        co_await answer_never(with);
    });
    browser reading(address);
    reading.chat(streamed);
    ASSERT_TRUE(eventually([&] { return read([](fake_pool& of) { return of.running(); }) == 1; }));
    // The stream may not have begun yet: then the answer is an error with a status.
    read([](fake_pool& of) {
        of.lose_all();
        return 0;
    });
    const std::string answer = reading.read();
    EXPECT_TRUE(has(answer, R"("code":"permit_expired")")) << answer;
    EXPECT_FALSE(has(answer, "[DONE]"));
    EXPECT_EQ(read([](fake_pool& of) { return of.released + of.misused; }), 0u);
}

TEST_F(service_test, a_suspect_worker_is_asked_and_its_answer_is_told) {
    start(answer_json);
    read([](fake_pool& of) {
        of.suspect();
        return 0;
    });
    EXPECT_TRUE(eventually([&] {
        return read([](fake_pool& of) { return of.probes; }) ==
               std::vector<std::string>{worker->address()};
    }));
}

TEST_F(service_test, what_the_configuration_leaves_out_is_read_from_the_engine) {
    pages["/v1/models"] = R"({"object":"list","data":[{"id":"found","max_model_len":4096}]})";
    pages["/metrics"] =
        "vllm:num_requests_running 0\n"
        "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\"} 1\n";
    worker_answer = answer_json;
    start_worker();
    run();
    config::pool_options pool;
    pool.name = "p";
    pool.workers = {{worker->address(), {}, {}, config::probe_kind::automatic}};
    start_with(pool);
    EXPECT_TRUE(has(browser(address).get("/v1/models").read(), R"("id":"found")"));
    const auto joined = read([](fake_pool& of) { return of.joined; });
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined[0].kv_capacity, bytes(16'000));
    EXPECT_EQ(joined[0].slots, 8u) << "the engine does not say it";
    // 4,096 is the context now.
    EXPECT_TRUE(ask(R"({"model":"found","messages":[]})").starts_with("HTTP/1.1 200 "));
    const std::string long_text(4097 * 4, 'x');
    const std::string refused =
        ask(R"({"model":"found","messages":[{"role":"user","content":")" + long_text + R"("}]})");
    EXPECT_TRUE(has(refused, "x-sluice-reason: too_large")) << refused;
}

TEST_F(service_test, nothing_known_of_a_worker_is_one_sentence) {
    config::pool_options pool;
    pool.name = "p";
    pool.workers = {{"http://127.0.0.1:1", {}, {}, config::probe_kind::automatic}};
    const auto started = try_start(pool);
    ASSERT_FALSE(started.has_value());
    EXPECT_TRUE(has(started.error().message, "no worker of pool 'p' says which model it serves"))
        << started.error().message;
    EXPECT_EQ(started.error().message.find('\n'), std::string::npos);
}

TEST_F(service_test, an_unreachable_worker_of_a_named_model_is_a_warning_and_learned_later) {
    // A port that nobody listens on, for as long as the test wants it.
    net::server late(io, net::server_options{}, [this](net::exchange& with) {
        return serve(with);
    });
    ASSERT_TRUE(late.start().has_value());
    pages["/v1/models"] = R"({"data":[{"id":"m"}]})";
    pages["/metrics"] = "sluice_engine_slots 5\nvllm:num_requests_running 0\n";
    config::pool_options pool;
    pool.name = "p";
    pool.models = {"m"};
    pool.workers = {{late.address(), {}, {}, config::probe_kind::automatic}};
    // The context does not run yet, so nobody answers while the gateway starts.
    start_with(pool);
    EXPECT_TRUE(eventually([&] {
        return read([](fake_pool& of) { return of.joined.back().slots; }) == 5u;
    }));
    EXPECT_EQ(read([](fake_pool& of) { return of.joined.front().slots; }), 8u);
}

TEST_F(service_test, b37_refused_requests_cost_nothing) {
    start(answer_json);
    EXPECT_TRUE(ask(std::string(20'001, ' ')).starts_with("HTTP/1.1 413 "));
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
