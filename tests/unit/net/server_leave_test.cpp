// Clients that leave, stall or are told to go.
#include <gtest/gtest.h>

#include "net/event.hpp"
#include "net/server.hpp"
#include "support.hpp"

namespace sluice::net {
namespace {

using namespace testing;

/// Waits for its signal (or to be released) and says what it saw.
struct waiting_handler {
    std::atomic<int> running = 0;
    std::atomic<int> gone = 0;
    std::atomic<int> shut_down = 0;
    std::atomic<bool> release = false;
    std::atomic<bool> write_ok = true;

    handler make() {
        return [this](exchange& x) -> task<> {
            co_await x.read_body(bytes(1 << 20));
            ++running;
            event tick(x.get_executor());
            while (!x.signal().aborted() && !release) {
                abort_signal turn;
                deadline soon(x.get_executor(), turn, 0);
                soon.arm(1ms);
                const abort_action both(x.signal(), [&] { turn.fire({abort_kind::shutdown, 0}); });
                co_await tick.wait(turn);
            }
            gone += x.signal().cause().kind == abort_kind::peer_gone;
            shut_down += x.signal().cause().kind == abort_kind::shutdown;
            write_ok = co_await x.respond(200, {}, "released");
        };
    }
};

class leaving : public ::testing::TestWithParam<half_close> {
protected:
    static server_options options() {
        server_options out;
        out.on_half_close = GetParam();
        return out;
    }
};

TEST_P(leaving, a_reset_is_noticed_while_the_handler_waits) {
    waiting_handler handler;
    running_server server(handler.make(), options());
    raw_peer client(server.address());
    client.send(post("x"));
    ASSERT_TRUE(eventually([&] { return handler.running == 1; }));
    const auto start = std::chrono::steady_clock::now();
    client.reset();
    ASSERT_TRUE(eventually([&] { return handler.gone == 1; }));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
    EXPECT_FALSE(handler.write_ok);
}

TEST_P(leaving, a_reset_is_noticed_behind_pipelined_requests) {
    for (const std::size_t requests : {std::size_t{1}, std::size_t{5000}}) {
        waiting_handler handler;
        running_server server(handler.make(), options());
        raw_peer client(server.address());
        client.send(get("/"));
        ASSERT_TRUE(eventually([&] { return handler.running == 1; }));
        std::string more;
        for (std::size_t i = 0; i < requests; ++i) {
            more += get("/more");
        }
        client.send(more);
        client.reset();
        ASSERT_TRUE(eventually([&] { return handler.gone == 1; })) << requests;
        EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
        EXPECT_EQ(handler.running, 1) << "what a gone client had piped behind is not run";
    }
}

TEST_P(leaving, a_half_close_means_what_the_option_says) {
    waiting_handler handler;
    running_server server(handler.make(), options());
    raw_peer client(server.address());
    client.send(get("/"));
    ASSERT_TRUE(eventually([&] { return handler.running == 1; }));
    client.half_close();
    if (GetParam() == half_close::abort) {
        ASSERT_TRUE(eventually([&] { return handler.gone == 1; }));
        EXPECT_EQ(client.read_to_end(), "");
    } else {
        EXPECT_FALSE(client.readable(50ms));
        EXPECT_EQ(handler.gone, 0);
        handler.release = true;
        EXPECT_TRUE(client.read_to_end().ends_with("released"));
        EXPECT_TRUE(handler.write_ok);
    }
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
}

TEST_P(leaving, a_reset_after_a_half_close_is_noticed) {
    waiting_handler handler;
    running_server server(handler.make(), options());
    raw_peer client(server.address());
    client.send(get("/"));
    ASSERT_TRUE(eventually([&] { return handler.running == 1; }));
    client.half_close();
    client.reset();
    EXPECT_TRUE(eventually([&] { return handler.gone == 1; }));
}

TEST_P(leaving, a_client_that_leaves_within_its_body_is_noticed) {
    std::atomic<int> failed = 0;
    running_server server(
        [&](exchange& x) -> task<> {
            const auto body = co_await x.read_body(bytes(1 << 20));
            failed += !body && body.error().code == errc::connection_failed && x.signal().aborted();
        },
        options()
    );
    raw_peer sized(server.address());
    sized.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    sized.half_close();
    EXPECT_TRUE(eventually([&] { return failed == 1; }));
    raw_peer chunked(server.address());
    chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
    chunked.reset();
    EXPECT_TRUE(eventually([&] { return failed == 2; }));
}

TEST_P(leaving, a_reset_before_the_body_is_read_is_noticed) {
    std::atomic<int> running = 0;
    std::atomic<int> gone = 0;
    running_server server(
        [&](exchange& x) -> task<> {
            event never(x.get_executor());
            ++running;
            while (!x.signal().aborted()) {
                co_await never.wait(x.signal());
            }
            ++gone;
        },
        options()
    );
    raw_peer client(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    ASSERT_TRUE(eventually([&] { return running == 1; }));
    client.reset();
    EXPECT_TRUE(eventually([&] { return gone == 1; }));
}

INSTANTIATE_TEST_SUITE_P(
    both_modes, leaving, ::testing::Values(half_close::abort, half_close::tolerate)
);

/// Writes without end and counts what the socket took.
struct flooding_handler {
    std::atomic<std::size_t> written = 0;
    std::atomic<bool> ended = false;

    handler make() {
        return [this](exchange& x) -> task<> {
            const std::string piece(64 * 1024, 'f');
            x.begin(200, {}, std::nullopt);
            while (co_await x.write(piece)) {
                written += piece.size();
            }
            ended = true;
        };
    }
};

TEST(back_pressure, a_client_that_does_not_read_stops_the_producer) {
    flooding_handler handler;
    server_options options;
    options.write_timeout = 10min;
    running_server server(handler.make(), std::move(options));
    raw_peer client(server.address(), 16 * 1024);
    client.send(get("/"));
    // The kernel's buffers fill, then nothing moves: the count stands still.
    std::size_t last = 0;
    int still = 0;
    ASSERT_TRUE(eventually([&] {
        still = handler.written > 0 && handler.written == last ? still + 1 : 0;
        last = handler.written;
        pause();
        return still == 50;
    }));
    EXPECT_LT(last, std::size_t{32} << 20);
    EXPECT_FALSE(handler.ended);
    client.read_some();
    for (int i = 0; i < 400 && handler.written == last; ++i) {
        client.read_some();
    }
    EXPECT_GT(handler.written, last) << "reading lets it go on";
    client.reset();
    EXPECT_TRUE(eventually([&] { return handler.ended.load(); }));
}

TEST(back_pressure, a_write_that_stalls_too_long_ends_the_connection) {
    flooding_handler handler;
    server_options options;
    options.write_timeout = 50ms;
    running_server server(handler.make(), std::move(options));
    raw_peer client(server.address(), 16 * 1024);
    client.send(get("/"));
    EXPECT_TRUE(eventually([&] { return handler.ended.load(); }));
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
}

TEST(back_pressure, a_deadline_ends_a_write_that_stalls) {
    std::atomic<bool> ended = false;
    running_server server([&](exchange& x) -> task<> {
        deadline total(x.get_executor(), x.signal(), 9);
        total.arm(50ms);
        const std::string piece(64 * 1024, 'f');
        x.begin(200, {}, std::nullopt);
        while (co_await x.write(piece)) {
        }
        ended = x.signal().cause().kind == abort_kind::deadline;
    });
    raw_peer client(server.address(), 16 * 1024);
    client.send(get("/"));
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST(stopping, after_a_deadline_the_client_still_gets_its_last_event) {
    running_server server([&](exchange& x) -> task<> {
        event never(x.get_executor());
        deadline idle(x.get_executor(), x.signal(), 1);
        x.begin(200, {}, std::nullopt);
        co_await x.write("first;");
        idle.arm(10ms);
        while (!x.signal().aborted()) {
            co_await never.wait(x.signal());
        }
        co_await x.write("timed out;");
        co_await x.finish();
    });
    raw_peer client(server.address());
    client.send(get("/"));
    const std::string got = client.read_until("0\r\n\r\n");
    EXPECT_NE(got.find("timed out;"), std::string::npos);
}

TEST(stopping, idle_connections_close_and_running_ones_go_on) {
    waiting_handler handler;
    running_server server(handler.make(), {}, 2);
    raw_peer idle(server.address());
    raw_peer busy(server.address());
    busy.send(get("/"));
    ASSERT_TRUE(eventually([&] { return handler.running == 1; }));
    ASSERT_TRUE(eventually([&] { return server.web.connection_count() == 2; }));
    server.web.stop_accepting();
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_EQ(server.web.exchange_count(), 1u);
    handler.release = true;
    const std::string got = busy.read_to_end();
    EXPECT_TRUE(got.ends_with("released"));
    EXPECT_NE(got.find("connection: close"), std::string::npos);
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
    EXPECT_EQ(server.web.exchange_count(), 0u);
    EXPECT_TRUE(eventually([&] { return !accepts(server.address()); }));
}

TEST(stopping, abort_all_reaches_every_exchange) {
    waiting_handler handler;
    running_server server(handler.make(), {}, 2);
    std::vector<raw_peer> clients;
    for (int i = 0; i < 20; ++i) {
        clients.emplace_back(server.address());
        clients.back().send(get("/"));
    }
    ASSERT_TRUE(eventually([&] { return handler.running == 20; }));
    EXPECT_EQ(server.web.exchange_count(), 20u);
    server.web.abort_all();
    EXPECT_TRUE(eventually([&] { return handler.shut_down == 20; }));
    for (raw_peer& one : clients) {
        EXPECT_NE(one.read_until("released").find("200"), std::string::npos);
    }
}

TEST(stopping, a_pool_that_stops_under_load_drops_everything_cleanly) {
    flooding_handler flood;
    waiting_handler wait;
    {
        running_server flooded(flood.make());
        running_server waited(wait.make());
        raw_peer stalled(flooded.address(), 16 * 1024);
        stalled.send(get("/"));
        raw_peer waiting(waited.address());
        waiting.send(get("/"));
        raw_peer in_body(waited.address());
        in_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
        raw_peer idle(waited.address());
        ASSERT_TRUE(eventually([&] { return flood.written > 0 && wait.running == 1; }));
    }
    SUCCEED() << "the leak checker has the last word";
}

TEST(stopping, many_resets_while_others_stream_are_survived) {
    running_server server([](exchange& x) -> task<> {
        x.begin(200, {}, std::nullopt);
        for (int i = 0; i < 200; ++i) {
            if (!co_await x.write("0123456789abcdef")) {
                co_return;
            }
        }
        co_await x.finish();
    });
    for (int round = 0; round < 5; ++round) {
        std::vector<raw_peer> clients;
        for (int i = 0; i < 40; ++i) {
            clients.emplace_back(server.address());
            clients.back().send(get("/", "Connection: close\r\n"));
        }
        for (std::size_t i = 0; i < clients.size(); i += 2) {
            clients[i].reset();
        }
        for (std::size_t i = 1; i < clients.size(); i += 2) {
            const std::string got = clients[i].read_to_end();
            EXPECT_TRUE(got.ends_with("0\r\n\r\n"));
            EXPECT_EQ(
                std::ranges::count(got, 'f'),
                200 + std::ranges::count(got.substr(0, got.find("\r\n\r\n")), 'f')
            );
        }
    }
    EXPECT_TRUE(eventually([&] { return server.web.connection_count() == 0; }));
}

}  // namespace
}  // namespace sluice::net
