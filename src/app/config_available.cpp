// What the configuration can say and this build cannot do yet. Each line goes away with the change
// that brings the capability; until then asking for it is a problem, never a silent no-op.
#include <fmt/format.h>

#include "app/config_names.hpp"
#include "app/config_reader.hpp"

namespace sluice::app {

namespace {

class availability {
public:
    explicit availability(config_report& report) : x_report(report) {}

    void need(
        bool available, const std::string& path, std::string_view asked, std::string_view is
    ) {
        if (!available && !x_report.spoiled(path)) {
            x_report.add(path, fmt::format("{} is not available in this version; {}", asked, is));
        }
    }
    void backend(const std::string& path, const std::string& address) {
        need(address == "embedded", path, without_password(address), "embedded is");
    }

private:
    config_report& x_report;
};

void check_pool(
    const config::pool_options& pool, const std::string& path, availability& available
) {
    const config::pool_options standard;
    available.need(
        pool.kv.layout == standard.kv.layout, path + ".kv.layout", "window_capped", "uniform is"
    );
    available.need(
        pool.kv.dtype < config::kv_dtype::fp8_ds_mla,
        path + ".kv.dtype",
        name_of(pool.kv.dtype),
        "fp16, bf16, fp8 and int8 are"
    );
    std::size_t index = 0;
    for (const config::worker_options& worker : pool.workers) {
        const bool known = worker.probe == config::probe_kind::automatic ||
                           worker.probe == config::probe_kind::vllm ||
                           worker.probe == config::probe_kind::fixed;
        const std::string place = fmt::format("{}.workers[{}]", path, index++);
        available.need(known, place + ".probe", name_of(worker.probe), "auto, vllm and static are");
    }
    available.need(
        pool.queue.order != config::queue_order::deadline,
        path + ".queue.order",
        "deadline",
        "fair and fifo are"
    );
    available.need(!pool.slo.ttft, path + ".slo.ttft", "a goal for the first token", "null is");
    available.need(!pool.slo.tpot, path + ".slo.tpot", "a goal for later tokens", "null is");
    available.need(
        pool.tenants.empty(), path + ".tenants", "a share by tenant", "all tenants count alike"
    );
    available.need(
        pool.on_timeout.action == config::timeout_action::reject,
        path + ".on_timeout.action",
        name_of(pool.on_timeout.action),
        "reject is"
    );
    const config::prediction_options& prediction = pool.prediction;
    available.need(
        !prediction.enabled || (prediction.quantile == standard.prediction.quantile &&
                                prediction.window == standard.prediction.window &&
                                prediction.reserve == standard.prediction.reserve),
        path + ".prediction",
        "a prediction with its own numbers",
        "off and the default are"
    );
    available.need(pool.usage == config::usage_mode::count, path + ".usage", "inject", "count is");
    available.need(
        pool.routing == config::routing_rule::predicted_ttft ||
            pool.routing == config::routing_rule::least_loaded,
        path + ".routing",
        name_of(pool.routing),
        "least_loaded is"
    );
}

}  // namespace

void check_availability(const config::gateway_config& config, config_report& report) {
    availability available(report);
    const config::coordination_options& coordination = config.coordination;
    available.backend("coordination.backend", coordination.backend);
    available.backend("coordination.admission", coordination.admission.value_or("embedded"));
    available.backend("coordination.registry", coordination.registry.value_or("embedded"));
    available.backend("coordination.quota", coordination.quota.value_or("embedded"));
    available.need(
        coordination.admission_mode == config::admission_mode::shared,
        "coordination.admission_mode",
        "local_queue",
        "shared is"
    );
    available.need(
        coordination.on_backend_loss == config::backend_loss::refuse,
        "coordination.on_backend_loss",
        "local",
        "refuse is"
    );
    available.need(config.quotas.empty(), "quotas", "a quota", "an empty list is");
    available.need(!config.queue_hints, "queue_hints", "on", "off is");
    available.need(!config.otlp.endpoint, "otlp.endpoint", "OpenTelemetry", "null is");
    std::size_t index = 0;
    for (const config::pool_options& pool : config.pools) {
        check_pool(pool, fmt::format("pools[{}]", index++), available);
    }
}

}  // namespace sluice::app
