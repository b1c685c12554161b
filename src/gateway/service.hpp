// The gateway as one object: data port, pools with their queues, workers, drain.
//
// Used by the verbs `gateway` and `demo`, which own the io_pool, the signals and the wiring.
//
//  1. start() comes once, from outside the io_pool's threads, before or after io_pool::run(). When
//     it returns, the ports are bound and the line {"msg":"listening",…} is logged; requests are
//     served as soon as the io_pool runs.
//  2. After drain()'s callback no request runs and no permit is held.
//  3. The service outlives io_pool::run() and is destroyed before the io_pool.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "coord/live_view.hpp"
#include "coord/ports.hpp"
#include "core/scheduler.hpp"
#include "gateway/auth.hpp"
#include "net/io_pool.hpp"
#include "obs/log.hpp"

namespace sluice::gateway {

/// A second port that shows the gateway: where it listens, and what keeps it open.
struct side_port {
    std::string address;
    std::shared_ptr<void> keep;
};

/// What the gateway must not name itself. The app fills it in:
///     w.open_pool = coord::open_pool;
///     w.open_admin = admin::open_console's address and handle
struct wiring {
    /// Opens the pool behind a backend address; `sink` outlives the ports.
    std::function<result<coord::pool_ports>(
        std::string_view address,
        net::executor where,
        const core::scheduler_config& config,
        coord::outcome_sink& sink
    )>
        open_pool;
    /// Opens the admin port on `listen`. Empty: there is none.
    std::function<
        result<side_port>(net::io_pool& pool, std::string_view listen, coord::live_view view)>
        open_admin;
    /// Reads keys from the environment and from files. Empty: a configuration that names such a key
    /// does not start.
    secret_reader read_secret;
    /// Where lines go. Null: stderr, as `log:` of the configuration says.
    std::shared_ptr<obs::logger> log;
    /// After drain(): how long running answers may still take.
    duration grace = std::chrono::seconds(30);
};

class service {
public:
    service(config::gateway_config config, net::io_pool& pool, wiring parts);
    ~service();
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    /// Reads from the engines what the configuration leaves out (slots, memory, model; at most two
    /// seconds), registers the workers, opens the pools, binds the ports. An unreachable worker is
    /// a warning when its pool names its models, and an error when nothing is known of it.
    result<void> start();

    /// "127.0.0.1:40123"; empty before start() (and without an admin port).
    std::string data_address() const;
    std::string admin_address() const;

    /// Thread-safe. Readiness turns 503 at once, waiting and new requests are refused `draining`,
    /// running ones go on for at most the grace, then get an error event. `done` runs once, on
    /// context 0, when nothing runs any more. Later calls only replace `done`.
    void drain(std::function<void()> done);
    /// Thread-safe. Ends the grace now: running answers get an error event (second signal).
    void hurry();
    bool draining() const;

    /// Thread-safe, after start(). Reads the keys of clients and workers and all certificates
    /// again; requests that are already in go on. What cannot be read is logged, and the old ones
    /// stay.
    void read_secrets_again();

    /// The same view that the admin port has.
    coord::live_view view();

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::gateway
