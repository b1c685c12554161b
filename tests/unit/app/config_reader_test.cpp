#include <gtest/gtest.h>

#include <cstdlib>

#include "app/config.hpp"

namespace sluice::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

config_problems problems_of(std::string_view yaml, const std::vector<config_override>& over = {}) {
    const auto read = read_config(yaml, "f.yaml", over);
    return read ? config_problems{} : read.error();
}

TEST(config_reader, nothing_means_defaults) {
    for (const char* empty : {"", "\n# only a comment\n", "---\n", "{}"}) {
        const auto config = read_config(empty, "f.yaml");
        ASSERT_TRUE(config) << config.error().front();
        EXPECT_EQ(config->listen, "127.0.0.1:8080");
        EXPECT_EQ(config->limits.body_bytes, config::mebibytes(32));
        EXPECT_FALSE(config->threads);
        EXPECT_TRUE(config->pools.empty());
    }
}

TEST(config_reader, a_whole_file) {
    const auto config = read_config(
        R"(
listen: "[::1]:80"
admin: 0.0.0.0:9
limits: {header_bytes: 16KiB, body_bytes: 1GiB, queued_body_bytes: 1GB, connections: 5}
client_half_close: tolerate
threads: 3
auth: {required: false, keys: []}
tls:
quotas: []
coordination: {namespace: a/b, backend: embedded, admission: embedded, registry: null,
               session_ttl: 5s, heartbeat: 1s}
pools:
  - name: llama
    models: [llama-3-8b, "日本"]
    aliases: {gpt-4o-mini: llama-3-8b, "a.b": "日本"}
    context: 8192
    default_output: 100
    kv: {model_config: null, bytes_per_token: 128KiB, dtype: bf16, layout: uniform, block: 32}
    workers:
      - {url: "http://127.0.0.1:8001", slots: 8, kv_tokens: 41408, probe: vllm}
      - url: http://[::1]:9000
        probe: auto
    queue: {max_length: 7, max_bytes: 1MiB, timeout: 2m, ageing: 250ms, max_bypass: 0,
            low_share: 10, order: fifo}
    timeouts: {connect: 1s, first_token: none, idle: 1m30s, total: 10m, slow: null}
    prediction: off
    routing: least_loaded
    retries: 0
  - {name: other, models: [b], prediction: {quantile: 0.95}}
status_map: {queue_timeout: 504, shed: 503}
log: {level: debug, format: text}
)",
        "f.yaml"
    );
    ASSERT_TRUE(config) << config.error().front();
    EXPECT_EQ(config->listen, "[::1]:80");
    EXPECT_EQ(config->limits.queued_body_bytes, bytes(1'000'000'000));
    EXPECT_EQ(config->client_half_close, config::half_close_policy::tolerate);
    EXPECT_EQ(config->threads, 3);
    EXPECT_EQ(config->coordination.name_space, "a/b");
    ASSERT_EQ(config->pools.size(), 2);
    const config::pool_options& pool = config->pools.front();
    EXPECT_EQ(pool.models, (std::vector<std::string>{"llama-3-8b", "日本"}));
    EXPECT_EQ(pool.aliases.at("a.b"), "日本");
    EXPECT_EQ(pool.context, tokens(8192));
    EXPECT_EQ(pool.kv.bytes_per_token, bytes(131'072));
    EXPECT_EQ(pool.kv.dtype, config::kv_dtype::bf16);
    EXPECT_EQ(pool.kv.block, 32);
    ASSERT_EQ(pool.workers.size(), 2);
    EXPECT_EQ(pool.workers[0].slots, 8);
    EXPECT_EQ(pool.workers[0].kv_tokens, tokens(41'408));
    EXPECT_EQ(pool.workers[0].probe, config::probe_kind::vllm);
    EXPECT_FALSE(pool.workers[1].slots);
    EXPECT_EQ(pool.queue.timeout, seconds(120));
    EXPECT_EQ(pool.queue.ageing, milliseconds(250));
    EXPECT_EQ(pool.queue.max_bypass, 0);
    EXPECT_EQ(pool.queue.low_share, 10);
    EXPECT_EQ(pool.queue.order, config::queue_order::fifo);
    EXPECT_FALSE(pool.timeouts.first_token);
    EXPECT_EQ(pool.timeouts.idle, seconds(90));
    EXPECT_FALSE(pool.timeouts.slow);
    EXPECT_FALSE(pool.prediction.enabled);
    EXPECT_TRUE(config->pools[1].prediction.enabled);
    EXPECT_EQ(config->status_map.at("queue_timeout"), 504);
    EXPECT_EQ(config->log.level, config::log_level::debug);
}

struct mistake {
    const char* yaml;
    const char* words;  ///< The whole line.
};

TEST(config_reader, each_mistake_has_its_line_column_path_and_expectation) {
    const std::vector<mistake> all{
        {"lisen: a:1", "f.yaml:1:1: lisen: unknown key; did you mean 'listen'?"},
        {"tls:\n  whatever: 1",
         "f.yaml:2:3: tls.whatever: unknown key; known here: cert, key, client_ca"},
        {"listen: here",
         "f.yaml:1:9: listen: expected an address such as 127.0.0.1:8080, got 'here'"},
        {"listen: a:70000",
         "f.yaml:1:9: listen: expected an address such as 127.0.0.1:8080, got 'a:70000'"},
        {"listen:", "f.yaml:1:1: listen: expected an address such as 127.0.0.1:8080, got nothing"},
        {"listen: [a]", "f.yaml:1:9: listen: expected an address such as 127.0.0.1:8080, got a list"
        },
        {"threads: 0",
         "f.yaml:1:10: threads: expected a whole number from 1 to 1024, or null, "
         "got '0'"},
        {"threads: many",
         "f.yaml:1:10: threads: expected a whole number from 1 to 1024, or null, "
         "got 'many'"},
        {"limits: {body_bytes: 3 apples}",
         "f.yaml:1:22: limits.body_bytes: expected a size such as 64KiB, got '3 apples'"},
        {"limits: {body_bytes: 2TiB}",
         "f.yaml:1:22: limits.body_bytes: expected a size from 1KiB to 1GiB, got '2TiB'"},
        {"limits: 5", "f.yaml:1:9: limits: expected a map of settings, got '5'"},
        {"pools: {}", "f.yaml:1:8: pools: expected a list, got a map"},
        {"pools:\n- name: p\n  queue: {timeout: soon}",
         "f.yaml:3:20: pools[0].queue.timeout: expected a duration such as 30s, got 'soon'"},
        {"pools:\n- name: p\n  queue: {timeout: 2d}",
         "f.yaml:3:20: pools[0].queue.timeout: expected a duration from 1ms to 1d, got '2d'"},
        {"pools:\n- name: p\n  timeouts: {idle: -1s}",
         "f.yaml:3:20: pools[0].timeouts.idle: expected a duration such as 30s or none, got '-1s'"},
        {"pools:\n- name: p\n  queue: {order: best}",
         "f.yaml:3:18: pools[0].queue.order: expected one of fair, deadline, fifo, got 'best'"},
        {"pools:\n- models: [a]",
         "f.yaml:2:3: pools[0].name: is missing; expected a name of letters, digits and "
         ". _ - / :"},
        {"pools:\n- name: p\n  prediction: {quantile: 1}",
         "f.yaml:3:26: pools[0].prediction.quantile: expected a number from 0.01 to 0.9999, "
         "got '1'"},
        {"pools:\n- name: p\n  prediction: maybe",
         "f.yaml:3:15: pools[0].prediction: expected a map of settings, or off, got 'maybe'"},
        {"pools:\n- name: p\n  workers: [{url: 'ftp://h'}]",
         "f.yaml:3:19: pools[0].workers[0].url: expected a URL such as http://127.0.0.1:8001, "
         "got 'ftp://h'"},
        {"pools:\n- name: p\n  workers: [{slots: 1}]",
         "f.yaml:3:13: pools[0].workers[0].url: is missing; expected a URL such as "
         "http://127.0.0.1:8001"},
        {"log: {level: info}\nadmin: a:1\nlog: {level: warn}",
         "f.yaml:3:1: log: given twice, first at line 1; keep one of them"},
        {"status_map: {queue_timeot: 503}",
         "f.yaml:1:28: status_map.queue_timeot: unknown reason; did you mean 'queue_timeout'?"},
        {"status_map: {shed: 200}",
         "f.yaml:1:20: status_map.shed: expected a whole number from 400 to 599, got '200'"},
        {"queue_hints: perhaps", "f.yaml:1:14: queue_hints: expected on or off, got 'perhaps'"},
        {"? [a]\n: 1", "f.yaml:1:3: expected a plain word as key"},
        {"listen: a:1\n---\nlisten: b:1", "f.yaml:3:1: a second document; one file holds one"},
        {"- a", "f.yaml:1:1: expected a map of settings such as 'listen: 127.0.0.1:8080'"},
        {"a: 1\nb: \x04\nlisten: here", "f.yaml:2:4: not UTF-8 text; save the file as plain text"},
    };
    for (const mistake& one : all) {
        EXPECT_EQ(problems_of(one.yaml), config_problems{one.words}) << one.yaml;
    }
}

TEST(config_reader, relations_between_fields) {
    const std::vector<mistake> all{
        {"pools:\n- {name: p}\n- {name: p}",
         "f.yaml:3:10: pools[1].name: the pool 'p' is in pools[0] already; a name belongs to one "
         "place"},
        {"pools:\n- {name: p, models: [m, m]}",
         "f.yaml:2:25: pools[0].models[1]: the model 'm' is in pools[0] already; a name belongs "
         "to one place"},
        {"pools:\n- {name: p, models: [m]}\n- {name: q, aliases: {m: x}, models: [x]}",
         "f.yaml:3:26: pools[1].aliases.m: the model or alias 'm' is in pools[0] already; a name "
         "belongs to one place"},
        {"pools:\n- {name: p, models: [m], aliases: {a: n}}",
         "f.yaml:2:39: pools[0].aliases.a: expected one of the pool's models, got 'n'"},
        {"pools:\n- {name: p, kv: {model_config: f, bytes_per_token: 1}}",
         "f.yaml:2:17: pools[0].kv: expected one of model_config and bytes_per_token, got both"},
        {"pools:\n- {name: p, workers: [{url: 'http://h:1', probe: static, slots: 1}]}",
         "f.yaml:2:23: pools[0].workers[0]: expected slots and kv_tokens with probe: static"},
        {"pools:\n- {name: p, workers: [{url: 'http://h:1', api_key_env: A, api_key_file: b}]}",
         "f.yaml:2:23: pools[0].workers[0]: expected one of api_key_env and api_key_file, got "
         "both"},
        {"auth: {required: true}",
         "f.yaml:1:18: auth.required: expected at least one key in auth.keys"},
        {"auth: {keys: [{tenant: t}]}",
         "f.yaml:1:15: auth.keys[0]: expected exactly one of sha256, key_env, key_file"},
        {"auth: {keys: [{tenant: t, key_env: A, class: high, max_class: low}]}",
         "f.yaml:1:46: auth.keys[0].class: expected a class that is not above max_class"},
        {"coordination: {heartbeat: 6s}",
         "f.yaml:1:27: coordination.heartbeat: expected at most half of session_ttl (10s), got "
         "6s"},
    };
    for (const mistake& one : all) {
        EXPECT_EQ(problems_of(one.yaml), config_problems{one.words}) << one.yaml;
    }
}

TEST(config_reader, what_is_known_and_not_available_is_refused_and_never_ignored) {
    const std::vector<std::string> all{
        "coordination: {backend: 'redis://h:1'}",
        "coordination: {admission: 'zookeeper://h:1'}",
        "coordination: {registry: 'etcd://h:1'}",
        "coordination: {quota: 'redis://h:1'}",
        "coordination: {admission_mode: local_queue}",
        "coordination: {on_backend_loss: local}",
        "quotas: [{tenant: '*', requests_per_minute: 1}]",
        "queue_hints: on",
        "otlp: {endpoint: 'http://h:1'}",
        "pools: [{name: p, kv: {layout: window_capped}}]",
        "pools: [{name: p, kv: {dtype: fp8_ds_mla}}]",
        "pools: [{name: p, workers: [{url: 'http://h:1', probe: sglang}]}]",
        "pools: [{name: p, queue: {order: deadline}}]",
        "pools: [{name: p, slo: {ttft: 2s}}]",
        "pools: [{name: p, slo: {tpot: 50ms}}]",
        "pools: [{name: p, tenants: {a: {weight: 3}}}]",
        "pools: [{name: p, on_timeout: {action: answer, body: x}}]",
        "pools: [{name: p, prediction: {quantile: 0.9}}]",
        "pools: [{name: p, usage: inject}]",
        "pools: [{name: p, routing: prefix}]",
        "pools: [{name: p, routing: round_robin}]",
    };
    for (const std::string& yaml : all) {
        const config_problems problems = problems_of(yaml);
        ASSERT_EQ(problems.size(), 1) << yaml;
        EXPECT_NE(problems[0].find("is not available in this version"), std::string::npos)
            << problems[0];
        EXPECT_EQ(problems[0].find("f.yaml:1:"), 0) << problems[0];
    }
    EXPECT_EQ(
        problems_of("coordination: {backend: 'redis://h:1'}"),
        config_problems{"f.yaml:1:25: coordination.backend: redis://h:1 is not available in this "
                        "version; embedded is"}
    );
}

TEST(config_reader, every_problem_of_a_file_in_its_order) {
    const config_problems problems = problems_of(
        "log: {level: loud}\n"
        "lisen: x\n"
        "pools:\n"
        "- name: p\n"
        "  queue: {timeout: soon, max_length: 0}\n"
        "  routing: prefix\n"
        "admin: 5\n"
    );
    ASSERT_EQ(problems.size(), 6);
    for (std::size_t i = 0; i < 6; ++i) {
        const int line[] = {1, 2, 5, 5, 6, 7};
        EXPECT_EQ(problems[i].find("f.yaml:" + std::to_string(line[i]) + ":"), 0) << problems[i];
    }
}

TEST(config_reader, passwords_and_hashes_stay_out_of_messages) {
    for (const char* yaml :
         {"coordination: {backend: 'redis://bob:secret@h:1'}",
          "coordination: {backend: 'redis://bob:sec/ret@h:1'}",
          "coordination: {backend: 'mysql://bob:secret@h:1'}",
          "auth: {keys: [{tenant: t, sha256: my-secret-key}]}"}) {
        for (const std::string& line : problems_of(yaml)) {
            EXPECT_EQ(line.find("sec"), std::string::npos) << line;
        }
        EXPECT_FALSE(problems_of(yaml).empty());
    }
}

TEST(config_reader, hostile_files_end_in_a_message) {
    const std::string open(100'000, '[');
    const std::string long_key = std::string(100'000, 'k') + ": 1";
    for (const std::string& yaml :
         {open,
          std::string("a: [1"),
          std::string("\t- x"),
          std::string("\xff\xfe\x41"),
          std::string("a: b: c"),
          std::string("x: &x [*x]\npools: *x"),
          long_key,
          std::string("&a [*a]"),
          std::string("%YAML 9.9\n---\nx"),
          std::string("!!binary x: y"),
          std::string("listen: !!int 5"),
          std::string("a: *nope")}) {
        const config_problems problems = problems_of(yaml);
        ASSERT_FALSE(problems.empty()) << yaml.substr(0, 20);
        EXPECT_EQ(problems[0].find("f.yaml:"), 0);
        EXPECT_LT(problems[0].size(), 500) << yaml.substr(0, 20);
    }
}

TEST(config_reader, overrides_beat_the_file_and_name_themselves) {
    const auto config = read_config(
        "listen: a:1\nlimits: {body_bytes: 2MiB}\nthreads: 4",
        "f.yaml",
        {{"listen", "b:2", "SLUICE_LISTEN"},
         {"listen", "c:3", "--listen"},
         {"limits.body_bytes", "1MiB", "SLUICE_LIMITS_BODY_BYTES"},
         {"threads", "null", "SLUICE_THREADS"}}
    );
    ASSERT_TRUE(config) << config.error().front();
    EXPECT_EQ(config->listen, "c:3") << "the later one wins";
    EXPECT_EQ(config->limits.body_bytes, config::mebibytes(1));
    EXPECT_FALSE(config->threads);
    EXPECT_EQ(
        problems_of("", {{"limits.body_bytes", "lots", "SLUICE_LIMITS_BODY_BYTES"}}),
        config_problems{"SLUICE_LIMITS_BODY_BYTES: expected a size such as 64KiB, got 'lots'"}
    );
    EXPECT_EQ(
        problems_of("", {{"no.such", "1", "--x"}}),
        config_problems{"--x: names no setting of sluice.yaml"}
    );
    EXPECT_EQ(
        problems_of(
            "", {{"coordination.backend", "redis://u:pw@h", "SLUICE_COORDINATION_BACKEND"}}
        ),
        config_problems{"SLUICE_COORDINATION_BACKEND: redis://***@h is not available in this "
                        "version; embedded is"}
    );
}

TEST(config_reader, environment) {
    const auto names = environment_names();
    EXPECT_EQ(names.at("SLUICE_LISTEN"), "listen");
    EXPECT_EQ(names.at("SLUICE_LIMITS_BODY_BYTES"), "limits.body_bytes");
    EXPECT_EQ(names.at("SLUICE_LOG_LEVEL"), "log.level");
    EXPECT_EQ(names.at("SLUICE_COORDINATION_NAMESPACE"), "coordination.namespace");
    EXPECT_FALSE(names.contains("SLUICE_POOLS"));
    setenv("SLUICE_LOG_LEVEL", "error", 1);
    setenv("SLUICE_THREADS", "", 1);
    const auto overrides = environment_overrides();
    unsetenv("SLUICE_LOG_LEVEL");
    unsetenv("SLUICE_THREADS");
    const auto config = read_config("log: {level: debug}\nthreads: 2", "f.yaml", overrides);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->log.level, config::log_level::error);
    EXPECT_EQ(config->threads, 2) << "an empty variable counts as absent";
}

TEST(config_reader, files_that_cannot_be_read) {
    const auto missing = load_config("/nonexistent/sluice.yaml", {});
    ASSERT_FALSE(missing);
    EXPECT_EQ(
        missing.error(), config_problems{"/nonexistent/sluice.yaml does not exist; check the path"}
    );
    const auto folder = load_config("/tmp", {});
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error(), config_problems{"/tmp is a directory, not a file"});
    const auto endless = load_config("/dev/zero", {});
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error(), config_problems{"/dev/zero is longer than 4MiB"});
}

}  // namespace
}  // namespace sluice::app
