#include "gateway/service.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "gateway/certificates.hpp"
#include "gateway/hall.hpp"
#include "gateway/pipeline.hpp"
#include "gateway/worker_setup.hpp"
#include "gateway/worker_watch.hpp"
#include "net/server.hpp"

namespace sluice::gateway {

namespace {

constexpr duration look_every = std::chrono::milliseconds(20);
/// How long answers may take to end after they were told to.
constexpr duration farewell = std::chrono::milliseconds(500);

std::int64_t wall_micros() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

obs::log_options log_options_of(const config::log_options& from) {
    obs::log_options to;
    to.least = static_cast<obs::level>(from.level);
    to.format =
        from.format == config::log_format::text ? obs::log_format::text : obs::log_format::json;
    return to;
}

/// Of an answer that the server gives before a request has begun, or after its handler failed.
openai::reason reason_of(int status) {
    return status == 503   ? openai::reason::draining
           : status == 500 ? openai::reason::upstream_error
                           : openai::reason::bad_request;
}

net::server_options server_options_of(const config::gateway_config& from) {
    net::server_options to;
    to.listen = from.listen;
    to.header_bytes = from.limits.header_bytes;
    to.connections = static_cast<std::size_t>(from.limits.connections);
    to.head_timeout = from.limits.header_timeout;
    to.body_timeout = from.limits.body_timeout;
    to.write_timeout = from.limits.write_timeout;
    to.keep_alive_timeout = from.limits.keep_alive_timeout;
    to.on_half_close = from.client_half_close == config::half_close_policy::tolerate
                           ? net::half_close::tolerate
                           : net::half_close::abort;
    to.error_body = [](int status, std::string_view what) {
        return openai::error_body(reason_of(status), what, {}, {}, status);
    };
    to.error_field = [](int status) {
        return net::header_field{"x-sluice-reason", openai::to_string(reason_of(status))};
    };
    return to;
}

core::scheduler_config scheduler_config_of(
    const config::pool_options& from,
    const config::coordination_options& coordination,
    fencing_token floor
) {
    core::scheduler_config to;
    to.max_length = static_cast<std::size_t>(from.queue.max_length);
    to.max_bytes = from.queue.max_bytes;
    to.ageing = from.queue.ageing;
    to.max_bypass = static_cast<std::uint32_t>(from.queue.max_bypass);
    to.low_share = static_cast<std::uint32_t>(from.queue.low_share.value_or(0));
    to.heartbeat = coordination.heartbeat;
    to.token_floor = floor;
    return to;
}

}  // namespace

struct service::impl : std::enable_shared_from_this<impl> {
    impl(config::gateway_config from, net::io_pool& pool, wiring with)
        : io(pool),
          parts(std::move(with)),
          timer(std::make_unique<net::steady_timer>(pool.executor_of(0))) {
        if (!parts.log) {
            parts.log = std::make_shared<obs::logger>(log_options_of(from.log));
        }
        config = std::move(from);
    }

    net::io_pool& io;
    wiring parts;
    config::gateway_config config;
    std::shared_ptr<hall> inside;
    std::shared_ptr<certificates> known_certificates;
    std::unique_ptr<net::server> server;
    side_port admin;
    session_id session{};

    std::mutex mutex;            // guards done
    std::function<void()> done;  // of drain()
    std::atomic<bool> hurried{false};

    // On context 0:
    std::unique_ptr<net::steady_timer> timer;
    bool draining = false;
    bool aborted = false;
    bool quiet = false;  // nothing ran at the last look
    std::chrono::steady_clock::time_point grace_end;

    result<void> open_pool(pool& one, pool_setup setup, std::int64_t now);
    result<void> open_certificates(const std::vector<pool_setup>& setups);
    result<void> open_ports();
    void say_listening(std::size_t workers);
    void drain_on_strand();
    void look_again();
    void look();
    void end_drain();
    coord::live_view view();
};

result<void> service::impl::open_pool(pool& one, pool_setup setup, std::int64_t now) {
    const auto& coordination = config.coordination;
    hub_options options;
    options.session = session;
    options.cut_on_loss = coordination.on_permit_loss == config::permit_loss::cut;
    options.on_trouble = [to = &one](const std::shared_ptr<const coord::worker_info>& worker) {
        to->watch->trouble_on_strand(*worker);
    };
    one.hub = admission_hub::make(io, std::move(options));
    auto ports = parts.open_pool(
        coordination.admission.value_or(coordination.backend),
        io.executor_of(0),
        scheduler_config_of(
            one.options, coordination, fencing_token{static_cast<std::uint64_t>(now)}
        ),
        *one.hub
    );
    if (!ports) {
        return fail(
            ports.error().code,
            fmt::format("pool '{}': {}", one.options.name, ports.error().message)
        );
    }
    one.ports = *std::move(ports);
    one.hub->attach(one.ports.admission);
    if (setup.max_model_len && !one.options.context) {
        one.context = *setup.max_model_len;
    }
    if (one.options.models.empty()) {
        one.options.models = std::move(setup.models);
    }
    one.watch = std::make_shared<worker_watch>(
        io.executor_of(0),
        one.options.name,
        std::move(setup.workers),
        one.ports.registry,
        parts.log,
        [weak = std::weak_ptr(inside)](const std::string& id) {
            const auto in = weak.lock();
            return in ? std::string(in->thread(0).known->of_worker(id)) : std::string();
        }
    );
    boost::asio::post(io.executor_of(0), [watch = one.watch] { watch->start_on_strand(); });
    inside->list_models(one);
    return {};
}

result<void> service::impl::open_certificates(const std::vector<pool_setup>& setups) {
    std::vector<net::tls_client_files> of_workers;
    for (const pool_setup& pool : setups) {
        for (const watched_worker& one : pool.workers) {
            if (one.address.tls) {
                of_workers.push_back(one.address.tls->files());
            }
        }
    }
    auto opened =
        certificates::open(config.tls, of_workers, io.executor_of(0), inside->metrics, parts.log);
    if (!opened) {
        return std::unexpected(std::move(opened.error()));
    }
    known_certificates = *std::move(opened);
    return {};
}

result<void> service::impl::open_ports() {
    net::server_options options = server_options_of(config);
    options.tls = known_certificates->of_port();
    options.on_handshake_failure = [to = known_certificates](
                                       std::string_view peer, std::string_view why
                                   ) { to->handshake_failed(peer, why); };
    options.on_exception = [log = parts.log](std::string_view what) {
        log->write(obs::log_line(obs::level::error, "a request handler threw").text("what", what));
    };
    server = std::make_unique<net::server>(
        io, std::move(options), [in = inside](net::exchange& with) { return handle(*in, with); }
    );
    if (auto started = server->start(); !started) {
        return started;
    }
    if (!parts.open_admin) {
        return {};
    }
    auto opened = parts.open_admin(io, config.admin, view());
    if (!opened) {
        return std::unexpected(std::move(opened.error()));
    }
    admin = *std::move(opened);
    return {};
}

void service::impl::say_listening(std::size_t workers) {
    parts.log->write(obs::log_line(obs::level::info, "listening")
                         .text("listen", server->address())
                         .text("admin", admin.address)
                         .text("version", SLUICE_VERSION)
                         .text("backend", config.coordination.backend)
                         .number("pools", static_cast<std::int64_t>(inside->pools.size()))
                         .number("workers", static_cast<std::int64_t>(workers)));
}

coord::live_view service::impl::view() {
    coord::live_view all;
    all.holder = fmt::format("{:x}", static_cast<std::uint64_t>(session));
    all.ready = [in = inside] { return !in->draining.load(std::memory_order_relaxed); };
    all.metrics = [in = inside](std::function<void(std::string)> to) {
        in->read_metrics(std::move(to));
    };
    for (const auto& one : inside->pools) {
        coord::live_pool& to = all.pools.emplace_back();
        to.name = one->options.name;
        to.models = one->options.models;
        for (const auto& [alias, model] : one->options.aliases) {
            to.models.push_back(alias);
        }
        to.backend = one->ports.admission->record().name;
        to.look = [hub = one->hub](std::size_t most, admission_hub::snapshot_reader done_) {
            hub->look(most, std::move(done_));
        };
        to.worker = [watch = one->watch](std::string_view id) { return watch->note_of(id); };
    }
    return all;
}

void service::impl::drain_on_strand() {
    if (std::exchange(draining, true)) {
        return;
    }
    grace_end = std::chrono::steady_clock::now() + parts.grace;
    parts.log->write(obs::log_line(obs::level::info, "draining")
                         .number("running", inside->running.load())
                         .real("grace_s", std::chrono::duration<double>(parts.grace).count()));
    look_again();
}

void service::impl::look_again() {
    timer->expires_after(look_every);
    timer->async_wait([weak = weak_from_this()](net::error_code failed) {
        const auto self = weak.lock();
        if (self && !failed) {
            self->look();
        }
    });
}

void service::impl::look() {
    const auto now = std::chrono::steady_clock::now();
    if (!aborted && (hurried || now >= grace_end)) {
        aborted = true;
        grace_end = now;
        server->abort_all();
    }
    if (aborted && now >= grace_end + farewell) {
        end_drain();
        return;
    }
    // Twice in a row: the last releases of other threads have reached the strand by then.
    const bool quiet_before = std::exchange(quiet, inside->running.load() == 0);
    if (quiet && quiet_before) {
        end_drain();
        return;
    }
    look_again();
}

void service::impl::end_drain() {
    server->stop_accepting();
    parts.log->write(
        obs::log_line(obs::level::info, "drained").number("cut", inside->running.load())
    );
    const std::lock_guard lock(mutex);
    if (done) {
        std::exchange(done, nullptr)();
    }
}

service::service(config::gateway_config config, net::io_pool& pool, wiring parts)
    : x_impl(std::make_shared<impl>(std::move(config), pool, std::move(parts))) {}

service::~service() {
    impl& self = *x_impl;
    self.admin = {};
    self.server.reset();
    self.known_certificates.reset();
    self.timer.reset();
    if (!self.inside) {
        return;
    }
    self.inside->close();
}

result<void> service::start() {
    impl& self = *x_impl;
    const std::int64_t now = wall_micros();
    self.session = session_id{static_cast<std::uint64_t>(now)};
    const worker_epoch epoch{static_cast<std::uint64_t>(now)};
    auto known = read_secrets(self.config, self.parts.read_secret);
    if (!known) {
        return std::unexpected(std::move(known.error()));
    }
    auto setups = set_up_workers(self.config, **known, epoch, *self.parts.log);
    if (!setups) {
        return std::unexpected(std::move(setups.error()));
    }
    self.inside = std::make_shared<hall>(self.config, self.io, self.parts.log, *std::move(known));
    if (auto opened = self.open_certificates(*setups); !opened) {
        return opened;
    }
    std::size_t workers = 0;
    for (std::size_t i = 0; i < setups->size(); ++i) {
        workers += (*setups)[i].workers.size();
        if (auto opened = self.open_pool(*self.inside->pools[i], std::move((*setups)[i]), now);
            !opened) {
            return opened;
        }
    }
    if (auto opened = self.open_ports(); !opened) {
        return opened;
    }
    self.say_listening(workers);
    return {};
}

std::string service::data_address() const {
    return x_impl->server ? x_impl->server->address() : std::string();
}

std::string service::admin_address() const {
    return x_impl->admin.address;
}

void service::drain(std::function<void()> done) {
    {
        const std::lock_guard lock(x_impl->mutex);
        x_impl->done = std::move(done);
    }
    if (x_impl->inside->draining.exchange(true)) {
        return;
    }
    for (const auto& one : x_impl->inside->pools) {
        one->hub->drain();
    }
    boost::asio::post(x_impl->io.executor_of(0), [self = x_impl] { self->drain_on_strand(); });
}

void service::hurry() {
    x_impl->hurried = true;
}

bool service::draining() const {
    return x_impl->inside && x_impl->inside->draining.load(std::memory_order_relaxed);
}

void service::read_secrets_again() {
    impl& self = *x_impl;
    self.known_certificates->read_again();
    auto read = read_secrets(self.config, self.parts.read_secret);
    if (!read) {
        self.parts.log->write(
            obs::log_line(obs::level::error, "the keys cannot be read again; the old ones stay")
                .text("why", read.error().message)
        );
        return;
    }
    for (std::size_t i = 0; i < self.io.size(); ++i) {
        boost::asio::post(self.io.executor_of(i), [in = self.inside, i, known = *read] {
            in->thread(i).known = known;
        });
    }
    self.parts.log->write(obs::log_line(obs::level::info, "keys read again"));
}

coord::live_view service::view() {
    return x_impl->view();
}

}  // namespace sluice::gateway
