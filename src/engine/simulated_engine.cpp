#include "engine/simulated_engine.hpp"

#include <fmt/format.h>

#include <boost/asio/dispatch.hpp>
#include <cmath>

#include "base/assert.hpp"
#include "engine/broken_port.hpp"
#include "engine/service.hpp"

namespace sluice::engine {

namespace asio = net::asio;

namespace {

result<sim::engine_settings> settings_of(const engine_options& options) {
    auto profile = sim::find_engine_profile(options.profile);
    if (!profile) {
        return std::unexpected(profile.error());
    }
    const auto wrong = [](std::string message) {
        return fail(errc::invalid_argument, std::move(message));
    };
    sim::engine_settings settings;
    settings.profile = *profile;
    settings.full = options.when_full;
    settings.slots = options.slots;
    settings.blocks =
        options.kv_tokens ? options.kv_tokens->count() / profile->block : profile->blocks;
    if (options.model.empty()) {
        return wrong("the engine's model has no name; give one with --model");
    }
    if (settings.slots < 1 || settings.slots > profile->batched_tokens) {
        return wrong(fmt::format(
            "--slots {} is out of range; write 1 to {}", settings.slots, profile->batched_tokens
        ));
    }
    if (settings.blocks < 1) {
        return wrong(fmt::format(
            "--kv-tokens {} is less than one block of {} tokens",
            options.kv_tokens->count(),
            profile->block
        ));
    }
    if (!(options.speed >= 0.001 && options.speed <= 1000)) {
        return wrong(fmt::format("--speed {} is out of range; write 0.001 to 1000", options.speed));
    }
    settings.speed_permille = std::llround(options.speed * 1000);
    return settings;
}

}  // namespace

result<sim::when_full> parse_when_full(std::string_view name) {
    if (name == "preempt") {
        return sim::when_full::preempt;
    }
    if (name == "crash") {
        return sim::when_full::crash;
    }
    if (name == "refuse") {
        return sim::when_full::refuse;
    }
    return fail(
        errc::invalid_argument,
        fmt::format("--when-full {} is unknown; write preempt, crash or refuse", name)
    );
}

struct simulated_engine::impl : std::enable_shared_from_this<impl> {
    impl(
        net::io_pool& threads,
        const sim::engine_settings& settings,
        fault_plan faults,
        const engine_options& options
    )
        : pool(threads),
          clock(std::make_shared<driver>(threads.executor_of(0), settings)),
          answers(std::make_shared<service>(options.model, faults, settings, clock)),
          plan(std::move(faults)),
          recovery(std::make_unique<net::steady_timer>(threads.executor_of(0))) {
        server_options.listen = options.listen;
        server_options.on_half_close =
            options.tolerate_half_close ? net::half_close::tolerate : net::half_close::abort;
        server_options.error_body = [](int status, std::string_view what) {
            return error_body(status, status < 500 ? "bad_request" : "internal_error", what);
        };
    }

    result<void> listen() {
        server = std::make_unique<net::server>(
            pool,
            server_options,
            [answers = answers](net::exchange& client) { return answers->handle(client); }
        );
        auto started = server->start();
        if (started && address.empty()) {  // After a recovery other threads may be reading it.
            address = server->address();
        }
        return started;
    }

    result<void> break_port() {
        broken = std::make_unique<broken_port>(pool.executor_of(0));
        if (auto bound = broken->bind(server_options.listen); !bound) {
            return bound;
        }
        address = broken->address();
        if (plan.garbage_status) {
            return broken->answer_garbage();
        }
        if (*plan.refuse_connect != duration::max()) {
            recovery->expires_after(*plan.refuse_connect);
            recovery->async_wait([weak = weak_from_this()](net::error_code failure) {
                if (const auto alive = weak.lock(); alive && !failure) {
                    alive->broken.reset();
                    alive->server_options.listen = alive->address;
                    // Whoever took the port meanwhile has it; the engine then stays away.
                    static_cast<void>(alive->listen());
                }
            });
        }
        return {};
    }

    /// Handlers that never ran may keep this object; nothing in it then belongs to a context.
    void close() {
        recovery.reset();
        broken.reset();
        server.reset();
        clock->close();
    }

    net::io_pool& pool;
    std::shared_ptr<driver> clock;
    std::shared_ptr<service> answers;
    fault_plan plan;
    net::server_options server_options;
    std::unique_ptr<net::server> server;
    std::unique_ptr<broken_port> broken;
    std::unique_ptr<net::steady_timer> recovery;
    std::string address;
};

simulated_engine::simulated_engine(engine_options options) : x_options(std::move(options)) {}

simulated_engine::~simulated_engine() {
    if (x_impl) {
        x_impl->close();
    }
}

result<void> simulated_engine::start(net::io_pool& pool) {
    SLUICE_ASSERT_MSG(!x_impl, "start() is called once");
    const auto settings = settings_of(x_options);
    if (!settings) {
        return std::unexpected(settings.error());
    }
    auto faults = fault_plan::parse(x_options.faults);
    if (!faults) {
        return std::unexpected(faults.error());
    }
    auto state = std::make_shared<impl>(pool, *settings, std::move(*faults), x_options);
    const bool breaks = state->plan.garbage_status || state->plan.refuse_connect;
    if (auto started = breaks ? state->break_port() : state->listen(); !started) {
        return started;
    }
    for (const duration after : state->plan.crashes) {
        state->clock->crash_after(after);
    }
    x_impl = std::move(state);
    return {};
}

std::string simulated_engine::address() const {
    return x_impl ? x_impl->address : std::string();
}

sim::engine_stats simulated_engine::stats() const {
    return x_impl ? x_impl->clock->stats() : sim::engine_stats{};
}

void simulated_engine::stop_accepting() {
    if (!x_impl) {
        return;
    }
    asio::dispatch(x_impl->pool.executor_of(0), [state = x_impl] {
        state->recovery->cancel();
        state->broken.reset();
        if (state->server) {
            state->server->stop_accepting();
        }
    });
}

void simulated_engine::stop() {
    if (!x_impl) {
        return;
    }
    stop_accepting();
    asio::dispatch(x_impl->pool.executor_of(0), [state = x_impl] {
        if (state->server) {
            state->server->abort_all();
        }
    });
}

}  // namespace sluice::engine
