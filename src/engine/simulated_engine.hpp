// A GPU worker without a GPU: an OpenAI-compatible server whose tokens come from the engine model
// at the speed that the model says. For demonstrations, load tests and faults on demand.
//
// Used by the verbs `engine` and `demo`, and by tests. Connections are served on every context of
// the pool, the model lives on context 0; a pool of one thread is enough for tens of thousands of
// tokens a second.
//
// Life: construct, start(), run the pool; stop() (any thread) ends it gracefully. It must be
// destroyed while no thread runs the pool, and before the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "net/io_pool.hpp"
#include "sim/engine_types.hpp"

namespace sluice::engine {

/// What `sluice engine` is told.
struct engine_options {
    std::string listen = "127.0.0.1:8000";  ///< host:port; port 0 picks one.
    std::string model = "llama-3-8b";
    std::int64_t slots = 256;
    /// Tokens of the KV cache, rounded down to blocks; all of them usable (no null block), so that
    /// whoever counts num_gpu_blocks × block_size is right. None: what the profile's device has.
    std::optional<tokens> kv_tokens;
    std::string profile = std::string(sim::default_profile_name);
    double speed = 1;  ///< 0.001 … 1000.
    sim::when_full when_full = sim::when_full::preempt;
    std::string faults;  ///< See faults.hpp.
    /// Whether a client's FIN after its request ends the request.
    bool tolerate_half_close = false;
};

/// "preempt", "crash", "refuse".
result<sim::when_full> parse_when_full(std::string_view name);

class simulated_engine {
public:
    explicit simulated_engine(engine_options options);
    ~simulated_engine();
    simulated_engine(const simulated_engine&) = delete;
    simulated_engine& operator=(const simulated_engine&) = delete;

    /// Checks the options and listens. `invalid_argument` names the option, `not_found` an unknown
    /// profile, everything else is about the address. At most once.
    result<void> start(net::io_pool& pool);
    /// After start(): "127.0.0.1:40123".
    std::string address() const;
    /// Any thread.
    sim::engine_stats stats() const;

    /// Any thread. No new connections; running answers go on.
    void stop_accepting();
    /// Any thread. Ends running answers too.
    void stop();

private:
    struct impl;
    engine_options x_options;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::engine
