// The configuration as plain values: what sluice.yaml says after defaults, file, environment and
// flags have been applied. Rooms that act on it need nothing else.
//
// Invariants (kept by the reader in src/app/config_*.cpp, relied on by everyone else)
//  1. Every number is inside its documented range; every duration is positive unless said
//  otherwise.
//  2. Pool names are unique; a model or alias name belongs to one pool; an alias names a model of
//  it.
//  3. Nothing here asks for what this build cannot do: the reader refuses it with a sentence.
// The key of a field in the file is the name of the member; docs/configuration.md describes each.
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

enum class half_close_policy : std::uint8_t { abort, tolerate };
enum class request_class : std::uint8_t { high, normal, low };
enum class admission_mode : std::uint8_t { shared, local_queue };
enum class backend_loss : std::uint8_t { refuse, local };
enum class permit_loss : std::uint8_t { cut, keep };
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
/// How a numeric `priority` in a request body is read.
enum class body_priority_mode : std::uint8_t { off, higher_first, lower_first };
enum class log_level : std::uint8_t { trace, debug, info, warn, error };
enum class log_format : std::uint8_t { json, text };

/// Certificate of the data port; all null: plain HTTP.
struct tls_options {
    std::optional<std::string> cert;
    std::optional<std::string> key;
    std::optional<std::string> client_ca;
};

struct limit_options {
    bytes header_bytes = kibibytes(64);
    bytes body_bytes = mebibytes(32);
    bytes queued_body_bytes = mebibytes(512);  ///< Sum of the bodies of all requests that wait.
    std::int64_t connections = 20'000;
};

/// An API key: exactly one of sha256, key_env, key_file is given.
struct auth_key {
    std::optional<std::string> sha256;
    std::optional<std::string> key_env;
    std::optional<std::string> key_file;
    std::string tenant;
    request_class default_class = request_class::normal;  ///< `class` in the file.
    request_class max_class = request_class::high;
};

struct auth_options {
    bool required = false;
    std::vector<auth_key> keys;
};

struct coordination_options {
    std::string name_space = "sluice";  ///< `namespace` in the file.
    std::string backend = "embedded";
    std::optional<std::string> admission;
    std::optional<std::string> registry;
    std::optional<std::string> quota;
    config::admission_mode admission_mode = config::admission_mode::shared;
    duration session_ttl = std::chrono::seconds(10);
    duration heartbeat = std::chrono::seconds(3);
    backend_loss on_backend_loss = backend_loss::refuse;
    permit_loss on_permit_loss = permit_loss::cut;
};

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

struct quota_options {
    std::string tenant = "*";
    std::optional<std::int64_t> requests_per_minute;
    std::optional<std::int64_t> tokens_per_minute;
    std::optional<std::int64_t> burst;
};

struct log_options {
    log_level level = log_level::info;
    log_format format = log_format::json;
};

struct otlp_options {
    std::optional<std::string> endpoint;
};

/// The whole file.
struct gateway_config {
    std::string listen = "127.0.0.1:8080";
    std::string admin = "127.0.0.1:9090";
    tls_options tls;
    limit_options limits;
    half_close_policy client_half_close = half_close_policy::abort;
    std::optional<std::int64_t> threads;  ///< Null: one per core.
    auth_options auth;
    coordination_options coordination;
    std::vector<pool_options> pools;
    std::vector<quota_options> quotas;
    body_priority_mode body_priority = body_priority_mode::off;
    bool queue_hints = false;
    std::map<std::string, std::int64_t> status_map;  ///< Reason → HTTP status.
    log_options log;
    otlp_options otlp;
};

}  // namespace sluice::config
