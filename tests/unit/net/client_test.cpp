#include "net/client.hpp"

#include <gtest/gtest.h>

#include "net/event.hpp"
#include "support.hpp"

namespace sluice::net {
namespace {

using namespace testing;

/// Everything about one request.
struct answer {
    std::optional<error> failure;
    int status = 0;
    std::string body;
    std::string trailer;
    bool reused = false;
    std::size_t pieces = 0;
};

task<answer> ask(
    client_pool& pool, const endpoint& to, const request_out& request, bool fresh = false
) {
    answer out;
    abort_signal signal;
    auto opened = co_await pool.open(to, 5s, signal, fresh);
    if (!opened) {
        out.failure = opened.error();
        co_return out;
    }
    out.reused = opened->reused();
    if (auto sent = co_await opened->send(request); !sent) {
        out.failure = sent.error();
        co_return out;
    }
    const auto head = co_await opened->read_head();
    if (!head) {
        out.failure = head.error();
        co_return out;
    }
    out.status = (*head)->status;
    for (;;) {
        const auto piece = co_await opened->read_body();
        if (!piece) {
            out.failure = piece.error();
            co_return out;
        }
        if (piece->empty()) {
            break;
        }
        ++out.pieces;
        out.body += *piece;
    }
    if (!opened->trailers().empty()) {
        out.trailer = opened->trailers()[0].value;
    }
    co_return out;
}

TEST(client, talks_to_the_server_and_keeps_connections) {
    running_server server(echo);
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const endpoint to = *parse_endpoint(server.address());
        const header_field extra{"x-extra", "1"};
        for (int i = 0; i < 20; ++i) {
            const std::string text = "body " + std::to_string(i);
            const answer got = co_await ask(pool, to, {"POST", "/t", {&extra, 1}, text});
            EXPECT_FALSE(got.failure) << got.failure->message;
            EXPECT_EQ(got.status, 200);
            EXPECT_EQ(got.body, "/t|" + text);
            EXPECT_EQ(got.reused, i > 0);
        }
        EXPECT_EQ(server.web.connection_count(), 1u);
        const answer fresh = co_await ask(pool, to, {"GET", "/", {}, {}}, true);
        EXPECT_FALSE(fresh.reused);
    });
}

TEST(client, carries_large_bodies_with_back_pressure_on_both_sides) {
    running_server server([](exchange& x) -> task<> {
        const auto body = co_await x.read_body(bytes(64 << 20));
        x.begin(200, {}, std::nullopt);
        for (std::size_t at = 0; at < body->size(); at += 100'000) {
            co_await x.write(body->substr(at, 100'000));
        }
        co_await x.finish();
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        std::string big(20 << 20, '\0');
        for (std::size_t i = 0; i < big.size(); ++i) {
            big[i] = static_cast<char>(i * 31 + i / 1000);
        }
        const answer got =
            co_await ask(pool, *parse_endpoint(server.address()), {"POST", "/", {}, big});
        EXPECT_FALSE(got.failure) << got.failure->message;
        EXPECT_TRUE(got.body == big);
    });
}

TEST(client, receives_the_trailers_that_the_server_sends) {
    running_server server([](exchange& x) -> task<> {
        const header_field announced{"trailer", "x-report"};
        const header_field report{"x-report", "kv=1\r\n2"};
        x.begin(200, {&announced, 1}, std::nullopt);
        co_await x.write("first");
        co_await x.finish(x.request().target == "/last" ? "last" : "", {&report, 1});
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const endpoint to = *parse_endpoint(server.address());
        for (const char* target : {"/", "/last", "/"}) {
            const answer got = co_await ask(pool, to, {"GET", target, {}, {}});
            EXPECT_FALSE(got.failure);
            EXPECT_EQ(got.body, target == std::string_view("/last") ? "firstlast" : "first");
            EXPECT_EQ(got.trailer, "kv=1  2");
        }
        EXPECT_EQ(server.web.connection_count(), 1u);
    });
}

/// One answer per connection, as given, then the end of the connection.
answer answer_to(
    const std::string& response, std::string_view method = "GET", bool keep_open = false
) {
    answer out;
    raw_server server([&](raw_peer& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send(response);
        if (keep_open) {
            peer.read_some();
        }
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        out = co_await ask(pool, *parse_endpoint(server.address()), {method, "/", {}, {}});
    });
    return out;
}

TEST(client, reads_every_kind_of_framing) {
    EXPECT_EQ(
        answer_to("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "GET", true).body, "abc"
    );
    EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\n\r\nto the end").body, "to the end");
    EXPECT_EQ(answer_to("HTTP/1.0 200 OK\r\n\r\nold").body, "old");
    EXPECT_EQ(answer_to("HTTP/1.1 204 No Content\r\n\r\n", "GET", true).status, 204);
    EXPECT_EQ(
        answer_to("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "GET", true).status, 304
    );
    EXPECT_EQ(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HEAD", true).status, 200);
    const answer interim = answer_to(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "GET",
        true
    );
    EXPECT_EQ(interim.status, 200);
    EXPECT_EQ(interim.body, "ok");
    const answer trailer = answer_to(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-R: report\r\n\r\n",
        "GET",
        true
    );
    EXPECT_EQ(trailer.body, "abc");
    EXPECT_EQ(trailer.trailer, "report");
}

TEST(client, joins_the_chunks_of_one_read) {
    std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 50; ++i) {
        text += "3\r\nab\n\r\n";
    }
    const answer got = answer_to(text + "0\r\n\r\n", "GET", true);
    EXPECT_EQ(got.body.size(), 150u);
    EXPECT_LE(got.pieces, 3u) << "one piece a read, not one a chunk";
}

TEST(client, tells_a_broken_end_from_a_proper_one) {
    for (const char* response : {
             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
             "HTTP/1.1 200 OK\r\nConte",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
             "SSH-2.0-OpenSSH_9.2\r\n",
             "HTTP/1.1 abc OK\r\n\r\n",
         }) {
        const answer got = answer_to(response);
        ASSERT_TRUE(got.failure) << response;
        EXPECT_EQ(got.failure->code, errc::protocol_error) << response << got.failure->message;
    }
    const answer silent = answer_to("");
    ASSERT_TRUE(silent.failure);
    EXPECT_EQ(silent.failure->code, errc::connection_failed);
}

TEST(client, gives_up_on_a_status_line_without_end) {
    for (const std::string& garbage :
         {std::string(1 << 20, 'x'),
          "HTTP/1.1 200 " + std::string(1 << 20, 'x'),
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(1 << 20, 'x'),
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " +
              std::string(1 << 20, 'x')}) {
        const answer got = answer_to(garbage);
        ASSERT_TRUE(got.failure);
        EXPECT_EQ(got.failure->code, errc::protocol_error) << got.failure->message;
    }
}

TEST(client, reads_a_chunked_response_cut_in_two_anywhere) {
    const std::string whole =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-R: t\r\n\r\n";
    raw_server server([&](raw_peer& peer, int) {
        for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
            if (peer.read_until("\r\n\r\n").empty()) {
                return;
            }
            peer.send(whole.substr(0, cut));
            if (cut % 5 == 0) {
                pause();  // now and then the pieces arrive apart
            }
            peer.send(whole.substr(cut));
        }
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const endpoint to = *parse_endpoint(server.address());
        for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
            const answer got = co_await ask(pool, to, {"GET", "/", {}, {}});
            EXPECT_FALSE(got.failure) << cut << got.failure->message;
            EXPECT_EQ(got.body, "hello world") << cut;
            EXPECT_EQ(got.trailer, "t") << cut;
            EXPECT_EQ(got.reused, cut > 0);
        }
    });
}

TEST(client, does_not_reuse_what_ended_or_was_left_unread) {
    std::atomic<int> accepted = 0;
    raw_server server([&](raw_peer& peer, int nth) {
        ++accepted;
        peer.read_until("\r\n\r\n");
        switch (nth) {
            case 0:
                peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na");
                break;
            case 1:
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nbtoo much");
                break;
            case 2:
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nc");  // and closes
                break;
            default:
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nd");
                peer.read_some();
        }
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const endpoint to = *parse_endpoint(server.address());
        for (const char* body : {"a", "b", "c", "d"}) {
            // The third connection's end must have come before it is tried again.
            while (body[0] == 'd' && accepted < 3) {
                std::this_thread::yield();
            }
            const answer got = co_await ask(pool, to, {"GET", "/", {}, {}});
            if (got.reused && got.failure) {
                EXPECT_EQ(got.failure->code, errc::connection_failed);
                continue;  // the race that a retry covers (B27)
            }
            EXPECT_FALSE(got.failure) << got.failure->message;
            EXPECT_EQ(got.body, body);
            EXPECT_FALSE(got.reused);
        }
    });
}

TEST(client, a_stale_pooled_connection_is_noticed_or_reported_as_reused) {
    raw_server server([&](raw_peer& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
        peer.read_until("\r\n\r\n");  // takes the second request and closes without a byte
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        abort_signal signal;
        const endpoint to = *parse_endpoint(server.address());
        EXPECT_EQ((co_await ask(pool, to, {"GET", "/", {}, {}})).body, "a");
        auto second = co_await pool.open(to, 1s, signal);
        EXPECT_TRUE(second->reused());
        EXPECT_TRUE(co_await second->send({"GET", "/", {}, {}}));
        const auto head = co_await second->read_head();
        EXPECT_FALSE(head);
        EXPECT_EQ(head.error().code, errc::connection_failed);
        EXPECT_FALSE(second->received_any());
        const answer again = co_await ask(pool, to, {"GET", "/", {}, {}}, true);
        EXPECT_EQ(again.body, "a");
    });
}

TEST(client, drops_idle_connections_after_their_time) {
    running_server server(echo);
    run([&](executor where) -> task<> {
        client_options options;
        options.idle_timeout = 20ms;
        client_pool pool(where, options);
        co_await ask(pool, *parse_endpoint(server.address()), {"GET", "/", {}, {}});
        event tick(where);
        while (server.web.connection_count() > 0) {
            abort_signal turn;
            deadline soon(where, turn, 0);
            soon.arm(2ms);
            co_await tick.wait(turn);
        }
    });
    EXPECT_EQ(server.web.connection_count(), 0u);
}

TEST(client, keeps_no_more_idle_connections_than_allowed) {
    running_server server(echo);
    run([&](executor where) -> task<> {
        client_options options;
        options.idle_per_endpoint = 2;
        client_pool pool(where, options);
        const endpoint to = *parse_endpoint(server.address());
        {
            abort_signal signal;
            std::vector<upstream> open;
            for (int i = 0; i < 5; ++i) {
                open.push_back(std::move(*co_await pool.open(to, 1s, signal)));
                EXPECT_TRUE(co_await open.back().send({"GET", "/", {}, {}}));
                EXPECT_TRUE(co_await open.back().read_head());
                while (!(co_await open.back().read_body())->empty()) {
                }
            }
            EXPECT_EQ(server.web.connection_count(), 5u);
        }
        event tick(where);
        while (server.web.connection_count() > 2) {
            abort_signal turn;
            deadline soon(where, turn, 0);
            soon.arm(2ms);
            co_await tick.wait(turn);
        }
        EXPECT_EQ(server.web.connection_count(), 2u);
    });
}

TEST(client, names_what_it_could_not_reach) {
    run([](executor where) -> task<> {
        client_pool pool(where);
        abort_signal signal;
        const auto refused = co_await pool.open({"127.0.0.1", "1"}, 2s, signal);
        EXPECT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::connection_failed);
        EXPECT_NE(
            refused.error().message.find("127.0.0.1:1: Connection refused"), std::string::npos
        ) << refused.error().message;
        const auto unknown = co_await pool.open({"no-such-host.invalid", "1"}, 5s, signal);
        EXPECT_FALSE(unknown);
        EXPECT_EQ(unknown.error().code, errc::connection_failed);
    });
}

TEST(client, connecting_ends_in_time_and_when_given_up) {
    // A listener whose queue is full answers no SYN.
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(listener, 0), 0);
    socklen_t size = sizeof at;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
    const std::string port = std::to_string(ntohs(at.sin_port));
    run([&](executor where) -> task<> {
        client_pool pool(where);
        abort_signal signal;
        std::vector<upstream> fill;
        std::optional<error> failure;
        for (int i = 0; i < 10 && !failure; ++i) {
            auto opened = co_await pool.open({"127.0.0.1", port}, 100ms, signal, true);
            if (opened) {
                fill.push_back(std::move(*opened));
            } else {
                failure = opened.error();
            }
        }
        EXPECT_TRUE(failure);
        EXPECT_EQ(failure->code, errc::connection_failed);
        EXPECT_NE(failure->message.find("within 100 ms"), std::string::npos) << failure->message;
        deadline stop(where, signal, 1);
        stop.arm(20ms);
        const auto given_up = co_await pool.open({"127.0.0.1", port}, 1min, signal, true);
        EXPECT_FALSE(given_up);
        EXPECT_EQ(given_up.error().code, errc::cancelled);
    });
    ::close(listener);
}

TEST(client, close_ends_a_pending_read_with_cancelled) {
    raw_server server([&](raw_peer& peer, int nth) {
        peer.read_until("\r\n\r\n");
        if (nth == 1) {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        }
        EXPECT_EQ(peer.read_some(), "") << "the worker sees the end";
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const endpoint to = *parse_endpoint(server.address());
        for (int nth = 0; nth < 2; ++nth) {
            abort_signal signal;
            auto opened = co_await pool.open(to, 1s, signal);
            EXPECT_TRUE(co_await opened->send({"GET", "/", {}, {}}));
            deadline stop(where, signal, 1);
            const abort_action close(signal, [&] { opened->close(); });
            stop.arm(10ms);
            if (nth == 1) {
                EXPECT_TRUE(co_await opened->read_head());
                EXPECT_EQ(*co_await opened->read_body(), "abc");
                const auto rest = co_await opened->read_body();
                EXPECT_FALSE(rest);
                EXPECT_EQ(rest.error().code, errc::cancelled);
            } else {
                const auto head = co_await opened->read_head();
                EXPECT_FALSE(head);
                EXPECT_EQ(head.error().code, errc::cancelled);
            }
        }
    });
}

TEST(client, an_early_refusal_is_read_although_the_request_was_cut) {
    raw_server server([&](raw_peer& peer, int) {
        peer.read_until("\r\n\r\n");
        peer.send(
            "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
        );
        // Closes with the request unread: the kernel resets the connection.
    });
    run([&](executor where) -> task<> {
        client_pool pool(where);
        const std::string big(30 << 20, 'x');
        const answer got =
            co_await ask(pool, *parse_endpoint(server.address()), {"POST", "/", {}, big});
        if (got.failure) {
            EXPECT_EQ(got.failure->code, errc::connection_failed);  // the reset came first
        } else {
            EXPECT_EQ(got.status, 413);
        }
    });
}

TEST(client, an_upstream_outlives_its_pool) {
    running_server server(echo);
    run([&](executor where) -> task<> {
        abort_signal signal;
        std::optional<client_pool> pool(where);
        auto opened = co_await pool->open(*parse_endpoint(server.address()), 1s, signal);
        pool.reset();
        EXPECT_TRUE(co_await opened->send({"GET", "/late", {}, {}}));
        EXPECT_TRUE(co_await opened->read_head());
        EXPECT_EQ(*co_await opened->read_body(), "/late|");
        EXPECT_TRUE(opened->complete());
    });
}

}  // namespace
}  // namespace sluice::net
