#include "net/server.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace sluice::net {
namespace {

using namespace testing;

std::string body_of(const std::string& response) {
    return response.substr(response.find("\r\n\r\n") + 4);
}

TEST(server, answers_several_requests_on_one_connection) {
    running_server server(echo);
    raw_peer client(server.address());
    for (int i = 0; i < 3; ++i) {
        client.send(post("body" + std::to_string(i)));
        const std::string head = client.read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
        EXPECT_NE(head.find("\r\ndate: "), std::string::npos);
        EXPECT_NE(head.find("\r\ncontent-length: 7\r\n"), std::string::npos) << head;
        EXPECT_EQ(client.read_until("body" + std::to_string(i)), "/|body" + std::to_string(i));
    }
    EXPECT_EQ(server.web.connection_count(), 1u);
}

TEST(server, answers_pipelined_requests_in_order) {
    running_server server(echo);
    raw_peer client(server.address());
    std::string all;
    std::string expected_order;
    for (int i = 0; i < 50; ++i) {
        all += i % 2 == 0 ? get("/" + std::to_string(i)) : post("p" + std::to_string(i));
    }
    all += get("/end", "Connection: close\r\n");
    client.send(all);
    const std::string got = client.read_to_end();
    std::size_t at = 0;
    for (int i = 0; i < 50; ++i) {
        const std::string want =
            i % 2 == 0 ? "/" + std::to_string(i) + "|" : "/|p" + std::to_string(i);
        at = got.find(want, at);
        ASSERT_NE(at, std::string::npos) << want;
    }
    EXPECT_NE(got.find("/end|", at), std::string::npos);
}

TEST(server, takes_pipelined_requests_cut_anywhere) {
    running_server server(echo);
    const std::string chunked =
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    const std::string all =
        "\r\n" + get("/1") + chunked + post("zz") + get("/4", "Connection: close\r\n");
    for (std::size_t cut = 1; cut < all.size(); ++cut) {
        raw_peer client(server.address());
        client.send(std::string_view(all).substr(0, cut));
        if (cut % 7 == 0) {
            pause();  // now and then the pieces arrive apart
        }
        client.send(std::string_view(all).substr(cut));
        const std::string got = client.read_to_end();
        std::size_t at = 0;
        for (const char* want : {"/1|", "/c|abcde", "/|zz", "/4|"}) {
            at = got.find(want, at);
            ASSERT_NE(at, std::string::npos) << "cut " << cut << " lacks " << want << "\n" << got;
        }
    }
}

TEST(server, takes_a_head_and_a_chunked_body_byte_by_byte) {
    running_server server(echo);
    raw_peer client(server.address());
    for (const char c : std::string("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                                    "chunked\r\nConnection: close\r\n\r\n"
                                    "5\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\n\r\n")) {
        client.send({&c, 1});
    }
    EXPECT_EQ(body_of(client.read_to_end()), "/x|hello world");
}

TEST(server, takes_large_bodies_both_ways) {
    running_server server(echo);
    const std::string big(700'000, 'b');
    raw_peer sized(server.address());
    std::jthread writer([&] { sized.send(post(big, "Connection: close\r\n")); });
    EXPECT_EQ(body_of(sized.read_to_end()), "/|" + big);
    writer.join();

    raw_peer chunked(server.address());
    std::jthread chunk_writer([&] {
        chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (std::size_t at = 0; at < big.size(); at += 7000) {
            chunked.send("1b58\r\n" + big.substr(at, 7000) + "\r\n");
        }
        chunked.send("0\r\n\r\n" + get("/after", "Connection: close\r\n"));
    });
    const std::string got = chunked.read_to_end();
    EXPECT_NE(got.find("/|" + big), std::string::npos);
    EXPECT_TRUE(got.ends_with("/after|"));
}

TEST(server, streams_in_chunks_and_by_length) {
    running_server server([](exchange& x) -> task<> {
        const header_field type{"content-type", "text/event-stream"};
        if (x.request().target == "/sized") {
            x.begin(200, {&type, 1}, 6);
        } else {
            x.begin(200, {&type, 1}, std::nullopt);
        }
        EXPECT_FALSE(x.response_started());
        co_await x.write("abc");
        EXPECT_TRUE(x.response_started());
        co_await x.write("");  // no piece: must not look like the end
        if (x.request().target == "/last") {
            co_await x.finish("def");
        } else {
            co_await x.write("def");
            co_await x.finish();
        }
    });
    raw_peer client(server.address());
    client.send(get("/"));
    std::string head = client.read_until("\r\n\r\n");
    EXPECT_NE(head.find("transfer-encoding: chunked\r\n"), std::string::npos);
    EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
    client.send(get("/last"));
    client.read_until("\r\n\r\n");
    EXPECT_EQ(client.read_until("0\r\n\r\n"), "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
    client.send(get("/sized", "Connection: close\r\n"));
    head = client.read_until("\r\n\r\n");
    EXPECT_NE(head.find("content-length: 6\r\n"), std::string::npos);
    EXPECT_NE(head.find("connection: close\r\n"), std::string::npos);
    EXPECT_EQ(client.read_to_end(), "abcdef");
}

TEST(server, cuts_a_stream_that_was_not_finished) {
    running_server server([](exchange& x) -> task<> {
        if (x.request().target == "/sized") {
            x.begin(200, {}, 10);
        } else {
            x.begin(200, {}, std::nullopt);
        }
        co_await x.write("abc");
        x.close_after();
    });
    raw_peer chunked(server.address());
    chunked.send(get("/"));
    EXPECT_TRUE(chunked.read_to_end().ends_with("3\r\nabc\r\n"));
    raw_peer old(server.address());
    old.send("GET / HTTP/1.0\r\n\r\n");
    old.read_to_end();
    EXPECT_TRUE(old.was_reset()) << "a proper close would read as the end of the body";
}

TEST(server, answers_http_1_0) {
    running_server server([](exchange& x) -> task<> {
        if (x.request().target == "/stream") {
            x.begin(200, {}, std::nullopt);
            co_await x.write("one");
            co_await x.write("two");
            co_await x.finish();
        } else {
            co_await x.respond(200, {}, "plain");
        }
    });
    raw_peer stream(server.address());
    stream.send("GET /stream HTTP/1.0\r\n\r\n");
    const std::string got = stream.read_to_end();
    EXPECT_EQ(got.find("chunked"), std::string::npos);
    EXPECT_EQ(body_of(got), "onetwo");
    EXPECT_FALSE(stream.was_reset());

    raw_peer kept(server.address());
    kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(kept.read_until("plain").find("connection: keep-alive"), std::string::npos);
    kept.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(body_of(kept.read_to_end()), "plain");
}

TEST(server, answers_head_and_204_without_a_body) {
    running_server server([](exchange& x) -> task<> {
        co_await x.respond(x.request().target == "/204" ? 204 : 200, {}, "body");
    });
    raw_peer client(server.address());
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/204", "Connection: close\r\n"));
    EXPECT_NE(client.read_until("\r\n\r\n").find("content-length: 4\r\n"), std::string::npos);
    const std::string second = client.read_to_end();
    EXPECT_TRUE(second.starts_with("HTTP/1.1 204")) << second;
    EXPECT_EQ(second.find("content-length"), std::string::npos);
    EXPECT_TRUE(second.ends_with("\r\n\r\n"));
}

TEST(server, sends_100_continue_only_when_the_body_is_wanted) {
    running_server server([](exchange& x) -> task<> {
        if (x.request().target == "/refuse") {
            co_await x.respond(401, {}, "no");
            co_return;
        }
        co_await echo(x);
    });
    const std::string fields =
        " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    raw_peer wanted(server.address());
    wanted.send("POST /yes" + fields);
    EXPECT_EQ(wanted.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    wanted.send("hello");
    EXPECT_TRUE(wanted.read_until("|hello").starts_with("HTTP/1.1 200"));

    raw_peer refused(server.address());
    refused.send("POST /refuse" + fields + get("/smuggled"));
    const std::string got = refused.read_to_end();
    EXPECT_TRUE(got.starts_with("HTTP/1.1 401")) << got;
    EXPECT_NE(got.find("connection: close\r\n"), std::string::npos);
    EXPECT_EQ(got.find("smuggled"), std::string::npos);
    EXPECT_EQ(got.find("HTTP/1.1", 1), std::string::npos);
    EXPECT_FALSE(refused.was_reset());

    raw_peer large(server.address());
    large.send(
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"
    );
    EXPECT_TRUE(large.read_to_end().starts_with("HTTP/1.1 413"));
}

TEST(server, keeps_the_connection_when_an_unwanted_body_came_along) {
    running_server server([](exchange& x) -> task<> { co_await x.respond(200, {}, "ok"); });
    raw_peer client(server.address());
    client.send(post("ignored"));
    client.read_until("ok");
    client.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    );
    client.read_until("ok");
    client.send(get("/", "Connection: close\r\n"));
    EXPECT_EQ(body_of(client.read_to_end()), "ok");
}

TEST(server, refuses_a_body_over_the_limit_and_lets_the_client_read_why) {
    running_server server(echo);
    raw_peer client(server.address());
    const std::string big(8'000'000, 'x');
    std::jthread writer([&] { client.send(post(big)); });
    const std::string got = client.read_to_end();
    EXPECT_TRUE(got.starts_with("HTTP/1.1 413")) << got.substr(0, 100);
    EXPECT_NE(got.find("connection: close"), std::string::npos);
    writer.join();
    raw_peer chunked(server.address());
    std::jthread chunk_writer([&] {
        chunked.send(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7a1200\r\n" + big
        );
    });
    EXPECT_TRUE(chunked.read_to_end().starts_with("HTTP/1.1 413"));
}

TEST(server, gives_bodies_with_readable_bytes_behind_them) {
    running_server server([](exchange& x) -> task<> {
        const auto body = co_await x.read_body(bytes(1 << 20));
        unsigned sum = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            sum += static_cast<unsigned char>(body->data()[body->size() + i]);  // ASan watches
        }
        co_await x.respond(200, {}, sum < 1'000'000 ? "ok" : "no");
    });
    for (const std::size_t size : {0u, 1u, 1900u, 1984u, 2048u, 5000u, 100'000u}) {
        raw_peer client(server.address());
        client.send(post(std::string(size, 'a'), "Connection: close\r\n"));
        EXPECT_EQ(body_of(client.read_to_end()), "ok") << size;
    }
    raw_peer none(server.address());
    none.send(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        "0\r\n\r\n"
    );
    EXPECT_EQ(body_of(none.read_to_end()), "ok");
}

TEST(server, goes_on_after_a_body_was_released) {
    running_server server([](exchange& x) -> task<> {
        const auto body = co_await x.read_body(bytes(1 << 20));
        const std::string size = std::to_string(body->size());
        x.release_body();
        EXPECT_EQ((co_await x.read_body(bytes(1 << 20)))->size(), 0u);
        co_await x.respond(200, {}, size);
    });
    raw_peer client(server.address());
    for (const std::size_t size : {10u, 50'000u, 20u, 500'000u}) {
        client.send(post(std::string(size, 'a')));
        client.read_until("\r\n\r\n");
        EXPECT_EQ(client.read_until(std::to_string(size)), std::to_string(size));
    }
}

TEST(server, answers_malformed_requests_and_lives_on) {
    server_options options;
    options.error_body = [](int status, std::string_view what) {
        return "{\"status\":" + std::to_string(status) + ",\"what\":\"" + std::string(what) + "\"}";
    };
    running_server server(echo, std::move(options));
    const struct {
        std::string text;
        const char* status;
    } cases[] = {
        {"\x16\x03\x01\x02 hello\r\n\r\n", "400"},
        {"GET / HTTP/1.1\r\n\r\n", "400"},
        {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", "431"},
        {"GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n", "431"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "400"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
        {std::string("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 28), "400"},
    };
    for (const auto& one : cases) {
        raw_peer client(server.address());
        client.send(one.text);
        const std::string got = client.read_to_end();
        EXPECT_TRUE(got.starts_with(std::string("HTTP/1.1 ") + one.status))
            << one.text.substr(0, 60) << " -> " << got.substr(0, 60);
        EXPECT_NE(got.find("connection: close"), std::string::npos);
    }
    raw_peer client(server.address());
    client.send("GET\r\n\r\n");
    const std::string got = client.read_to_end();
    EXPECT_NE(got.find("content-type: application/json\r\n"), std::string::npos);
    EXPECT_TRUE(body_of(got).starts_with("{\"status\":400,"));
    raw_peer fine(server.address());
    fine.send(get("/alive"));
    EXPECT_TRUE(fine.read_until("/alive|").starts_with("HTTP/1.1 200"));
}

TEST(server, cleans_what_would_split_a_head) {
    running_server server([](exchange& x) -> task<> {
        const header_field fields[] = {
            {"x-quoted", "a\r\nset-cookie: b\r\n\r\nbody"},
            {"content-length", "999"},
            {"Transfer-Encoding", "chunked"},
            {"Date", "yesterday"},
        };
        co_await x.respond(200, fields, "ok");
    });
    raw_peer client(server.address());
    client.send(get("/", "Connection: close\r\n"));
    const std::string got = client.read_to_end();
    EXPECT_EQ(body_of(got), "ok");
    EXPECT_EQ(got.find("\r\nset-cookie"), std::string::npos);
    EXPECT_EQ(got.find("999"), std::string::npos);
    EXPECT_NE(got.find("Date: yesterday\r\n"), std::string::npos);
    EXPECT_EQ(got.find("date: "), std::string::npos);
}

TEST(server, turns_away_connections_over_the_limit) {
    server_options options;
    options.connections = 2;
    running_server server(echo, std::move(options));
    raw_peer one(server.address());
    raw_peer two(server.address());
    ASSERT_TRUE(eventually([&] { return server.web.connection_count() == 2; }));
    raw_peer three(server.address());
    three.send(get("/"));
    EXPECT_TRUE(three.read_to_end().starts_with("HTTP/1.1 503"));
    one.close();
    ASSERT_TRUE(eventually([&] { return server.web.connection_count() == 1; }));
    raw_peer four(server.address());
    four.send(get("/four"));
    EXPECT_TRUE(four.read_until("/four|").starts_with("HTTP/1.1 200"));
}

TEST(server, ends_slow_heads_idle_connections_and_slow_bodies) {
    server_options options;
    options.head_timeout = 50ms;
    options.keep_alive_timeout = 100ms;
    options.body_timeout = 50ms;
    running_server server(echo, std::move(options));
    raw_peer idle(server.address());
    EXPECT_EQ(idle.read_to_end(), "");
    raw_peer slow(server.address());
    slow.send("GET / HTTP/1.1\r\nHo");
    EXPECT_TRUE(slow.read_to_end().starts_with("HTTP/1.1 408"));
    raw_peer body(server.address());
    body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    EXPECT_TRUE(body.read_to_end().starts_with("HTTP/1.1 400"));
    raw_peer kept(server.address());
    kept.send(get("/"));
    EXPECT_TRUE(kept.read_to_end().starts_with("HTTP/1.1 200"))
        << "answered, then closed when idle";
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
}

TEST(server, survives_handlers_that_throw_or_forget) {
    std::atomic<int> reported = 0;
    server_options options;
    options.on_exception = [&](std::string_view what) { reported += what == "boom" ? 1 : 100; };
    running_server server(
        [](exchange& x) -> task<> {
            if (x.request().target == "/late") {
                x.begin(200, {}, std::nullopt);
                co_await x.write("abc");
            }
            if (x.request().target != "/forget") {
                throw std::runtime_error("boom");
            }
        },
        std::move(options)
    );
    raw_peer early(server.address());
    early.send(get("/"));
    EXPECT_TRUE(early.read_to_end().starts_with("HTTP/1.1 500"));
    raw_peer late(server.address());
    late.send(get("/late"));
    EXPECT_TRUE(late.read_to_end().ends_with("3\r\nabc\r\n"));
    raw_peer forget(server.address());
    forget.send(get("/forget"));
    EXPECT_TRUE(forget.read_to_end().starts_with("HTTP/1.1 500"));
    EXPECT_EQ(reported, 2);
    EXPECT_TRUE(eventually([&] { return server.web.exchange_count() == 0; }));
}

TEST(server, says_who_is_in_the_way) {
    for (const std::size_t threads : {1u, 2u}) {
        io_pool pool(threads);
        server first(pool, {}, echo);
        ASSERT_TRUE(first.start());
        server_options same;
        same.listen = first.address();
        server second(pool, same, echo);
        const auto started = second.start();
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().code, errc::already_exists);
        EXPECT_TRUE(started.error().message.starts_with(first.address()))
            << started.error().message;
    }
    io_pool pool(1);
    server_options nonsense;
    nonsense.listen = "nowhere";
    server bad(pool, nonsense, echo);
    EXPECT_FALSE(bad.start());
}

TEST(server, listens_on_ipv6_and_shares_a_port_between_threads) {
    server_options options;
    options.listen = "[::1]:0";
    io_pool pool(2);
    server six(pool, options, echo);
    if (const auto started = six.start()) {
        EXPECT_TRUE(six.address().starts_with("[::1]:"));
    }
    std::atomic<unsigned> seen = 0;
    running_server shared(
        [&](exchange& x) -> task<> {
            seen |= 1u << x.thread_index();
            co_await x.respond(200, {}, x.peer_address());
        },
        {},
        2
    );
    EXPECT_TRUE(eventually([&] {
        raw_peer client(shared.address());
        client.send(get("/", "Connection: close\r\n"));
        EXPECT_TRUE(body_of(client.read_to_end()).starts_with("127.0.0.1:"));
        return seen == 3;
    }));
}

}  // namespace
}  // namespace sluice::net
