// The engine's HTTP face over real sockets.

#include "engine/simulated_engine.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "openai/inspect.hpp"
#include "openai/stream_facts.hpp"
#include "unit/engine/engine_harness.hpp"

namespace sluice::engine::test {
namespace {

namespace json = boost::json;

openai::answer_facts read_stream(const raw_response& answer) {
    openai::answer_reader reader(openai::answer_format::events);
    reader.feed(answer.body);
    reader.finish();
    EXPECT_TRUE(reader.succeeded());
    return reader.facts();
}

TEST(simulated_engine, answers_a_chat_with_usage_and_finish_reason) {
    running_engine engine;
    const raw_response answer = engine.post("/v1/chat/completions", chat(12, false));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json::value body = json::parse(answer.body);
    EXPECT_EQ(body.at("object").as_string(), "chat.completion");
    EXPECT_EQ(body.at("model").as_string(), "m");
    const json::value& choice = body.at("choices").at(0);
    EXPECT_EQ(choice.at("finish_reason").as_string(), "stop");
    EXPECT_EQ(choice.at("message").at("role").as_string(), "assistant");
    EXPECT_EQ(count(choice.at("message").at("content").as_string(), " "), 12u);
    EXPECT_EQ(body.at("usage").at("completion_tokens").as_int64(), 12);
    // "user" and 18 characters at four bytes a token, four for the message.
    const auto facts = openai::inspect(openai::endpoint_kind::chat, chat(12, false));
    EXPECT_EQ(body.at("usage").at("prompt_tokens").as_int64(), facts->prompt.count());
    EXPECT_EQ(engine.stat("started"), 1);
    EXPECT_EQ(engine.stat("finished"), 1);
    EXPECT_EQ(engine.stat("running"), 0);
    EXPECT_EQ(engine.stat("peak_running"), 1);
    EXPECT_EQ(engine.stat("kv_tokens_used"), 0);
    EXPECT_GT(engine.stat("peak_kv_tokens"), 0);
}

TEST(simulated_engine, streams_an_event_a_token_and_the_usage_when_asked) {
    running_engine engine;
    const raw_response answer = engine.post(
        "/v1/chat/completions", chat(25, true, R"(,"stream_options":{"include_usage":true})")
    );
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.complete);
    EXPECT_TRUE(raw_connection::field(answer.head, "content-type")->starts_with("text/event-stream")
    );
    const openai::answer_facts facts = read_stream(answer);
    EXPECT_EQ(facts.content_events, 25u);
    EXPECT_EQ(facts.usage_events, 1u);
    EXPECT_EQ(facts.completion_tokens, tokens(25));
    EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n"));
    for (std::string_view rest = answer.body; !rest.empty();) {
        const std::size_t end = rest.find("\n\n");
        const std::string_view event = rest.substr(0, end);
        ASSERT_TRUE(event.starts_with("data: "));
        if (event != "data: [DONE]") {
            const json::value chunk = json::parse(event.substr(6));
            EXPECT_EQ(chunk.at("object").as_string(), "chat.completion.chunk");
            EXPECT_TRUE(chunk.at("created").is_int64());
        }
        rest.remove_prefix(end + 2);
    }
    const raw_response without = engine.post("/v1/chat/completions", chat(25, true));
    EXPECT_EQ(read_stream(without).usage_events, 0u);
    EXPECT_EQ(token_events(without.body), 25u);
}

TEST(simulated_engine, honours_the_limit_and_draws_a_length_otherwise) {
    running_engine engine;
    const raw_response cut =
        engine.post("/v1/chat/completions", chat(500, false, R"(,"max_tokens":7)"));
    EXPECT_NE(cut.body.find(R"("finish_reason":"length")"), std::string::npos);
    EXPECT_NE(cut.body.find(R"("completion_tokens":7)"), std::string::npos);
    const std::string free = R"({"model":"m","messages":[{"role":"user","content":"go on"}]})";
    const raw_response once = engine.post("/v1/chat/completions", free);
    const raw_response again = engine.post("/v1/chat/completions", free);
    EXPECT_EQ(json::parse(once.body).at("choices"), json::parse(again.body).at("choices"))
        << "the same body gives the same answer";
}

TEST(simulated_engine, completions_with_several_prompts_have_a_choice_each) {
    running_engine engine;
    const std::string body =
        R"({"model":"m","prompt":["one","two"],"n":2,"max_tokens":6,"sluice_sim_output":6)";
    const raw_response whole = engine.post("/v1/completions", body + "}");
    ASSERT_EQ(whole.status, 200) << whole.body;
    const json::value parsed = json::parse(whole.body);
    EXPECT_EQ(parsed.at("object").as_string(), "text_completion");
    EXPECT_EQ(parsed.at("choices").as_array().size(), 4u);
    EXPECT_EQ(parsed.at("usage").at("completion_tokens").as_int64(), 24);
    const raw_response streamed = engine.post("/v1/completions", body + R"(,"stream":true})");
    EXPECT_EQ(token_events(streamed.body), 24u);
    EXPECT_EQ(count(streamed.body, R"("finish_reason":"stop")"), 4u);
    EXPECT_EQ(engine.stat("peak_running"), 1);
}

TEST(simulated_engine, embeds_every_input) {
    running_engine engine;
    const raw_response answer =
        engine.post("/v1/embeddings", R"({"model":"m","input":["a b","c d","e f"]})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json::value body = json::parse(answer.body);
    EXPECT_EQ(body.at("data").as_array().size(), 3u);
    EXPECT_EQ(body.at("data").at(2).at("index").as_int64(), 2);
    EXPECT_FALSE(body.at("usage").as_object().contains("completion_tokens"));
}

TEST(simulated_engine, tells_its_model_and_its_health) {
    running_engine engine;
    const json::value models = json::parse(engine.get("/v1/models").body);
    EXPECT_EQ(models.at("data").at(0).at("id").as_string(), "m");
    EXPECT_EQ(models.at("data").at(0).at("max_model_len").as_int64(), 16'000);
    EXPECT_EQ(engine.get("/health").status, 200);
    EXPECT_EQ(engine.get("/nowhere").status, 404);
    EXPECT_EQ(engine.get("/v1/chat/completions").status, 405);
}

TEST(simulated_engine, refuses_what_it_cannot_serve_in_the_shape_of_the_api) {
    running_engine engine;
    const auto error = [&](std::string_view body) {
        const raw_response answer = engine.post("/v1/chat/completions", body);
        const json::value parsed = json::parse(answer.body);
        return std::pair(answer.status, std::string(parsed.at("error").at("code").as_string()));
    };
    EXPECT_EQ(error("{"), std::pair(400, std::string("bad_request")));
    EXPECT_EQ(
        error(R"({"model":"other","messages":[]})"), std::pair(404, std::string("model_not_found"))
    );
    EXPECT_EQ(
        error(R"({"model":"\ud83d\ude00\"","messages":[]})"),
        std::pair(404, std::string("model_not_found"))
    );
    const std::string huge = R"({"model":"m","messages":[{"role":"user","content":")" +
                             std::string(100'000, 'x') + R"("}]})";
    EXPECT_EQ(error(huge), std::pair(400, std::string("context_length_exceeded")));
    EXPECT_EQ(engine.stat("started"), 0);
}

TEST(simulated_engine, a_client_that_leaves_frees_its_place_at_once) {
    engine_options options = fast_options();
    options.speed = 1;
    options.slots = 1;
    running_engine engine(options);
    raw_connection streaming = engine.connect();
    streaming.post("/v1/chat/completions", chat(5000, true));
    ASSERT_TRUE(streaming.read_until("content"));
    raw_connection waiting = engine.connect();
    waiting.post("/v1/chat/completions", chat(5001, false));
    raw_connection last = engine.connect();
    last.post("/v1/chat/completions", chat(3, false));
    ASSERT_TRUE(engine.eventually_stat("running", 3));
    EXPECT_EQ(engine.stat("waiting"), 2);

    waiting.reset();
    ASSERT_TRUE(engine.eventually_stat("running", 2));
    EXPECT_EQ(engine.stat("aborted"), 1);
    streaming.leave();
    EXPECT_EQ(last.response().status, 200) << "the slot went to the next one";
    EXPECT_EQ(engine.stat("aborted"), 2);
    EXPECT_EQ(engine.stat("finished"), 1);
    EXPECT_EQ(engine.stat("running"), 0);
    EXPECT_EQ(engine.stat("kv_tokens_used"), 0);
}

TEST(simulated_engine, a_half_close_is_tolerated_when_told_so) {
    for (const bool tolerate : {true, false}) {
        engine_options options = fast_options();
        options.speed = 1;
        options.tolerate_half_close = tolerate;
        running_engine engine(options);
        raw_connection client = engine.connect();
        client.post("/v1/chat/completions", chat(50, false));
        client.half_close();
        EXPECT_EQ(client.response().status, tolerate ? 200 : 0);
        EXPECT_TRUE(engine.eventually_stat(tolerate ? "finished" : "aborted", 1));
    }
}

TEST(simulated_engine, metrics_carry_the_names_of_vllm) {
    engine_options options = fast_options();
    options.speed = 1;
    options.slots = 1;
    options.kv_tokens = tokens(1600);
    running_engine engine(options);
    raw_connection first = engine.connect();
    first.post("/v1/chat/completions", chat(1000, true));
    ASSERT_TRUE(first.read_until("content"));
    raw_connection second = engine.connect();
    second.post("/v1/chat/completions", chat(1000, true));
    ASSERT_TRUE(engine.eventually_stat("waiting", 1));
    const raw_response answer = engine.get("/metrics");
    EXPECT_TRUE(raw_connection::field(answer.head, "content-type")->starts_with("text/plain"));
    const std::string& page = answer.body;
    const std::string label = R"({engine="0",model_name="m"})";
    EXPECT_NE(page.find("\nvllm:num_requests_running" + label + " 1\n"), std::string::npos) << page;
    EXPECT_NE(page.find("\nvllm:num_requests_waiting" + label + " 1\n"), std::string::npos);
    EXPECT_NE(page.find("\nvllm:num_preemptions_total" + label + " 0\n"), std::string::npos);
    EXPECT_NE(page.find("\nvllm:kv_cache_usage_perc" + label + " 0.0"), std::string::npos);
    EXPECT_NE(page.find(R"(block_size="16",num_gpu_blocks="100")"), std::string::npos);
    EXPECT_NE(page.find("\nvllm:prompt_tokens_total"), std::string::npos);
    EXPECT_NE(page.find("\nvllm:generation_tokens_total"), std::string::npos);
}

TEST(simulated_engine, preemption_is_invisible_but_for_its_counter) {
    engine_options options = fast_options();
    options.speed = 200;
    options.kv_tokens = tokens(320);
    running_engine engine(options);
    std::vector<raw_connection> clients;
    for (int i = 0; i < 6; ++i) {
        clients.push_back(engine.connect());
        clients.back().post("/v1/chat/completions", chat(150, true));
    }
    for (raw_connection& client : clients) {
        EXPECT_EQ(read_stream(client.response()).content_events, 150u);
    }
    EXPECT_GT(engine.stat("preemptions"), 0);
    EXPECT_LE(engine.stat("peak_kv_tokens"), 320);
    EXPECT_EQ(engine.stat("finished"), 6);
}

TEST(simulated_engine, a_crash_cuts_the_streams_and_the_engine_comes_back) {
    engine_options options = fast_options();
    options.speed = 1;
    options.kv_tokens = tokens(320);
    options.when_full = sim::when_full::crash;
    running_engine engine(options);
    raw_connection one = engine.connect();
    one.post("/v1/chat/completions", chat(250, true));
    raw_connection other = engine.connect();
    other.post("/v1/chat/completions", chat(250, false));
    const raw_response cut = one.response();
    EXPECT_EQ(cut.status, 200);
    EXPECT_FALSE(cut.complete);
    EXPECT_EQ(cut.body.find("[DONE]"), std::string::npos);
    EXPECT_EQ(other.response().status, 500);
    EXPECT_EQ(engine.stat("crashes"), 1);
    EXPECT_EQ(engine.stat("running"), 0);
    EXPECT_EQ(engine.get("/health").status, 503);
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(1, false)).status, 503);
    EXPECT_TRUE(engine.eventually([&] { return engine.get("/health").status == 200; }));
    EXPECT_EQ(engine.post("/v1/chat/completions", chat(1, false)).status, 200);
}

TEST(simulated_engine, out_of_memory_is_an_error_event) {
    engine_options options = fast_options();
    options.kv_tokens = tokens(320);
    options.when_full = sim::when_full::refuse;
    running_engine engine(options);
    raw_connection one = engine.connect();
    one.post("/v1/chat/completions", chat(250, true));
    raw_connection other = engine.connect();
    other.post("/v1/chat/completions", chat(250, true));
    const raw_response first = one.response();
    const raw_response second = other.response();
    EXPECT_EQ(count(first.body + second.body, R"("code":"out_of_memory")"), 1u);
    EXPECT_EQ(count(first.body + second.body, "[DONE]"), 1u);
    EXPECT_TRUE(first.complete && second.complete);
    EXPECT_EQ(engine.stat("out_of_memory"), 1);
}

TEST(simulated_engine, serves_on_several_threads) {
    running_engine engine(fast_options(), 3);
    for (int round = 0; round < 5; ++round) {
        std::vector<raw_connection> clients;
        for (int i = 0; i < 40; ++i) {
            clients.push_back(engine.connect());
            clients.back().post("/v1/chat/completions", chat(20 + i, true));
        }
        for (int i = 0; i < 40; ++i) {
            if (i % 4 == 0) {
                clients[static_cast<std::size_t>(i)].reset();
                continue;
            }
            const raw_response answer = clients[static_cast<std::size_t>(i)].response();
            EXPECT_EQ(token_events(answer.body), static_cast<std::size_t>(20 + i));
        }
    }
    EXPECT_TRUE(engine.eventually_stat("running", 0));
    const sim::engine_stats stats = (*engine).stats();
    EXPECT_EQ(stats.started, stats.finished + stats.aborted);
    EXPECT_GE(stats.finished, 150);
    EXPECT_EQ(stats.kv_tokens_used, tokens(0));
}

TEST(simulated_engine, options_that_cannot_work_are_named) {
    net::io_pool pool(1);
    const auto problem = [&](auto change) {
        engine_options options = fast_options();
        change(options);
        simulated_engine engine(options);
        const auto started = engine.start(pool);
        return started ? std::string() : started.error().message;
    };
    EXPECT_NE(problem([](auto& o) { o.profile = "abacus"; }).find("abacus"), std::string::npos);
    EXPECT_NE(problem([](auto& o) { o.slots = 0; }).find("--slots"), std::string::npos);
    EXPECT_NE(
        problem([](auto& o) { o.kv_tokens = tokens(15); }).find("--kv-tokens"), std::string::npos
    );
    EXPECT_NE(problem([](auto& o) { o.speed = 0; }).find("--speed"), std::string::npos);
    EXPECT_NE(problem([](auto& o) { o.model = ""; }).find("--model"), std::string::npos);
    EXPECT_NE(problem([](auto& o) { o.faults = "fire"; }).find("fire"), std::string::npos);
    EXPECT_NE(problem([](auto& o) { o.listen = "127.0.0.1:99999"; }), "");
    for (const char* fault : {"garbage_status", "refuse_connect"}) {
        const std::string why = problem([&](auto& o) {
            o.listen = "127.0.0.1:99999";
            o.faults = fault;
        });
        EXPECT_NE(why.find("127.0.0.1:99999"), std::string::npos) << why;
    }
    running_engine busy;
    EXPECT_NE(
        problem([&](auto& o) { o.listen = busy.address(); }).find("in use"), std::string::npos
    );
    EXPECT_TRUE(parse_when_full("crash").has_value());
    EXPECT_FALSE(parse_when_full("explode").has_value());
}

}  // namespace
}  // namespace sluice::engine::test
