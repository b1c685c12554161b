#include "app/config_table.hpp"

#include "app/config_bind.hpp"

namespace sluice::app {

namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t gib = kib * kib * kib;
constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t hour = 3600 * second;

}  // namespace

void describe(config::tls_options& tls, section_visitor& visitor) {
    visitor.field(
        {.key = "cert", .doc = "Certificate chain of the data port, PEM."}, bind(tls.cert)
    );
    visitor.field({.key = "key", .doc = "Its private key, PEM."}, bind(tls.key));
    visitor.field(
        {.key = "client_ca", .doc = "Clients must show a certificate of this authority."},
        bind(tls.client_ca)
    );
}

void describe(config::limit_options& limits, section_visitor& visitor) {
    visitor.field(
        {.key = "header_bytes", .doc = "Largest request head.", .min = kib, .max = 1024 * kib},
        bind(limits.header_bytes)
    );
    visitor.field(
        {.key = "body_bytes", .doc = "Largest request body.", .min = kib, .max = gib},
        bind(limits.body_bytes)
    );
    visitor.field(
        {.key = "queued_body_bytes",
         .doc = "Sum of the bodies of all requests that have no answer yet, over all pools.",
         .min = kib},
        bind(limits.queued_body_bytes)
    );
    visitor.field(
        {.key = "connections",
         .doc = "Client connections at once; one more is turned away.",
         .min = 1,
         .max = 1'000'000},
        bind(limits.connections)
    );
    visitor.field(
        {.key = "header_timeout",
         .doc = "Longest time of a request head, or of a TLS handshake.",
         .min = second / 10},
        bind(limits.header_timeout)
    );
    visitor.field(
        {.key = "body_timeout",
         .doc = "Longest silence within a body; after it, 8 KiB a second are the least.",
         .min = second / 10},
        bind(limits.body_timeout)
    );
    visitor.field(
        {.key = "write_timeout",
         .doc = "A client that takes nothing of its answer for so long is cut off.",
         .min = second / 10},
        bind(limits.write_timeout)
    );
    visitor.field(
        {.key = "keep_alive_timeout",
         .doc = "Longest silence between two requests of a connection.",
         .min = second / 10},
        bind(limits.keep_alive_timeout)
    );
}

void describe(config::auth_key& key, section_visitor& visitor) {
    visitor.field(
        {.key = "sha256",
         .doc = "SHA-256 of the API key, hexadecimal.",
         .format = text_format::sha256,
         .secret = true},
        bind(key.sha256)
    );
    visitor.field(
        {.key = "key_env", .doc = "Environment variable that holds the key."}, bind(key.key_env)
    );
    visitor.field({.key = "key_file", .doc = "File that holds the key."}, bind(key.key_file));
    visitor.field(
        {.key = "tenant",
         .doc = "Whom the key's requests are counted for.",
         .format = text_format::name,
         .required = true},
        bind(key.tenant)
    );
    visitor.field(
        {.key = "class", .doc = "Class of a request that names none."}, bind(key.default_class)
    );
    visitor.field(
        {.key = "max_class", .doc = "A request above this class is lowered to it."},
        bind(key.max_class)
    );
    visitor.field(
        {.key = "trust_tenant_header",
         .doc = "The header x-sluice-tenant of its requests counts; for a gateway in front."},
        bind(key.trust_tenant_header)
    );
}

void describe(config::auth_options& auth, section_visitor& visitor) {
    visitor.field(
        {.key = "required", .doc = "Refuse requests without a known API key."}, bind(auth.required)
    );
    visitor.field({.key = "keys", .doc = "The known API keys."}, bind(auth.keys));
}

void describe(config::coordination_options& coordination, section_visitor& visitor) {
    visitor.field(
        {.key = "namespace",
         .doc = "First part of every key or node in a store.",
         .format = text_format::name},
        bind(coordination.name_space)
    );
    const auto address = [&visitor](std::string_view key, std::string_view doc, value_ref value) {
        visitor.field({.key = key, .doc = doc, .format = text_format::backend}, value);
    };
    address("backend", "Where permits, workers and quotas are kept.", bind(coordination.backend));
    address("admission", "Another place for permits; null: backend.", bind(coordination.admission));
    address("registry", "Another place for workers; null: backend.", bind(coordination.registry));
    address("quota", "Another place for quotas; null: backend.", bind(coordination.quota));
    visitor.field(
        {.key = "admission_mode", .doc = "One queue for all gateways, or one a gateway."},
        bind(coordination.admission_mode)
    );
    visitor.field(
        {.key = "session_ttl",
         .doc = "How long a silent gateway or agent counts as alive.",
         .min = second,
         .max = hour},
        bind(coordination.session_ttl)
    );
    visitor.field(
        {.key = "heartbeat",
         .doc = "How often it says that it is; less than a half of session_ttl.",
         .min = second / 10,
         .max = hour},
        bind(coordination.heartbeat)
    );
    visitor.field(
        {.key = "on_backend_loss", .doc = "What happens to new requests while the store is away."},
        bind(coordination.on_backend_loss)
    );
    visitor.field(
        {.key = "on_permit_loss",
         .doc = "What happens to a stream on a worker without an agent whose permit was lost."},
        bind(coordination.on_permit_loss)
    );
}

void describe(config::quota_options& quota, section_visitor& visitor) {
    visitor.field(
        {.key = "tenant", .doc = "Tenant, or * for each one.", .format = text_format::any},
        bind(quota.tenant)
    );
    visitor.field(
        {.key = "requests_per_minute", .doc = "Requests a minute.", .min = 1},
        bind(quota.requests_per_minute)
    );
    visitor.field(
        {.key = "tokens_per_minute", .doc = "Prompt and output tokens a minute.", .min = 1},
        bind(quota.tokens_per_minute)
    );
    visitor.field(
        {.key = "burst", .doc = "Requests that may come at once.", .min = 1}, bind(quota.burst)
    );
}

void describe(config::log_options& log, section_visitor& visitor) {
    visitor.field({.key = "level", .doc = "Least severity that is written."}, bind(log.level));
    visitor.field(
        {.key = "format", .doc = "One JSON object a line, or text for people."}, bind(log.format)
    );
}

void describe(config::otlp_options& otlp, section_visitor& visitor) {
    visitor.field(
        {.key = "endpoint", .doc = "Where traces are sent.", .format = text_format::http_url},
        bind(otlp.endpoint)
    );
}

void describe(config::gateway_config& config, section_visitor& visitor) {
    visitor.field(
        {.key = "listen", .doc = "Address of the data port.", .format = text_format::host_port},
        bind(config.listen)
    );
    visitor.field(
        {.key = "admin",
         .doc = "Address of the admin port: metrics, API, live page.",
         .format = text_format::host_port},
        bind(config.admin)
    );
    visitor.field({.key = "tls", .doc = "TLS of the data port."}, bind(config.tls));
    visitor.field({.key = "limits", .doc = "Bounds on what clients send."}, bind(config.limits));
    visitor.field(
        {.key = "client_half_close",
         .doc = "A client that ends its sending side after the request: gone, or still reading."},
        bind(config.client_half_close)
    );
    visitor.field(
        {.key = "threads", .doc = "Worker threads; null: one per core.", .min = 1, .max = 1024},
        bind(config.threads)
    );
    visitor.field({.key = "auth", .doc = "API keys."}, bind(config.auth));
    visitor.field(
        {.key = "coordination", .doc = "Where the shared state lives."}, bind(config.coordination)
    );
    visitor.field(
        {.key = "pools", .doc = "Workers that serve one model, and how they are queued for."},
        bind(config.pools)
    );
    visitor.field({.key = "quotas", .doc = "Requests and tokens a minute."}, bind(config.quotas));
    visitor.field(
        {.key = "body_priority", .doc = "How the number `priority` in a body is read."},
        bind(config.body_priority)
    );
    visitor.field(
        {.key = "queue_hints", .doc = "SSE comments with the position while a request waits."},
        bind_on_off(config.queue_hints)
    );
    visitor.field(
        {.key = "status_map", .doc = "Another HTTP status for a reason.", .min = 400, .max = 599},
        bind(config.status_map)
    );
    visitor.field({.key = "log", .doc = "The log on standard error."}, bind(config.log));
    visitor.field({.key = "otlp", .doc = "OpenTelemetry."}, bind(config.otlp));
}

}  // namespace sluice::app
