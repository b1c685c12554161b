// What a client gets for what its worker does, time-outs included.
#include "service_harness.hpp"

namespace sluice::gateway {
namespace {

using namespace testing;

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

}  // namespace
}  // namespace sluice::gateway
