#include "gateway/worker_watch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <utility>

namespace sluice::gateway {

namespace {

constexpr duration patience = std::chrono::seconds(1);
constexpr duration learn_patience = std::chrono::seconds(2);
constexpr duration ask_again = std::chrono::milliseconds(500);

}  // namespace

worker_watch::worker_watch(
    net::executor where,
    std::string pool,
    std::vector<watched_worker> workers,
    std::shared_ptr<coord::registry_port> registry,
    std::shared_ptr<obs::logger> log,
    std::function<std::string(const std::string& id)> authorization
)
    : x_where(where),
      x_pool(std::move(pool)),
      x_count(workers.size()),
      x_registry(std::move(registry)),
      x_log(std::move(log)),
      x_authorization(std::move(authorization)),
      x_client(std::make_unique<net::client_pool>(where)) {
    for (watched_worker& one : workers) {
        std::string id = one.info.id;
        x_workers.emplace(std::move(id), entry{std::move(one), false});
    }
}

void worker_watch::start_on_strand() {
    for (auto& [id, one] : x_workers) {
        if (x_stopped) {
            return;
        }
        x_registry->join(one.worker.info);
        if (one.worker.learn) {
            ask(one);
        }
    }
}

void worker_watch::trouble_on_strand(const coord::worker_info& worker) {
    const auto found = x_workers.find(worker.id);
    if (!x_stopped && found != x_workers.end()) {
        ask(found->second);
    }
}

void worker_watch::close() {
    x_stopped = true;
    x_client.reset();
    x_registry.reset();
}

coord::live_worker worker_watch::note_of(std::string_view id) const {
    const auto found = x_workers.find(id);
    return found == x_workers.end() ? coord::live_worker{} : found->second.worker.note;
}

void worker_watch::ask(entry& one) {
    if (std::exchange(one.asking, true)) {
        return;
    }
    boost::asio::co_spawn(
        x_where,
        converse(shared_from_this(), one),
        [log = x_log](std::exception_ptr failed) {
            if (failed) {
                log->write(obs::log_line(obs::level::error, "worker watch ended by an exception"));
            }
        }
    );
}

net::task<void> worker_watch::converse(std::shared_ptr<worker_watch> self, entry& one) {
    // `self` keeps `one` alive. It returns to idle on every way out.
    for (bool first = true; !x_stopped; first = false) {
        if (!first) {
            net::steady_timer pause(x_where, ask_again);
            co_await pause.async_wait(net::as_result);
        }
        if (x_stopped) {
            break;
        }
        if (one.worker.learn) {
            std::string key = x_authorization(one.worker.info.id);
            const auto facts = co_await read_engine(
                *x_client, x_where, one.worker.address, std::move(key), learn_patience
            );
            if (x_stopped) {
                break;
            }
            if (facts) {
                learned(one, *facts);
            }
        }
        std::string key = x_authorization(one.worker.info.id);
        const bool alive =
            co_await answers(*x_client, x_where, one.worker.address, std::move(key), patience);
        if (alive && !x_stopped) {
            x_registry->probed(one.worker.info.id, one.worker.info.epoch);
        }
        // A worker that answers but has nothing to teach keeps its guesses: asking on is noise.
        if (alive) {
            one.worker.learn = false;
            break;
        }
    }
    one.asking = false;
}

void worker_watch::learned(entry& one, const engine_facts& facts) {
    watched_worker& worker = one.worker;
    worker.learn = false;
    if (worker.learn_slots && facts.slots) {
        worker.info.slots = static_cast<std::uint32_t>(*facts.slots);
    }
    if (worker.learn_memory && facts.kv_tokens) {
        worker.info.kv_capacity = bytes(facts.kv_tokens->count()) * worker.per_token.count();
    }
    if (!facts.models.empty()) {
        worker.note.model = facts.models.front();
    }
    if (facts.vllm_names) {
        worker.note.probe = "vllm";
    }
    x_registry->join(worker.info);
    x_log->write(obs::log_line(obs::level::info, "worker learned")
                     .text("pool", x_pool)
                     .text("worker", worker.info.id)
                     .number("slots", worker.info.slots)
                     .number("kv_capacity", worker.info.kv_capacity.count()));
}

}  // namespace sluice::gateway
