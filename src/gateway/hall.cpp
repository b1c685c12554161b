#include "gateway/hall.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include "gateway/door.hpp"
#include "gateway/worker_watch.hpp"

namespace sluice::gateway {

namespace {

/// Addresses of workers remembered a thread; beyond it they are forgotten and parsed again.
constexpr std::size_t remembered_endpoints = 4096;

std::uint64_t chance() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

const net::endpoint* thread_state::endpoint_of(const std::string& address) {
    const auto seen = x_endpoints.find(address);
    if (seen != x_endpoints.end()) {
        return &seen->second;
    }
    auto parsed = net::parse_endpoint(address);
    if (!parsed) {
        return nullptr;
    }
    if (x_endpoints.size() >= remembered_endpoints) {
        x_endpoints.clear();
    }
    return &x_endpoints.emplace(address, *std::move(parsed)).first->second;
}

hall::hall(
    config::gateway_config from,
    net::io_pool& threads,
    std::shared_ptr<obs::logger> to,
    std::shared_ptr<const secrets> known
)
    : config(std::move(from)),
      io(threads),
      log(std::move(to)),
      stray(metrics, "none"),
      turned_away(std::make_unique<door_watch>(metrics, log)),
      x_lines_dropped(metrics.make_counter(
          "sluice_log_lines_dropped_total", "Log lines that the sink did not take in time."
      )) {
    for (const openai::reason why : openai::all_reasons()) {
        const auto mapped = config.status_map.find(std::string(openai::to_string(why)));
        x_status[static_cast<std::size_t>(why)] = mapped == config.status_map.end()
                                                      ? openai::default_status(why)
                                                      : static_cast<int>(mapped->second);
    }
    for (std::size_t i = 0; i < io.size(); ++i) {
        x_threads.push_back(std::make_unique<thread_state>(io.executor_of(i), chance()));
        x_threads.back()->known = known;
    }
    for (const config::pool_options& one : config.pools) {
        pools.push_back(std::make_unique<pool>(one, metrics));
    }
}

hall::~hall() = default;

void hall::list_models(pool& one) {
    const auto created = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::system_clock::now().time_since_epoch()
    )
                             .count();
    const auto enter = [&](const std::string& name, const std::string& alias_of) {
        if (models.try_emplace(name, model_target{&one, alias_of}).second) {
            model_entries.push_back({name, "sluice", created});
        }
    };
    for (const std::string& name : one.options.models) {
        enter(name, {});
    }
    for (const auto& [alias, model] : one.options.aliases) {
        enter(alias, model);
    }
}

void hall::close() {
    for (const auto& one : pools) {
        if (one->watch) {
            one->watch->close();
        }
        if (one->hub) {
            one->hub->close();
        }
        one->ports = {};
    }
    x_threads.clear();
}

void hall::read_metrics(std::function<void(std::string)> done) {
    const std::uint64_t dropped = log->dropped();
    x_lines_dropped.add(dropped - std::min(dropped, x_dropped_seen.exchange(dropped)));
    if (pools.empty()) {
        done(metrics.text());
        return;
    }
    // All pools live on one strand, so the looks come one after the other and the last one prints.
    for (const auto& one : pools) {
        const bool last = one == pools.back();
        one->hub->look(0, [this, last, to = one.get(), done](const core::pool_snapshot& now) {
            to->meters.show(now);
            if (last) {
                done(metrics.text());
            }
        });
    }
}

}  // namespace sluice::gateway
