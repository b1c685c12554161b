// Scripted faults: their language, and each of them over a real socket.

#include "engine/faults.hpp"

#include <gtest/gtest.h>

#include "unit/engine/engine_harness.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;

engine_options with_faults(std::string faults) {
    engine_options options = fast_options();
    options.faults = std::move(faults);
    return options;
}

TEST(fault_plan, reads_its_language) {
    const auto plan = fault_plan::parse("status=503@2,close_after=4,slow_headers=20ms%50,crash@3s");
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    EXPECT_EQ(plan->for_request(1).status, std::nullopt);
    EXPECT_EQ(plan->for_request(2).status, 503);
    EXPECT_EQ(plan->for_request(7).close_after, 4);
    ASSERT_EQ(plan->crashes.size(), 1u);
    EXPECT_EQ(plan->crashes[0], duration(3'000'000));
    std::int64_t slow = 0;
    for (std::int64_t i = 1; i <= 1000; ++i) {
        slow += plan->for_request(i).slow_headers == milliseconds(20) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(slow), 500, 60);
    EXPECT_TRUE(fault_plan::parse("").has_value());
    EXPECT_EQ(fault_plan::parse("refuse_connect")->refuse_connect, duration::max());
    EXPECT_EQ(fault_plan::parse("refuse_connect=2s")->refuse_connect, duration(2'000'000));
}

TEST(fault_plan, names_the_entry_that_is_wrong) {
    for (const char* spec :
         {"fire",
          "status",
          "status=200",
          "status=abc",
          "close_after=-1",
          "hang_before_first=3",
          "slow_headers=3",
          "status=500@0",
          "status=500%101",
          "crash",
          "crash@soon",
          "garbage_status@2",
          "refuse_connect=x"}) {
        const auto plan = fault_plan::parse(std::string("hang_after=1,") + spec);
        ASSERT_FALSE(plan.has_value()) << spec;
        EXPECT_NE(plan.error().message.find("'" + std::string(spec) + "'"), std::string::npos)
            << plan.error().message;
    }
}

TEST(faults, status_of_one_request) {
    running_engine engine(with_faults("status=500@2"));
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(2, false)).status, 200);
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(2, true)).status, 500);
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(2, false)).status, 200);
}

TEST(faults, a_stream_is_cut_after_some_tokens) {
    running_engine engine(with_faults("close_after=5"));
    const raw_response cut = engine.post("/v1/chat/completions", chat(40, true));
    EXPECT_EQ(cut.status, 200);
    EXPECT_FALSE(cut.complete);
    EXPECT_EQ(token_events(cut.body), 5u);
    const raw_response whole = engine.post("/v1/chat/completions", chat(40, false));
    EXPECT_FALSE(whole.complete);
}

TEST(faults, a_stream_falls_silent_until_its_client_leaves) {
    engine_options options = with_faults("hang_after=3@1,hang_before_first@2");
    options.speed = 1;
    running_engine engine(options);
    raw_connection first = engine.connect();
    first.post("/v1/chat/completions", chat(5000, true));
    raw_connection second = engine.connect();
    ASSERT_TRUE(first.read_until(R"("delta":{"content")"));
    second.post("/v1/chat/completions", chat(5000, true));
    ASSERT_TRUE(second.read_until("\r\n\r\n"));
    EXPECT_TRUE(engine.eventually([&] { return engine.stat("generated_tokens") > 40; }));
    first.half_close();
    while (first.read_until("never sent")) {
    }
    EXPECT_EQ(token_events(first.received()), 3u);
    second.half_close();
    while (second.read_until("never sent")) {
    }
    EXPECT_EQ(token_events(second.received()), 0u);
    EXPECT_TRUE(engine.eventually_stat("aborted", 2));
}

TEST(faults, slow_headers) {
    running_engine engine(with_faults("slow_headers=60ms"));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(1, true)).status, 200);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(60));
}

TEST(faults, nobody_listens_for_a_while) {
    running_engine engine(with_faults("refuse_connect=600ms"));
    EXPECT_FALSE(engine.connect().connected());
    ASSERT_TRUE(engine.eventually([&] { return engine.connect().connected(); }));
    EXPECT_EQ(engine.get("/health").status, 200);
}

TEST(faults, an_answer_that_is_not_http) {
    running_engine engine(with_faults("garbage_status"));
    const raw_response answer = engine.post("/v1/chat/completions", chat(1, true));
    EXPECT_EQ(answer.status, 0);
    EXPECT_TRUE(answer.head.starts_with("THIS IS NOT HTTP"));
}

TEST(faults, a_crash_at_a_time) {
    engine_options options = with_faults("crash@500ms");
    options.speed = 1;
    running_engine engine(options);
    const raw_response cut = engine.post("/v1/chat/completions", chat(15'000, true));
    EXPECT_FALSE(cut.complete);
    EXPECT_EQ(engine.stat("crashes"), 1);
    EXPECT_EQ(engine.stat("running"), 0);
}

}  // namespace
}  // namespace sluice::engine::test
