// The whole client against servers of `net` in the same process and io_context.
#include "load/load_run.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/json.hpp>
#include <functional>
#include <set>
#include <string>

#include "net/server.hpp"

namespace sluice::load {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
namespace json = boost::json;

std::string events(int tokens_out) {
    std::string out;
    for (int i = 0; i < tokens_out; ++i) {
        out += "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    }
    return out;
}
std::string ending(int tokens_out) {
    return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
           "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":" +
           std::to_string(tokens_out) + "}}\n\ndata: [DONE]\n\n";
}

net::task<> stream(net::exchange& client, const std::string& text, bool proper_end = true) {
    const std::vector<net::header_field> fields{
        {"content-type", "text/event-stream"}, {"x-sluice-queue-ms", "250"}
    };
    client.begin(200, fields, std::nullopt);
    if (co_await client.write(text) && proper_end) {
        co_await client.finish();
    } else {
        client.close_after();
    }
}

class load_run_test : public testing::Test {
protected:
    using serve = std::function<net::task<>(net::exchange&, std::string_view body)>;

    static sim::trace trace_of(std::size_t requests, duration gap) {
        sim::trace out;
        out.tenants = {""};
        for (std::size_t i = 0; i < requests; ++i) {
            out.requests.push_back(
                {gap * static_cast<std::int64_t>(i),
                 tokens(10),
                 tokens(3),
                 0,
                 core::priority::normal}
            );
        }
        return out;
    }

    result<load_report> run(
        const sim::trace& trace,
        load_options options,
        serve answer,
        const std::function<void(load_run&)>& meanwhile = {}
    ) {
        net::io_pool pool(1);
        net::server server(pool, {}, [&](net::exchange& client) -> net::task<> {
            auto body = co_await client.read_body(kib64);
            if (!body) {
                co_return;
            }
            ++asked;
            if (client.request().target == "/v1/models") {
                co_await client.respond(200, {}, R"({"data":[{"id":"listed"}]})");
                co_return;
            }
            most_running = std::max(most_running, ++running);
            co_await answer(client, *body);
            --running;
        });
        const auto started = server.start();
        EXPECT_TRUE(started) << (started ? "" : started.error().message);
        options.target = *net::parse_endpoint(server.address());
        result<load_report> got = fail(errc::cancelled, "");
        {
            load_run load(pool.executor_of(0), trace, std::move(options));
            net::asio::co_spawn(
                pool.executor_of(0),
                load.run(),
                [&](std::exception_ptr problem, result<load_report> report) {
                    pool.stop();
                    if (problem) {
                        std::rethrow_exception(problem);
                    }
                    got = std::move(report);
                }
            );
            if (meanwhile) {
                meanwhile(load);
            }
            pool.run();
        }
        return got;
    }

    static constexpr bytes kib64{64 * 1024};
    int asked = 0;
    int running = 0;
    int most_running = 0;
};

TEST_F(load_run_test, every_answer_is_judged) {
    int number = 0;
    std::set<std::string> bodies;
    const auto answer = [&](net::exchange& client, std::string_view body) -> net::task<> {
        bodies.emplace(body);
        const std::vector<net::header_field> reason{{"x-sluice-reason", "queue_full"}};
        switch (number++ % 8) {
            case 0:
                co_await client.respond(429, reason, "{}");
                break;
            case 1:
                co_await client.respond(404, {}, R"({"error":{"code":"model_not_found"}})");
                break;
            case 2:
                co_await client.respond(500, {}, "oops");
                break;
            case 3:  // no [DONE]
                co_await stream(client, events(3));
                break;
            case 4:  // cut in the middle
                co_await stream(client, events(3), false);
                break;
            case 5:
                co_await stream(client, events(1) + "data: {\"error\":{\"message\":\"x\"}}\n\n");
                break;
            case 6:  // an event was lost
                co_await stream(client, events(2) + ending(3));
                break;
            default:
                co_await stream(client, events(3) + ending(3));
        }
    };
    const auto report = run(trace_of(80, milliseconds(1)), {}, answer);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->sent, 80);
    EXPECT_EQ(report->ok, 10);
    EXPECT_EQ(report->answered(), 40);
    EXPECT_EQ(report->refusal.size(), 30);
    EXPECT_EQ(report->refused.at("queue_full"), 10);
    EXPECT_EQ(report->refused.at("model_not_found"), 10);
    EXPECT_EQ(report->refused.at("status 500"), 10);
    EXPECT_EQ(report->broken_count(), 40);
    EXPECT_EQ(report->broken.at("an error event"), 10);
    EXPECT_EQ(report->unanswered_count(), 0);
    EXPECT_EQ(report->tokens_out, 30);
    EXPECT_EQ(report->ttft.size(), 10);
    EXPECT_EQ(report->tpot.size(), 10);
    EXPECT_DOUBLE_EQ(*report->queue.quantile(0.5), 0.25);
    EXPECT_EQ(asked, 81) << "each request reaches the server exactly once, besides /v1/models";
    EXPECT_EQ(bodies.size(), 80) << "no prompt is sent twice";
    EXPECT_NE(bodies.begin()->find(R"("model":"listed")"), std::string::npos);
}

TEST_F(load_run_test, report_has_the_names_that_scripts_read) {
    const auto answer = [](net::exchange& client, std::string_view) -> net::task<> {
        co_await stream(client, events(3) + ending(3));
    };
    load_options options;
    options.model = "m";
    const auto report = run(trace_of(5, milliseconds(1)), options, answer);
    ASSERT_TRUE(report);
    const json::object out = json::parse(report_json(*report)).as_object();
    for (const char* key :
         {"sent",
          "answered",
          "ok",
          "refused",
          "broken_streams",
          "unanswered",
          "ttft_s",
          "tpot_s",
          "queue_s",
          "refusal_s",
          "goodput_rps",
          "tokens_out",
          "jain"}) {
        EXPECT_TRUE(out.contains(key)) << key;
    }
    EXPECT_EQ(out.at("answered"), 5);
    EXPECT_EQ(out.at("jain").to_number<double>(), 1.0);
    EXPECT_TRUE(out.at("ttft_s").at("p99").is_double());
    EXPECT_FALSE(report_table(*report).empty());
}

TEST_F(load_run_test, whole_answers) {
    bool streamed = false;
    const auto answer = [&](net::exchange& client, std::string_view body) -> net::task<> {
        streamed = streamed || body.contains("\"stream\"");
        const std::vector<net::header_field> fields{{"content-type", "application/json"}};
        co_await client.respond(
            200,
            fields,
            R"({"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":1,"completion_tokens":3}})"
        );
    };
    load_options options;
    options.stream = false;
    const auto report = run(trace_of(4, milliseconds(1)), options, answer);
    ASSERT_TRUE(report);
    EXPECT_FALSE(streamed);
    EXPECT_EQ(report->ok, 4) << report_json(*report);
    EXPECT_EQ(report->tokens_out, 12);
    EXPECT_EQ(report->ttft.size(), 0);
    EXPECT_EQ(report->latency.size(), 4);
}

TEST_F(load_run_test, goals_tenants_and_limits) {
    sim::trace trace = trace_of(6, milliseconds(1));
    trace.tenants = {"acme", "beta"};
    for (std::size_t i = 3; i < 6; ++i) {
        trace.requests[i].tenant = 1;
        trace.requests[i].cls = core::priority::high;
        trace.requests[i].output = tokens(100);
    }
    std::set<std::string> seen;
    const auto answer = [&](net::exchange& client, std::string_view body) -> net::task<> {
        const auto tenant = client.request().field("x-sluice-tenant").value_or("-");
        const auto cls = client.request().field("x-sluice-priority").value_or("-");
        seen.insert(
            std::string(tenant) + " " + std::string(cls) + " " +
            std::string(body.substr(body.find("\"max_tokens\"")))
        );
        if (tenant == "beta") {
            co_await client.respond(503, {}, "");
        } else {
            co_await stream(client, events(3) + ending(3));
        }
    };
    load_options options;
    options.max_tokens = tokens(50);
    options.slo_ttft = duration(1);
    const auto report = run(trace, options, answer);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->ok, 3);
    EXPECT_EQ(report->good, 0) << "nobody answers within a microsecond";
    EXPECT_DOUBLE_EQ(jain_index(report->tenant_tokens), 0.5);
    EXPECT_EQ(
        seen,
        (std::set<std::string>{
            "acme - \"max_tokens\":50,\"sluice_sim_output\":3,\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true}}",
            "beta high \"max_tokens\":50,\"sluice_sim_output\":50,\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true}}",
        })
    );
}

// A server that answers nobody until `most` are there: a bound that is not kept would show.
TEST_F(load_run_test, open_requests_are_bounded_and_late_ones_are_sent_all_the_same) {
    const auto answer = [](net::exchange& client, std::string_view) -> net::task<> {
        net::steady_timer timer(client.get_executor(), milliseconds(2));
        co_await timer.async_wait(net::as_result);
        co_await stream(client, events(1) + ending(1));
    };
    load_options options;
    options.connections = 3;
    const auto report = run(trace_of(60, duration(1)), options, answer);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->ok, 60);
    EXPECT_EQ(most_running, 3);
    EXPECT_GT(*report->lateness.quantile(1), 0.01);
}

TEST_F(load_run_test, after_its_time_nothing_more_is_sent_and_open_ones_are_waited_for) {
    const auto answer = [](net::exchange& client, std::string_view) -> net::task<> {
        net::steady_timer timer(client.get_executor(), milliseconds(100));
        co_await timer.async_wait(net::as_result);
        co_await stream(client, events(1) + ending(1));
    };
    load_options options;
    options.model = "m";
    options.speed = 2;
    options.send_for = milliseconds(200);
    const auto report = run(trace_of(10'000, milliseconds(10)), options, answer);
    ASSERT_TRUE(report);
    EXPECT_GT(report->sent, 1);
    EXPECT_LE(report->sent, 40) << "one each 5 ms";
    EXPECT_EQ(report->ok, report->sent);
}

TEST_F(load_run_test, waiting_has_an_end) {
    const auto answer = [](net::exchange& client, std::string_view) -> net::task<> {
        // Until the client leaves.
        net::steady_timer timer(client.get_executor(), std::chrono::hours(1));
        const net::abort_action left(client.signal(), [&timer] { timer.cancel(); });
        co_await timer.async_wait(net::as_result);
    };
    load_options options;
    options.model = "m";
    options.wait_limit = milliseconds(50);
    const auto report = run(trace_of(20, milliseconds(1)), options, answer);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->sent, 20);
    EXPECT_EQ(report->unanswered_count(), 20);
    EXPECT_EQ(report->answered(), 0);
}

TEST_F(load_run_test, stop_sending_ends_an_endless_run) {
    load_run* current = nullptr;
    const auto answer = [&](net::exchange& client, std::string_view) -> net::task<> {
        co_await stream(client, events(1) + ending(1));
        if (asked == 50) {
            current->stop_sending();
        }
    };
    load_options options;
    options.model = "m";
    options.repeat = true;
    const auto report = run(trace_of(3, milliseconds(1)), options, answer, [&](load_run& load) {
        current = &load;
    });
    ASSERT_TRUE(report);
    EXPECT_GE(report->sent, 50);
    EXPECT_EQ(report->ok, report->sent);
}

TEST(load_run, a_server_that_is_not_there) {
    net::asio::io_context context(1);
    // Bound and never listening: nobody else can take the port meanwhile.
    net::tcp_socket taken(context.get_executor());
    taken.open(net::tcp::v4());
    taken.bind({net::asio::ip::make_address("127.0.0.1"), 0});
    const std::string address = "127.0.0.1:" + std::to_string(taken.local_endpoint().port());
    sim::trace trace;
    trace.tenants = {""};
    trace.requests.resize(3, {duration::zero(), tokens(1), tokens(1), 0, core::priority::normal});
    const auto run = [&](std::string model) {
        load_options options;
        options.target = *net::parse_endpoint(address);
        options.model = std::move(model);
        load_run load(context.get_executor(), trace, options);
        result<load_report> got = fail(errc::cancelled, "");
        net::asio::co_spawn(
            context.get_executor(),
            load.run(),
            [&](std::exception_ptr problem, result<load_report> report) {
                if (problem) {
                    std::rethrow_exception(problem);
                }
                got = std::move(report);
                context.stop();
            }
        );
        context.restart();
        context.run();
        return got;
    };
    const auto unknown = run("");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, errc::connection_failed);
    EXPECT_NE(unknown.error().message.find(address), std::string::npos) << unknown.error().message;
    const auto named = run("m");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->unanswered_count(), 3);
}

}  // namespace
}  // namespace sluice::load
