#include "lab/bench_upstream.hpp"

#include <array>
#include <thread>

#include "net/alarm.hpp"
#include "net/event.hpp"
#include "net/io_pool.hpp"
#include "net/server.hpp"

namespace sluice::lab {

namespace {

constexpr int events = 50;
constexpr bytes most_body = bytes(1 << 23);
constexpr std::size_t looked_at = 128;
constexpr auto held = std::chrono::milliseconds(20);

std::string plain_answer() {
    std::string text = R"({"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m",)"
                       R"("choices":[{"index":0,"finish_reason":"stop","message":)"
                       R"({"role":"assistant","content":")";
    text.append(280, 'x');
    text += R"("}}],"usage":{"prompt_tokens":9,"completion_tokens":50,"total_tokens":59}})";
    return text;
}

std::string event_text(int number) {
    if (number == events - 1) {
        return "data: [DONE]\n\n";
    }
    const bool last = number == events - 2;
    return std::string(R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk",)") +
           R"("created":1,"model":"m","choices":[{"index":0,"delta":{"content":" token"},)" +
           R"("finish_reason":)" + (last ? R"("stop")" : "null") + "}]}\n\n";
}

/// Until the client leaves or `limit` is over.
net::task<> hold(net::exchange& request, duration limit) {
    net::event over(request.get_executor());
    net::alarm end(request.get_executor(), [&over] { over.set(); });
    end.arm(limit);
    co_await over.wait(request.signal());
}

net::task<void> answer(net::exchange& request) {
    const auto body = co_await request.read_body(most_body);
    if (!body) {
        co_return;
    }
    const std::string_view begin = body->substr(0, looked_at);
    const auto says = [begin](std::string_view what) {
        return begin.find(what) != std::string_view::npos;
    };
    if (says(R"("model":"held")")) {
        co_await hold(request, held);
    }
    if (!says(R"("stream":true)")) {
        static const std::string text = plain_answer();
        const std::array fields = {net::header_field{"content-type", "application/json"}};
        co_await request.respond(200, fields, text);
        co_return;
    }
    const std::array fields = {net::header_field{"content-type", "text/event-stream"}};
    request.begin(200, fields, std::nullopt);
    if (says(R"("model":"quiet")")) {
        co_await request.write(event_text(0));
        co_await hold(request, std::chrono::hours(1));
        co_return;
    }
    for (int number = 0; number < events; ++number) {
        if (!co_await request.write(event_text(number))) {
            co_return;
        }
    }
    co_await request.finish();
}

}  // namespace

struct bench_upstream::impl {
    net::io_pool pool{1};
    net::server server{pool, net::server_options{}, answer};
    std::jthread thread;
};

bench_upstream::bench_upstream() : x_impl(std::make_unique<impl>()) {}

bench_upstream::~bench_upstream() {
    x_impl->pool.stop();
}

result<void> bench_upstream::start() {
    auto started = x_impl->server.start();
    if (started) {
        x_impl->thread = std::jthread([pool = &x_impl->pool] { pool->run(); });
    }
    return started;
}

std::string bench_upstream::address() const {
    return x_impl->server.address();
}

}  // namespace sluice::lab
