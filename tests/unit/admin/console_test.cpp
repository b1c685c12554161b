// The admin port over real sockets, with a view that the test fills.
#include "admin/console.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace sluice::admin {
namespace {

/// Sends one request and reads until `mark` was seen or the connection ended.
std::string fetch(
    const std::string& address,
    const std::string& target,
    const std::string& method = "GET",
    const std::string& mark = {}
) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval patience{10, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const std::string request =
        method + " " + target + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), ssize_t(request.size()));
    std::string all;
    char piece[4096];
    while (mark.empty() || all.find(mark) == all.npos) {
        const ssize_t got = ::recv(fd, piece, sizeof piece, 0);
        if (got <= 0) {
            break;
        }
        all.append(piece, static_cast<std::size_t>(got));
    }
    ::close(fd);
    return all;
}

class console_test : public ::testing::Test {
protected:
    console_test() : threads(std::make_unique<net::io_pool>(2)) {
        coord::live_view view;
        view.holder = "me";
        view.ready = [this] { return ready.load(); };
        view.metrics = [](std::function<void(std::string)> done) { done("sluice_up 1\n"); };
        coord::live_pool pool;
        pool.name = "p";
        pool.models = {"m"};
        pool.backend = "fake";
        pool.look = [this](std::size_t most, std::function<void(const core::pool_snapshot&)> done) {
            asked_for = most;
            core::pool_snapshot now;
            now.grants_total = ++looks;
            done(now);
        };
        pool.worker = [](std::string_view) { return coord::live_worker{}; };
        view.pools.push_back(pool);
        desk = std::make_unique<console>(*threads, "127.0.0.1:0", std::move(view));
        EXPECT_TRUE(desk->start().has_value());
        address = desk->address();
        runner = std::thread([this] { threads->run(); });
    }
    ~console_test() override {
        threads->stop();
        runner.join();
        desk.reset();
        threads.reset();
    }

    std::unique_ptr<net::io_pool> threads;
    std::atomic<bool> ready{true};
    std::atomic<std::size_t> asked_for{0};
    std::atomic<std::uint64_t> looks{0};
    std::unique_ptr<console> desk;
    std::string address;
    std::thread runner;
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
}

TEST_F(console_test, lists_are_bounded_and_json) {
    const std::string answer = fetch(address, "/api/v1/pools");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    EXPECT_TRUE(has(answer, "content-type: application/json"));
    EXPECT_TRUE(has(answer, R"("name":"p")"));
    EXPECT_EQ(asked_for, listed_at_most);
    for (const char* path : {"/api/v1/workers", "/api/v1/permits", "/api/v1/queue?x=1"}) {
        EXPECT_TRUE(fetch(address, path).ends_with("\r\n\r\n[]")) << path;
    }
}

TEST_F(console_test, health_metrics_and_readiness) {
    EXPECT_TRUE(fetch(address, "/health").starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(fetch(address, "/metrics").ends_with("sluice_up 1\n"));
    EXPECT_TRUE(fetch(address, "/readyz").starts_with("HTTP/1.1 200 "));
    ready = false;
    EXPECT_TRUE(fetch(address, "/readyz").starts_with("HTTP/1.1 503 "));
    EXPECT_TRUE(fetch(address, "/livez").starts_with("HTTP/1.1 200 "));
}

TEST_F(console_test, unknown_paths_and_methods) {
    EXPECT_TRUE(fetch(address, "/api/v1/secrets").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(fetch(address, "/%ff").starts_with("HTTP/1.1 404 "));
    const std::string post = fetch(address, "/api/v1/pools", "POST");
    EXPECT_TRUE(post.starts_with("HTTP/1.1 405 ")) << post;
    EXPECT_TRUE(has(post, "allow: GET, HEAD"));
}

TEST_F(console_test, the_page_has_a_policy) {
    const std::string page = fetch(address, "/");
    EXPECT_TRUE(has(page, "content-security-policy: default-src 'none'")) << page.substr(0, 600);
    EXPECT_TRUE(has(page, "new EventSource('/api/v1/events')"));
}

TEST_F(console_test, changes_are_pushed) {
    const std::string stream = fetch(address, "/api/v1/events", "GET", R"("grants_total":2)");
    EXPECT_TRUE(has(stream, "content-type: text/event-stream"));
    EXPECT_TRUE(has(stream, R"("grants_total":1)"));
    EXPECT_TRUE(has(stream, R"("grants_total":2)")) << stream;
}

}  // namespace
}  // namespace sluice::admin
