#include "app/config_bind.hpp"
#include "app/config_table.hpp"

namespace sluice::app {

namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::int64_t millisecond = 1000;
constexpr std::int64_t second = 1000 * millisecond;
constexpr std::int64_t day = 86'400 * second;

}  // namespace

void describe(config::kv_options& kv, section_visitor& visitor) {
    visitor.field(
        {.key = "model_config", .doc = "The model's config.json; tells the bytes of a token."},
        bind(kv.model_config)
    );
    visitor.field(
        {.key = "bytes_per_token", .doc = "The bytes of a token, where they are known.", .min = 1},
        bind(kv.bytes_per_token)
    );
    visitor.field({.key = "dtype", .doc = "Element type of the KV cache."}, bind(kv.dtype));
    visitor.field(
        {.key = "layout", .doc = "How the engine keeps layers with a sliding window."},
        bind(kv.layout)
    );
    visitor.field(
        {.key = "block", .doc = "Tokens a block of the engine's cache.", .min = 1, .max = 4096},
        bind(kv.block)
    );
}

void describe(config::worker_options& worker, section_visitor& visitor) {
    visitor.field(
        {.key = "url",
         .doc = "Where the engine listens.",
         .format = text_format::http_url,
         .required = true},
        bind(worker.url)
    );
    visitor.field(
        {.key = "slots",
         .doc = "Requests that it runs at once; null: read from the engine.",
         .min = 1,
         .max = 65'536},
        bind(worker.slots)
    );
    visitor.field(
        {.key = "kv_tokens",
         .doc = "Tokens that its KV cache holds; null: read from the engine.",
         .min = 1},
        bind(worker.kv_tokens)
    );
    visitor.field({.key = "probe", .doc = "How its load is read."}, bind(worker.probe));
    visitor.field(
        {.key = "api_key_env", .doc = "Environment variable that holds the engine's own API key."},
        bind(worker.api_key_env)
    );
    visitor.field(
        {.key = "api_key_file", .doc = "File that holds the engine's own API key."},
        bind(worker.api_key_file)
    );
}

void describe(config::queue_options& queue, section_visitor& visitor) {
    visitor.field(
        {.key = "max_length", .doc = "Requests that may wait.", .min = 1, .max = 10 * million},
        bind(queue.max_length)
    );
    visitor.field(
        {.key = "max_bytes", .doc = "Sum of the bodies that may wait.", .min = 1024},
        bind(queue.max_bytes)
    );
    visitor.field(
        {.key = "timeout",
         .doc = "Longest wait; then 503 queue_timeout.",
         .min = millisecond,
         .max = day},
        bind(queue.timeout)
    );
    visitor.field(
        {.key = "ageing",
         .doc = "After so long a waiting request moves up one class.",
         .min = millisecond,
         .max = day},
        bind(queue.ageing)
    );
    visitor.field(
        {.key = "max_bypass",
         .doc = "Later requests that may pass one that does not fit yet.",
         .max = million},
        bind(queue.max_bypass)
    );
    visitor.field(
        {.key = "low_share",
         .doc = "Of so many grants at least one is of class low; null: no such share.",
         .min = 2,
         .max = million},
        bind(queue.low_share)
    );
    visitor.field({.key = "order", .doc = "Order inside a class."}, bind(queue.order));
}

void describe(config::slo_options& slo, section_visitor& visitor) {
    visitor.field(
        {.key = "ttft", .doc = "Goal for the first token.", .min = millisecond, .max = day},
        bind(slo.ttft)
    );
    visitor.field(
        {.key = "tpot", .doc = "Goal for each later token.", .min = 1, .max = day}, bind(slo.tpot)
    );
}

void describe(config::tenant_options& tenant, section_visitor& visitor) {
    visitor.field(
        {.key = "weight", .doc = "Share among the tenants.", .min = 1, .max = 1'000'000},
        bind(tenant.weight)
    );
    visitor.field(
        {.key = "concurrency",
         .doc = "Requests that may run at once; null: no such cap.",
         .min = 1,
         .max = million},
        bind(tenant.concurrency)
    );
}

void describe(config::timeout_options& timeouts, section_visitor& visitor) {
    const auto add = [&visitor](std::string_view key, std::string_view doc, value_ref value) {
        visitor.field({.key = key, .doc = doc, .min = millisecond, .max = day}, value);
    };
    add("connect", "Connecting to a worker.", bind(timeouts.connect));
    add("first_token",
        "From the forwarding to the first token; whole answers get 100 ms a token more.",
        bind(timeouts.first_token));
    add("idle", "Between two pieces of a stream.", bind(timeouts.idle));
    add("total", "From the forwarding to the end.", bind(timeouts.total));
    add("slow", "A request over it is logged with worker and sizes.", bind(timeouts.slow));
}

void describe(config::on_timeout_options& on_timeout, section_visitor& visitor) {
    visitor.field(
        {.key = "action", .doc = "What a client gets when a wait ran out and nothing was sent."},
        bind(on_timeout.action)
    );
    visitor.field(
        {.key = "pool", .doc = "Pool of the action fallback.", .format = text_format::name},
        bind(on_timeout.pool)
    );
    visitor.field({.key = "body", .doc = "Body of the action answer."}, bind(on_timeout.body));
}

void describe(config::prediction_options& prediction, section_visitor& visitor) {
    visitor.field(
        {.key = "quantile",
         .doc = "Quantile of recent outputs that is reserved.",
         .real_min = 0.01,
         .real_max = 0.9999},
        bind(prediction.quantile)
    );
    visitor.field(
        {.key = "window", .doc = "Recent outputs that are looked at.", .min = 10, .max = million},
        bind(prediction.window)
    );
    visitor.field(
        {.key = "reserve",
         .doc = "Share of the memory that is kept free.",
         .real_min = 0,
         .real_max = 0.9},
        bind(prediction.reserve)
    );
}

void describe(config::pool_options& pool, section_visitor& visitor) {
    visitor.field(
        {.key = "name", .doc = "Name of the pool.", .format = text_format::name, .required = true},
        bind(pool.name)
    );
    visitor.field({.key = "models", .doc = "Model names that clients may use."}, bind(pool.models));
    visitor.field(
        {.key = "aliases", .doc = "Further names, each for one of the models."}, bind(pool.aliases)
    );
    visitor.field(
        {.key = "context",
         .doc = "Longest prompt and output together; null: the engine's own.",
         .min = 1},
        bind(pool.context)
    );
    visitor.field(
        {.key = "default_output", .doc = "Output tokens of a request that names no limit.", .min = 1
        },
        bind(pool.default_output)
    );
    visitor.field({.key = "kv", .doc = "What a token costs."}, bind(pool.kv));
    visitor.field({.key = "workers", .doc = "Workers without an agent."}, bind(pool.workers));
    visitor.field({.key = "queue", .doc = "Who may wait, and in which order."}, bind(pool.queue));
    visitor.field({.key = "slo", .doc = "Goals for the answers."}, bind(pool.slo));
    visitor.field({.key = "tenants", .doc = "Shares and caps by tenant."}, bind(pool.tenants));
    visitor.field({.key = "timeouts", .doc = "How long a worker may take."}, bind(pool.timeouts));
    visitor.field({.key = "on_timeout", .doc = "What a time-out does."}, bind(pool.on_timeout));
    value_ref prediction = bind(pool.prediction);
    std::get<section_ref>(prediction.kind).enabled = &pool.prediction.enabled;
    visitor.field(
        {.key = "prediction", .doc = "How outputs are predicted; off: the limit is reserved."},
        prediction
    );
    visitor.field({.key = "usage", .doc = "Where token counts come from."}, bind(pool.usage));
    visitor.field(
        {.key = "routing", .doc = "Which worker among those that fit."}, bind(pool.routing)
    );
    visitor.field(
        {.key = "retries", .doc = "Further attempts while nothing was sent.", .max = 10},
        bind(pool.retries)
    );
}

}  // namespace sluice::app
