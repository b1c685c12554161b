// A running engine with its threads, and short ways to ask it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "engine/simulated_engine.hpp"
#include "unit/engine/raw_http.hpp"

namespace sluice::engine::test {

inline engine_options fast_options() {
    engine_options options;
    options.listen = "127.0.0.1:0";
    options.model = "m";
    options.profile = "fast";
    options.speed = 20;
    options.slots = 8;
    options.kv_tokens = tokens(16'000);
    return options;
}

class running_engine {
public:
    explicit running_engine(engine_options options = fast_options(), std::size_t threads = 1)
        : x_pool(threads), x_engine(std::move(options)) {
        const auto started = x_engine.start(x_pool);
        if (!started) {
            ADD_FAILURE() << started.error().message;
            return;
        }
        x_thread = std::jthread([this] { x_pool.run(); });
    }
    ~running_engine() {
        x_engine.stop();
        x_pool.stop();
    }

    simulated_engine& operator*() { return x_engine; }
    std::string address() const { return x_engine.address(); }
    raw_connection connect() const { return raw_connection(x_engine.address()); }

    raw_response post(std::string_view path, std::string_view body) const {
        raw_connection connection = connect();
        connection.post(path, body);
        return connection.response();
    }
    raw_response get(std::string_view path) const {
        raw_connection connection = connect();
        connection.get(path);
        return connection.response();
    }
    std::int64_t stat(std::string_view name) const {
        return boost::json::parse(get("/stats").body).at(name).to_number<std::int64_t>();
    }
    /// Asks again and again; false after ten seconds.
    template <class Condition>
    bool eventually(Condition&& holds) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < end) {
            if (holds()) {
                return true;
            }
        }
        return false;
    }
    bool eventually_stat(std::string_view name, std::int64_t value) const {
        return eventually([&] { return stat(name) == value; });
    }

private:
    net::io_pool x_pool;
    simulated_engine x_engine;
    std::jthread x_thread;  // joined first
};

/// A chat request for `output` tokens.
inline std::string chat(std::int64_t output, bool stream, std::string_view more = {}) {
    return R"({"model":"m","messages":[{"role":"user","content":"how far is the sea"}],"stream":)" +
           std::string(stream ? "true" : "false") +
           ",\"sluice_sim_output\":" + std::to_string(output) + std::string(more) + "}";
}

inline std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
        found += 1;
    }
    return found;
}

/// Number of events that carry text.
inline std::size_t token_events(std::string_view body) {
    return count(body, R"("delta":{"content":)") + count(body, R"("text":" )");
}

}  // namespace sluice::engine::test
