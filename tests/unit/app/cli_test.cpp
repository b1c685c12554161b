// The command line as a whole: exit codes, where words go, and JSON that scripts can read.
#include "app/cli.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "app/demo_traffic.hpp"
#include "app/gateway_host.hpp"
#include "app/verbs.hpp"

namespace sluice::app {
namespace {

namespace json = boost::json;

struct outcome {
    int code = 0;
    std::string out;
    std::string err;
};

outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), "sluice");
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    outcome got;
    got.code = run_command_line(static_cast<int>(words.size()), argv.data());
    got.out = testing::internal::GetCapturedStdout();
    got.err = testing::internal::GetCapturedStderr();
    return got;
}

std::string write(const std::string& name, const std::string& text) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "sluice-cli-test";
    std::filesystem::create_directories(folder);
    const std::string path = folder / name;
    std::ofstream(path) << text;
    return path;
}

TEST(cli, help_everywhere_with_an_example) {
    EXPECT_EQ(run({"-h"}).code, exit_ok);
    for (const verb& one : verbs()) {
        const outcome help = run({std::string(one.name), "-h"});
        EXPECT_EQ(help.code, exit_ok) << one.name;
        EXPECT_NE(help.out.find("Example"), std::string::npos) << one.name;
        EXPECT_TRUE(help.err.empty()) << one.name;
        EXPECT_NE(run({"-h"}).out.find(one.name), std::string::npos);
    }
    for (const char* sub : {"check", "show", "schema"}) {
        EXPECT_NE(run({"config", sub, "-h"}).out.find("Example"), std::string::npos) << sub;
    }
}

TEST(cli, what_makes_no_sense_is_a_usage_error_in_one_line) {
    const std::vector<std::vector<std::string>> all{
        {},
        {"nonsense"},
        {"--nonsense"},
        {"version", "--nonsense"},
        {"kv"},
        {"kv", "a.json", "--tokens", "x"},
        {"kv", "a.json", "--dtype", "fp7"},
        {"kv", "a.json", "--block", "0"},
        {"config"},
        {"config", "check"},
        {"config", "show", "-o", "xml"},
        {"gateway"},
        {"gateway", "--config", "a", "--worker", "http://b:1"},
        {"load", "--target", "http://127.0.0.1:1"},
        {"load", "--trace", "a", "--target", "b", "--for", "10"},
        {"load", "--trace", "a", "--target", "b", "--speed", "0"},
        {"engine", "--slots", "many"},
        {"demo", "--workers", "0"},
        {"status", "-o", "yaml"},
    };
    for (const auto& words : all) {
        const outcome got = run(words);
        EXPECT_EQ(got.code, exit_usage) << testing::PrintToString(words);
        EXPECT_TRUE(got.out.empty());
        EXPECT_EQ(std::ranges::count(got.err, '\n'), 1) << got.err;
        EXPECT_EQ(got.err.find("sluice"), 0) << got.err;
    }
}

TEST(cli, what_fails_says_one_sentence) {
    const std::string empty = write("empty.yaml", "");
    const std::string model = write("model.json", "{}");
    const std::string trace = write("trace.csv", "nothing\n");
    const std::vector<std::vector<std::string>> all{
        {"config", "check", "-c", "/nonexistent.yaml"},
        {"gateway", "-c", "/nonexistent.yaml"},
        {"gateway", "-c", empty},
        {"gateway", "-c", empty, "--listen", "here"},
        {"gateway", "--worker", "http://127.0.0.1:1"},
        {"kv", "/nonexistent.json"},
        {"kv", model},
        {"load", "--trace", "/nonexistent.csv", "--target", "http://127.0.0.1:1"},
        {"load", "--trace", trace, "--target", "http://127.0.0.1:1"},
        {"load", "--trace", trace, "--target", "::::"},
        {"status", "--admin", "http://127.0.0.1:1"},
        {"engine", "--listen", "here"},
        {"engine", "--profile", "abacus", "--listen", "127.0.0.1:0"},
        {"demo", "--listen", "here"},
    };
    for (const auto& words : all) {
        const outcome got = run(words);
        EXPECT_EQ(got.code, exit_failure) << testing::PrintToString(words) << got.err;
        EXPECT_TRUE(got.out.empty()) << got.out;
        EXPECT_EQ(std::ranges::count(got.err, '\n'), 1) << got.err;
        EXPECT_EQ(got.err.find("sluice " + words.front()), 0) << got.err;
    }
}

TEST(cli, version) {
    EXPECT_EQ(run({"version"}).out, "sluice " SLUICE_VERSION "\n");
    EXPECT_EQ(run({"--version"}).out, "sluice " SLUICE_VERSION "\n");
    EXPECT_EQ(json::parse(run({"version", "-o", "json"}).out).at("version"), SLUICE_VERSION);
}

TEST(cli, kv_as_json) {
    const std::string path = write(
        "llama.json",
        R"({"num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128})"
    );
    const outcome got = run({"kv", path, "--tokens", "4097", "--dtype", "fp8", "-o", "json"});
    ASSERT_EQ(got.code, exit_ok) << got.err;
    const json::value out = json::parse(got.out);
    EXPECT_EQ(out.at("bytes_per_token"), 163'840);
    EXPECT_EQ(out.at("tokens"), 4097);
    EXPECT_EQ(out.at("bytes"), 673'710'080);
    EXPECT_EQ(out.at("fixed_bytes"), 0);
    EXPECT_EQ(out.at("layout"), "uniform");
    EXPECT_EQ(out.at("family"), "gqa");
    const outcome exact = run({"kv", path, "--tokens", "4097", "--block", "1", "-o", "json"});
    EXPECT_EQ(json::parse(exact.out).at("bytes"), 327'680LL * 4097);

    const outcome unknown = run({"kv", write("zzz.json", R"({"model_type":"zzz"})"), "-o", "json"});
    EXPECT_EQ(unknown.code, exit_failure);
    EXPECT_EQ(json::parse(unknown.out).at("error").at("code"), "unknown_model");
    const outcome three = run({"kv", path, "--tp", "3", "-o", "json"});
    EXPECT_EQ(three.code, exit_failure);
    EXPECT_EQ(json::parse(three.out).at("error").at("code"), "invalid_argument");
    EXPECT_EQ(run({"kv", path, "--dtype", "fp8_ds_mla"}).code, exit_failure);
}

TEST(cli, config_verbs) {
    const std::string path = write("good.yaml", "listen: 127.0.0.1:1\npools: [{name: p}]\n");
    EXPECT_EQ(run({"config", "check", "-c", path}).out, path + " is valid\n");
    EXPECT_NE(
        run({"config", "show", "-c", path}).out.find("listen: 127.0.0.1:1\n"), std::string::npos
    );
    EXPECT_EQ(
        json::parse(run({"config", "show", "-c", path, "-o", "json"}).out).at("listen"),
        "127.0.0.1:1"
    );
    EXPECT_EQ(json::parse(run({"config", "schema"}).out).at("title"), "sluice.yaml");
    const outcome bad = run({"config", "check", "-c", write("bad.yaml", "a: 1\nb: 2\n")});
    EXPECT_EQ(bad.code, exit_failure);
    EXPECT_EQ(std::ranges::count(bad.err, '\n'), 2) << "one line a problem";
}

TEST(gateway_host, model_configurations_become_bytes) {
    config::gateway_config config;
    config.pools.resize(2);
    config.pools[0].name = "p";
    config.pools[0].kv.model_config =
        write("shape.json", R"({"num_hidden_layers":2,"num_attention_heads":4,"head_dim":8})");
    config.pools[0].kv.dtype = config::kv_dtype::fp8;
    ASSERT_TRUE(resolve_models(config));
    EXPECT_EQ(config.pools[0].kv.bytes_per_token, bytes(2 * 2 * 4 * 8));
    EXPECT_FALSE(config.pools[1].kv.bytes_per_token);

    config.pools[1].name = "q";
    config.pools[1].kv.model_config = write("unknown.json", "{}");
    const auto refused = resolve_models(config);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::not_found);
    EXPECT_NE(refused.error().message.find("pool 'q'"), std::string::npos);
}

TEST(demo_traffic, is_mixed_and_the_same_every_time) {
    const sim::trace one = demo_trace(2, 1);
    const sim::trace same = demo_trace(2, 1);
    ASSERT_EQ(one.requests.size(), same.requests.size());
    EXPECT_GT(one.requests.size(), 500);
    std::array<int, 3> tenants{};
    std::array<int, 3> classes{};
    for (std::size_t i = 0; i < one.requests.size(); ++i) {
        EXPECT_EQ(one.requests[i].arrival, same.requests[i].arrival);
        EXPECT_EQ(one.requests[i].input, same.requests[i].input);
        EXPECT_TRUE(i == 0 || one.requests[i].arrival > one.requests[i - 1].arrival);
        ++tenants.at(one.requests[i].tenant);
        ++classes.at(static_cast<std::size_t>(one.requests[i].cls));
    }
    EXPECT_GT(tenants[0], tenants[2]);
    EXPECT_GT(tenants[2], 0);
    EXPECT_GT(classes[0], 0);
    EXPECT_GT(classes[2], 0);
    EXPECT_LT(demo_trace(1, 1).requests.size(), one.requests.size());
}

}  // namespace
}  // namespace sluice::app
