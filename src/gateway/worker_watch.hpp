// Keeps the registry's picture of workers without an agent: joins them, asks suspect ones whether
// they live, and learns from the engine what was not known when the gateway started.
//
//  1. Everything happens on the strand (context 0); the watch lives in a shared_ptr.
//  2. At most one conversation with a worker at a time; a worker in trouble is asked again every
//     `ask_again` until it answers, and not at all otherwise.
//  3. After close() nothing is asked and nothing is said.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coord/live_view.hpp"
#include "coord/ports.hpp"
#include "gateway/engine_reader.hpp"
#include "net/client.hpp"
#include "obs/log.hpp"

namespace sluice::gateway {

/// A worker of the configuration and what is known of it.
struct watched_worker {
    coord::worker_info info;
    net::endpoint address;
    coord::live_worker note;
    /// Its slots or memory are guesses until the engine has been read.
    bool learn = false;
    bool learn_slots = false;
    bool learn_memory = false;
    bytes per_token = bytes(1);
};

class worker_watch : public std::enable_shared_from_this<worker_watch> {
public:
    worker_watch(
        net::executor where,
        std::string pool,
        std::vector<watched_worker> workers,
        std::shared_ptr<coord::registry_port> registry,
        std::shared_ptr<obs::logger> log,
        std::function<std::string(const std::string& id)> authorization
    );

    /// Joins all workers and begins to learn.
    void start_on_strand();
    /// The worker hung, failed, or gave a request back.
    void trouble_on_strand(const coord::worker_info& worker);
    /// After the context has stopped, before it is destroyed.
    void close();

    /// On the strand: what the snapshot does not know.
    coord::live_worker note_of(std::string_view id) const;
    /// Any thread: how many there are.
    std::size_t size() const { return x_count; }

private:
    struct entry {
        watched_worker worker;
        bool asking = false;
    };

    void ask(entry& one);
    net::task<void> converse(std::shared_ptr<worker_watch> self, entry& one);
    void learned(entry& one, const engine_facts& facts);

    net::executor x_where;
    std::string x_pool;
    std::map<std::string, entry, std::less<>> x_workers;
    std::size_t x_count = 0;
    std::shared_ptr<coord::registry_port> x_registry;
    std::shared_ptr<obs::logger> x_log;
    std::function<std::string(const std::string& id)> x_authorization;
    std::unique_ptr<net::client_pool> x_client;
    bool x_stopped = false;
};

}  // namespace sluice::gateway
