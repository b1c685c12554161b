#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "app/config_reader.hpp"
#include "app/units_text.hpp"
#include "openai/errors.hpp"

namespace sluice::app {

namespace {

template <class Range, class Value, class Projection = std::identity>
bool contains(const Range& range, const Value& value, Projection projection = {}) {
    return std::ranges::find(range, value, projection) != std::ranges::end(range);
}

class relations {
public:
    relations(const config::gateway_config& config, config_report& report)
        : x_config(config), x_report(report) {}

    void check() {
        if (x_config.coordination.heartbeat * 2 > x_config.coordination.session_ttl) {
            x_report.add(
                "coordination.heartbeat",
                fmt::format(
                    "expected at most half of session_ttl ({}), got {}",
                    format_duration(x_config.coordination.session_ttl),
                    format_duration(x_config.coordination.heartbeat)
                )
            );
        }
        if (x_config.tls.cert.has_value() != x_config.tls.key.has_value()) {
            x_report.add("tls", "expected cert and key together");
        } else if (x_config.tls.client_ca && !x_config.tls.cert) {
            x_report.add("tls.client_ca", "expected cert and key beside it");
        }
        check_keys();
        check_status_map();
        std::size_t index = 0;
        for (const config::pool_options& pool : x_config.pools) {
            check_pool(pool, fmt::format("pools[{}]", index++));
        }
    }

private:
    void check_keys() {
        if (x_config.auth.required && x_config.auth.keys.empty() &&
            !x_report.spoiled("auth.keys")) {
            x_report.add("auth.required", "expected at least one key in auth.keys");
        }
        std::size_t index = 0;
        for (const config::auth_key& key : x_config.auth.keys) {
            const std::string path = fmt::format("auth.keys[{}]", index++);
            const int sources =
                (key.sha256 ? 1 : 0) + (key.key_env ? 1 : 0) + (key.key_file ? 1 : 0);
            if (sources != 1 && !x_report.spoiled(path)) {
                x_report.add(path, "expected exactly one of sha256, key_env, key_file");
            }
            if (key.default_class < key.max_class) {
                x_report.add(path + ".class", "expected a class that is not above max_class");
            }
        }
    }

    void check_status_map() {
        std::vector<std::string_view> known;
        for (const openai::reason why : openai::all_reasons()) {
            if (why != openai::reason::ok && why != openai::reason::client_gone) {
                known.push_back(openai::to_string(why));
            }
        }
        for (const auto& [reason, status] : x_config.status_map) {
            if (!contains(known, reason)) {
                x_report.add(
                    "status_map." + printable(reason),
                    "unknown reason; " + suggestion(reason, known)
                );
            }
        }
    }

    void check_pool(const config::pool_options& pool, const std::string& path) {
        unique(x_pool_names, pool.name, path, path + ".name", "pool");
        std::size_t index = 0;
        for (const std::string& model : pool.models) {
            const std::string place = fmt::format("{}.models[{}]", path, index++);
            unique(x_model_names, model, path, place, "model");
        }
        for (const auto& [alias, model] : pool.aliases) {
            const std::string place = path + ".aliases." + printable(alias);
            unique(x_model_names, alias, path, place, "model or alias");
            if (!contains(pool.models, model) && !x_report.spoiled(path + ".models")) {
                x_report.add(
                    place,
                    fmt::format("expected one of the pool's models, got '{}'", printable(model))
                );
            }
        }
        if (pool.kv.model_config && pool.kv.bytes_per_token) {
            x_report.add(
                path + ".kv", "expected one of model_config and bytes_per_token, got both"
            );
        }
        index = 0;
        for (const config::worker_options& worker : pool.workers) {
            const std::string place = fmt::format("{}.workers[{}]", path, index++);
            unique(x_worker_urls, worker.url, path, place + ".url", "worker");
            if (worker.probe == config::probe_kind::fixed && !(worker.slots && worker.kv_tokens)) {
                x_report.add(place, "expected slots and kv_tokens with probe: static");
            }
            if (worker.api_key_env && worker.api_key_file) {
                x_report.add(place, "expected one of api_key_env and api_key_file, got both");
            }
        }
        check_on_timeout(pool, path);
    }

    void check_on_timeout(const config::pool_options& pool, const std::string& path) {
        const config::on_timeout_options& on_timeout = pool.on_timeout;
        if (on_timeout.action == config::timeout_action::fallback) {
            const bool known =
                on_timeout.pool && *on_timeout.pool != pool.name &&
                contains(x_config.pools, *on_timeout.pool, &config::pool_options::name);
            if (!known) {
                x_report.add(path + ".on_timeout.pool", "expected the name of another pool");
            }
        }
        if (on_timeout.action == config::timeout_action::answer && !on_timeout.body) {
            x_report.add(path + ".on_timeout.body", "expected the body of the answer");
        }
    }

    void unique(
        std::map<std::string, std::string>& seen,
        const std::string& name,
        const std::string& owner,
        const std::string& place,
        std::string_view what
    ) {
        if (name.empty()) {
            return;  // already a problem: it is missing
        }
        const auto [first, inserted] = seen.emplace(name, owner);
        if (!inserted) {
            x_report.add(
                place,
                fmt::format(
                    "the {} '{}' is in {} already; a name belongs to one place",
                    what,
                    printable(name),
                    first->second
                )
            );
        }
    }

    const config::gateway_config& x_config;
    config_report& x_report;
    std::map<std::string, std::string> x_pool_names;
    std::map<std::string, std::string> x_model_names;
    std::map<std::string, std::string> x_worker_urls;
};

}  // namespace

void check_relations(const config::gateway_config& config, config_report& report) {
    relations(config, report).check();
}

}  // namespace sluice::app
