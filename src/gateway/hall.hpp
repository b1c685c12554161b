// What all requests share while the gateway runs: pools by model, limits, meters, log.
//
// Built by the service, constant afterwards but for atomics. `per_thread` belongs to its thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/config.hpp"
#include "base/random.hpp"
#include "gateway/field_list.hpp"
#include "gateway/pool.hpp"
#include "net/client.hpp"
#include "net/io_pool.hpp"
#include "obs/log.hpp"
#include "obs/metrics.hpp"
#include "openai/errors.hpp"
#include "openai/models.hpp"

namespace sluice::gateway {

class door_watch;
struct secrets;

/// Looks strings up by view.
struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>()(text);
    }
};

/// Where a name that clients use leads.
struct model_target {
    pool* to = nullptr;
    std::string alias_of;  ///< Empty: the name goes to the worker as it is.
};

/// What belongs to one thread of the io_pool.
struct thread_state {
    thread_state(net::executor where, std::uint64_t seed) : client(where), ids(seed) {}

    field_list_pool lists;
    net::client_pool client;
    random_source ids;
    std::shared_ptr<const secrets> known;

    /// The parsed form of a worker's address; remembered, bounded.
    const net::endpoint* endpoint_of(const std::string& address);

private:
    std::unordered_map<std::string, net::endpoint> x_endpoints;
};

class hall {
public:
    hall(
        config::gateway_config from,
        net::io_pool& threads,
        std::shared_ptr<obs::logger> to,
        std::shared_ptr<const secrets> known
    );
    ~hall();

    const config::gateway_config config;
    net::io_pool& io;
    const std::shared_ptr<obs::logger> log;
    obs::metrics metrics;
    /// Requests that ended before they had a pool.
    pool_meters stray;
    const std::unique_ptr<door_watch> turned_away;

    std::vector<std::unique_ptr<pool>> pools;
    std::unordered_map<std::string, model_target, text_hash, std::equal_to<>> models;
    std::vector<openai::model_entry> model_entries;

    std::atomic<bool> draining{false};
    std::atomic<std::int64_t> body_bytes{0};  ///< Bodies of requests without an answer.
    std::atomic<std::int64_t> running{0};     ///< Requests that are being served.

    thread_state& thread(std::size_t index) { return *x_threads[index]; }
    int status_of(openai::reason why) const { return x_status[static_cast<std::size_t>(why)]; }

    /// Asks every pool, then calls `done` with the text of all metrics; from any thread.
    void read_metrics(std::function<void(std::string)> done);

    /// Enters the models and aliases of `one`; start-up only.
    void list_models(pool& one);

    /// After the io_pool has stopped: gives back what belongs to its contexts. Requests that are
    /// still suspended there keep the hall itself alive, longer than the contexts.
    void close();

private:
    std::array<int, openai::reason_count> x_status{};
    std::vector<std::unique_ptr<thread_state>> x_threads;
    obs::counter& x_lines_dropped;
    std::atomic<std::uint64_t> x_dropped_seen{0};
};

}  // namespace sluice::gateway
