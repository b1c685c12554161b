// A pool of the configuration, as plain values (base/config.hpp has the rest and the invariants).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace sluice::config {

constexpr bytes kibibytes(std::int64_t n) {
    return bytes(n) * 1024;
}
constexpr bytes mebibytes(std::int64_t n) {
    return kibibytes(n) * 1024;
}

enum class kv_dtype : std::uint8_t { fp16, bf16, fp8, int8, fp8_ds_mla, int8_per_head };
enum class kv_layout : std::uint8_t { uniform, window_capped };
/// `automatic` is "auto" in the file, `fixed` is "static": what is configured is the truth.
enum class probe_kind : std::uint8_t {
    automatic,
    vllm,
    sglang,
    llamacpp,
    tgi,
    triton,
    nvml,
    fixed
};
/// fair: token-fair between tenants · deadline: earliest inside a tenant · fifo: arrival alone.
enum class queue_order : std::uint8_t { fair, deadline, fifo };
enum class timeout_action : std::uint8_t { reject, fallback, answer };
enum class usage_mode : std::uint8_t { count, inject };
enum class routing_rule : std::uint8_t { predicted_ttft, least_loaded, prefix, round_robin };

/// With neither model_config nor bytes_per_token, memory is accounted in tokens.
struct kv_options {
    std::optional<std::string> model_config;  ///< Path of the model's config.json.
    std::optional<bytes> bytes_per_token;
    kv_dtype dtype = kv_dtype::fp16;
    kv_layout layout = kv_layout::uniform;
    std::int64_t block = 16;  ///< Tokens a block, ≥ 1.
};

/// A worker that no agent registers. What is left out is read from the engine.
struct worker_options {
    std::string url;
    std::optional<std::int64_t> slots;
    std::optional<tokens> kv_tokens;
    probe_kind probe = probe_kind::automatic;
    std::optional<std::string> api_key_env{};  ///< At most one of the two is given.
    std::optional<std::string> api_key_file{};
};

struct queue_options {
    std::int64_t max_length = 5000;
    bytes max_bytes = mebibytes(256);
    duration timeout = std::chrono::seconds(30);
    duration ageing = std::chrono::seconds(10);
    std::int64_t max_bypass = 16;
    std::optional<std::int64_t> low_share;  ///< Of so many grants at least one is of class low.
    queue_order order = queue_order::fair;
};

struct slo_options {
    std::optional<duration> ttft;
    std::optional<duration> tpot;
};

struct tenant_options {
    std::int64_t weight = 1;
    std::optional<std::int64_t> concurrency;
};

/// An empty one is `none`: never. Each counts from its own start.
struct timeout_options {
    duration connect = std::chrono::seconds(2);
    std::optional<duration> first_token = std::chrono::seconds(60);
    std::optional<duration> idle = std::chrono::seconds(60);
    std::optional<duration> total;
    std::optional<duration> slow = std::chrono::seconds(30);  ///< A log line, not an end.
};

struct on_timeout_options {
    timeout_action action = timeout_action::reject;
    std::optional<std::string> pool;
    std::optional<std::string> body;
};

/// `prediction: off` clears `enabled`: the output limit is reserved.
struct prediction_options {
    bool enabled = true;
    double quantile = 0.95;
    std::int64_t window = 1000;
    double reserve = 0.05;
};

struct pool_options {
    std::string name;
    std::vector<std::string> models;
    std::map<std::string, std::string> aliases;
    std::optional<tokens> context;
    tokens default_output = tokens(512);
    kv_options kv;
    std::vector<worker_options> workers;
    queue_options queue;
    slo_options slo;
    std::map<std::string, tenant_options> tenants;
    timeout_options timeouts;
    on_timeout_options on_timeout;
    prediction_options prediction;
    usage_mode usage = usage_mode::count;
    routing_rule routing = routing_rule::predicted_ttft;
    std::int64_t retries = 2;
};

}  // namespace sluice::config
