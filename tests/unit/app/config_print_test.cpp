// Printer, schema and the user guide against the field table.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "app/config.hpp"
#include "app/config_table.hpp"

namespace sluice::app {
namespace {

namespace json = boost::json;

constexpr std::string_view full = R"(
listen: 0.0.0.0:80
threads: 2
limits: {body_bytes: 1MiB}
pools:
  - name: llama
    models: [m, "weird: name #1", "null", " x", "12", "日本", "q\"uote"]
    aliases: {"a: b": m, "true": m}
    workers: [{url: "http://127.0.0.1:8001", slots: 8}, {url: "http://[::1]:9000"}]
    kv: {bytes_per_token: 1000}
    timeouts: {total: 10m, idle: none, slow: 1500ms}
    queue: {low_share: 10, order: fifo}
    prediction: off
  - name: empty
status_map: {shed: 503}
log: {format: text}
)";

TEST(config_print, yaml_reads_back_as_the_same) {
    const auto config = read_config(full, "f.yaml");
    ASSERT_TRUE(config) << config.error().front();
    const std::string printed = config_yaml(*config);
    const auto again = read_config(printed, "printed.yaml");
    ASSERT_TRUE(again) << again.error().front() << "\n" << printed;
    EXPECT_EQ(config_yaml(*again), printed);
    EXPECT_EQ(config_json(*again), config_json(*config));
    EXPECT_EQ(again->pools[0].models, config->pools[0].models);
    EXPECT_EQ(again->pools[0].aliases, config->pools[0].aliases);
    EXPECT_EQ(again->pools[0].timeouts.slow, std::chrono::milliseconds(1500));
    EXPECT_FALSE(again->pools[0].prediction.enabled);
}

TEST(config_print, json_reads_back_too) {
    const auto config = read_config(full, "f.yaml");
    ASSERT_TRUE(config);
    const auto again = read_config(config_json(*config), "printed.json");
    ASSERT_TRUE(again) << again.error().front();
    EXPECT_EQ(config_json(*again), config_json(*config));
}

TEST(config_print, secrets_are_hidden) {
    config::gateway_config config;
    config.auth.keys.emplace_back().sha256 = std::string(64, 'e');
    config.coordination.backend = "redis://bob:secret@h:1/0";
    for (const std::string& printed : {config_yaml(config), config_json(config)}) {
        EXPECT_EQ(printed.find("eeee"), std::string::npos);
        EXPECT_EQ(printed.find("secret"), std::string::npos);
        EXPECT_NE(printed.find("redis://***@h:1/0"), std::string::npos);
    }
}

/// Paths of all keys: "pools[].queue.timeout".
class path_lister final : public section_visitor {
public:
    void field(const field_info& info, const value_ref& value) override {
        const std::string path = x_prefix + std::string(info.key);
        paths.push_back(path);
        descend(path, value);
    }
    std::vector<std::string> paths;

private:
    void descend(const std::string& path, const value_ref& value) {
        if (const auto* section = std::get_if<section_ref>(&value.kind)) {
            const std::string outer = std::exchange(x_prefix, path + ".");
            section->describe(*this);
            x_prefix = outer;
        } else if (const auto* list = std::get_if<list_ref>(&value.kind)) {
            descend(path + "[]", list->append());
        } else if (const auto* map = std::get_if<map_ref>(&value.kind)) {
            descend(path + ".*", map->at("x"));
        }
    }
    std::string x_prefix;
};

std::vector<std::string> all_paths() {
    config::gateway_config scratch;
    path_lister lister;
    describe(scratch, lister);
    return lister.paths;
}

/// The schema below `path`, or null.
const json::value* schema_at(const json::value& root, std::string_view path) {
    const json::value* at = &root;
    while (at != nullptr && !path.empty()) {
        if (const json::value* several = at->as_object().if_contains("oneOf")) {
            at = &several->as_array().front();
        }
        std::string_view step = path.substr(0, path.find_first_of(".["));
        if (path.starts_with("[]")) {
            at = at->as_object().if_contains("items");
            step = "[]";
        } else if (step == "*") {
            at = at->as_object().if_contains("additionalProperties");
        } else {
            at = at->as_object().at("properties").as_object().if_contains(step);
        }
        path.remove_prefix(step.size());
        path.remove_prefix(path.starts_with('.') ? 1 : 0);
    }
    return at;
}

TEST(config_schema, lists_every_key_with_its_meaning) {
    const json::value schema = json::parse(config_schema());
    const std::vector<std::string> paths = all_paths();
    EXPECT_GT(paths.size(), 80);
    for (const std::string& path : paths) {
        const json::value* one = schema_at(schema, path);
        ASSERT_NE(one, nullptr) << path;
        EXPECT_FALSE(one->as_object().at("description").as_string().empty()) << path;
    }
    EXPECT_FALSE(schema.as_object().at("additionalProperties").as_bool());
    EXPECT_EQ(*schema_at(schema, "pools[].name")->as_object().if_contains("type"), "string");
    EXPECT_EQ(
        schema_at(schema, "pools[]")->as_object().at("required"), json::array{json::value("name")}
    );
}

constexpr const char* public_keys[] = {
    "listen",
    "admin",
    "tls.cert",
    "tls.key",
    "tls.client_ca",
    "limits.header_bytes",
    "limits.body_bytes",
    "limits.queued_body_bytes",
    "limits.connections",
    "client_half_close",
    "threads",
    "auth.required",
    "auth.keys[].sha256",
    "auth.keys[].key_env",
    "auth.keys[].key_file",
    "auth.keys[].tenant",
    "auth.keys[].class",
    "auth.keys[].max_class",
    "auth.keys[].trust_tenant_header",
    "coordination.namespace",
    "coordination.backend",
    "coordination.admission",
    "coordination.registry",
    "coordination.quota",
    "coordination.admission_mode",
    "coordination.session_ttl",
    "coordination.heartbeat",
    "coordination.on_backend_loss",
    "coordination.on_permit_loss",
    "pools[].name",
    "pools[].models",
    "pools[].aliases",
    "pools[].context",
    "pools[].default_output",
    "pools[].kv.model_config",
    "pools[].kv.bytes_per_token",
    "pools[].kv.dtype",
    "pools[].kv.layout",
    "pools[].kv.block",
    "pools[].workers[].url",
    "pools[].workers[].slots",
    "pools[].workers[].kv_tokens",
    "pools[].workers[].probe",
    "pools[].workers[].api_key_env",
    "pools[].workers[].api_key_file",
    "pools[].queue.max_length",
    "pools[].queue.max_bytes",
    "pools[].queue.timeout",
    "pools[].queue.ageing",
    "pools[].queue.max_bypass",
    "pools[].queue.low_share",
    "pools[].queue.order",
    "pools[].slo.ttft",
    "pools[].slo.tpot",
    "pools[].tenants.*.weight",
    "pools[].tenants.*.concurrency",
    "pools[].timeouts.connect",
    "pools[].timeouts.first_token",
    "pools[].timeouts.idle",
    "pools[].timeouts.total",
    "pools[].timeouts.slow",
    "pools[].on_timeout.action",
    "pools[].on_timeout.pool",
    "pools[].on_timeout.body",
    "pools[].prediction.quantile",
    "pools[].prediction.window",
    "pools[].prediction.reserve",
    "pools[].usage",
    "pools[].routing",
    "pools[].retries",
    "quotas[].tenant",
    "quotas[].requests_per_minute",
    "quotas[].tokens_per_minute",
    "quotas[].burst",
    "body_priority",
    "queue_hints",
    "status_map",
    "log.level",
    "log.format",
    "otlp.endpoint"
};

TEST(config_schema, the_public_keys_are_there) {
    const json::value schema = json::parse(config_schema());
    for (const char* path : public_keys) {
        EXPECT_NE(schema_at(schema, path), nullptr) << path;
    }
}

std::string file_of(const std::string& name) {
    // SLUICE_TEST_DATA is <tree>/tests/data.
    std::stringstream text;
    text << std::ifstream(std::string(SLUICE_TEST_DATA) + "/../../" + name).rdbuf();
    return text.str();
}

TEST(config_docs, name_every_key) {
    const std::string guide = file_of("docs/configuration.md");
    ASSERT_FALSE(guide.empty());
    for (const std::string& path : all_paths()) {
        EXPECT_NE(guide.find("`" + path + "`"), std::string::npos) << path;
    }
}

TEST(config_examples, are_valid) {
    for (const char* name : {"minimal", "two-pools", "all-defaults"}) {
        const std::string text = file_of(std::string("examples/") + name + ".yaml");
        ASSERT_FALSE(text.empty()) << name;
        const auto config = read_config(text, name);
        EXPECT_TRUE(config) << config.error().front();
    }
    // What it calls defaults are the defaults.
    const auto shown = read_config(file_of("examples/all-defaults.yaml"), "all-defaults");
    ASSERT_TRUE(shown);
    config::gateway_config standard;
    standard.pools = shown->pools;
    EXPECT_EQ(config_yaml(*shown), config_yaml(standard));
    ASSERT_EQ(shown->pools.size(), 1);
    config::gateway_config pool;
    pool.pools.resize(1);
    pool.pools[0].name = shown->pools[0].name;
    pool.pools[0].models = shown->pools[0].models;
    pool.pools[0].workers = shown->pools[0].workers;
    EXPECT_EQ(config_yaml(*shown), config_yaml(pool));
}

}  // namespace
}  // namespace sluice::app
