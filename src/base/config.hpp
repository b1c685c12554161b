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

#include "base/config_pool.hpp"
#include "base/units.hpp"

namespace sluice::config {

enum class half_close_policy : std::uint8_t { abort, tolerate };
enum class request_class : std::uint8_t { high, normal, low };
enum class admission_mode : std::uint8_t { shared, local_queue };
enum class backend_loss : std::uint8_t { refuse, local };
enum class permit_loss : std::uint8_t { cut, keep };
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
    bytes queued_body_bytes = mebibytes(512);  ///< Sum of the bodies of requests without an answer.
    std::int64_t connections = 20'000;
    duration header_timeout = std::chrono::seconds(30);  ///< From the first byte of a head.
    duration body_timeout = std::chrono::seconds(60);    ///< Without a byte of a body.
    duration write_timeout = std::chrono::seconds(60);   ///< A client that takes nothing.
    duration keep_alive_timeout = std::chrono::seconds(75);
};

/// An API key: exactly one of sha256, key_env, key_file is given.
struct auth_key {
    std::optional<std::string> sha256;
    std::optional<std::string> key_env;
    std::optional<std::string> key_file;
    std::string tenant;
    request_class default_class = request_class::normal;  ///< `class` in the file.
    request_class max_class = request_class::high;
    bool trust_tenant_header = false;  ///< x-sluice-tenant of its requests is believed.
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
