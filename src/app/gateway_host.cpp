#include "app/gateway_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <thread>

#include "admin/console.hpp"
#include "app/cli_options.hpp"
#include "app/http_get.hpp"
#include "app/model_config.hpp"
#include "app/units_text.hpp"
#include "coord/factory/open_pool.hpp"

namespace sluice::app {

namespace {

namespace json = boost::json;

constexpr duration patience = std::chrono::seconds(2);
constexpr std::size_t largest_key_file = std::size_t{64} * 1024;

core::kv_element element_of(config::kv_dtype dtype) {
    switch (dtype) {
        case config::kv_dtype::fp16:
            return core::kv_element::fp16;
        case config::kv_dtype::bf16:
            return core::kv_element::bf16;
        case config::kv_dtype::fp8:
        case config::kv_dtype::fp8_ds_mla:
            return core::kv_element::fp8;
        case config::kv_dtype::int8:
        case config::kv_dtype::int8_per_head:
            return core::kv_element::int8;
    }
    return core::kv_element::fp16;
}

result<std::string> ask_model(const std::string& url) {
    const auto body = http_get(url, "/v1/models", patience);
    if (!body) {
        return std::unexpected(body.error());
    }
    json::error_code problem;
    const json::value value = json::parse(*body, problem);
    const json::value* id = problem ? nullptr : value.find_pointer("/data/0/id", problem);
    if (id == nullptr || !id->is_string()) {
        return fail(errc::protocol_error, "GET /v1/models names no model");
    }
    return std::string(id->as_string());
}

result<std::string> read_variable(const std::string& name) {
    const char* const text = std::getenv(name.c_str());
    if (text == nullptr || *text == '\0') {
        return fail(
            errc::not_found, fmt::format("the environment variable {} holds no key; set it", name)
        );
    }
    return std::string(text);
}

result<std::string> read_file(const std::string& path) {
    file_text read = read_whole_file(path, largest_key_file);
    if (!read.text) {
        return fail(errc::not_found, std::move(read.problem));
    }
    return *std::move(read.text);
}

}  // namespace

gateway::wiring make_wiring(std::shared_ptr<obs::logger> log, duration grace) {
    gateway::wiring parts;
    parts.open_pool = coord::open_pool;
    parts.open_admin = [](net::io_pool& pool, std::string_view listen, coord::live_view view
                       ) -> result<gateway::side_port> {
        auto console = std::make_shared<admin::console>(pool, std::string(listen), std::move(view));
        if (auto started = console->start(); !started) {
            return std::unexpected(std::move(started.error()));
        }
        return gateway::side_port{console->address(), console};
    };
    parts.read_secret = {read_variable, read_file};
    parts.log = std::move(log);
    parts.grace = grace;
    return parts;
}

std::size_t thread_count(const config::gateway_config& config) {
    const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    return config.threads ? static_cast<std::size_t>(*config.threads) : cores;
}

result<void> resolve_models(config::gateway_config& config) {
    for (config::pool_options& pool : config.pools) {
        if (!pool.kv.model_config) {
            continue;
        }
        const auto model = load_model_config(*pool.kv.model_config);
        if (!model) {
            return fail(
                model.error().code, fmt::format("pool '{}': {}", pool.name, model.error().message)
            );
        }
        const auto cost = core::make_kv_model(model->shape, element_of(pool.kv.dtype));
        if (!cost) {
            return fail(
                cost.error().code, fmt::format("pool '{}': {}", pool.name, cost.error().message)
            );
        }
        pool.kv.bytes_per_token = cost->bytes_per_token;
    }
    return {};
}

result<std::vector<config::pool_options>> pools_of_workers(const std::vector<std::string>& urls) {
    std::vector<config::pool_options> pools;
    for (const std::string& url : urls) {
        const auto model = ask_model(url);
        if (!model) {
            return fail(
                model.error().code,
                fmt::format(
                    "the worker {} does not say which model it serves ({}); start it first, or "
                    "name its model in a configuration file",
                    printable(url),
                    model.error().message
                )
            );
        }
        auto pool = std::ranges::find_if(pools, [&model](const config::pool_options& one) {
            return one.models.front() == *model;
        });
        if (pool == pools.end()) {
            pool = pools.emplace(pools.end());
            pool->name = *model;
            pool->models.push_back(*model);
        }
        pool->workers.emplace_back().url = url;
    }
    return pools;
}

}  // namespace sluice::app
