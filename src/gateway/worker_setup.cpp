#include "gateway/worker_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

namespace sluice::gateway {

namespace {

constexpr duration patience = std::chrono::seconds(2);

struct asked_engine {
    std::size_t pool = 0;
    std::size_t worker = 0;
    net::endpoint address;
    std::string authorization;
    result<engine_facts> answer = fail(errc::timed_out, "it was not asked");
};

std::string_view name_of(config::probe_kind kind) {
    switch (kind) {
        case config::probe_kind::automatic:
            return "auto";
        case config::probe_kind::vllm:
            return "vllm";
        case config::probe_kind::sglang:
            return "sglang";
        case config::probe_kind::llamacpp:
            return "llamacpp";
        case config::probe_kind::tgi:
            return "tgi";
        case config::probe_kind::triton:
            return "triton";
        case config::probe_kind::nvml:
            return "nvml";
        case config::probe_kind::fixed:
            break;
    }
    return "static";
}

bool must_ask(const config::pool_options& pool, const config::worker_options& worker) {
    const bool incomplete = !worker.slots || !worker.kv_tokens || pool.models.empty();
    return incomplete && worker.probe != config::probe_kind::fixed;
}

net::task<void> ask(net::client_pool& client, net::executor where, asked_engine& one) {
    one.answer = co_await read_engine(client, where, one.address, one.authorization, patience);
}

void ask_all(std::vector<asked_engine>& engines) {
    net::asio::io_context context(1);
    net::client_pool client(context.get_executor());
    for (asked_engine& one : engines) {
        net::asio::co_spawn(
            context,
            ask(client, context.get_executor(), one),
            [](std::exception_ptr failed) {
                if (failed) {
                    std::rethrow_exception(failed);  // out of run(), to the caller of start()
                }
            }
        );
    }
    // The client's idle connections keep a timer; the answers are what is waited for.
    const auto end = std::chrono::steady_clock::now() + 2 * patience;
    const auto open = [&] {
        return std::ranges::any_of(engines, [](const asked_engine& one) {
            return !one.answer && one.answer.error().code == errc::timed_out &&
                   one.answer.error().message == "it was not asked";
        });
    };
    while (open() && std::chrono::steady_clock::now() < end && context.run_one_until(end) > 0) {
    }
}

std::int64_t guessed_slots(std::optional<tokens> kv) {
    if (!kv) {
        return fewest_slots;
    }
    return std::clamp(kv->count() / tokens_a_slot, fewest_slots, most_slots);
}

watched_worker make_worker(
    const config::pool_options& pool,
    const config::worker_options& from,
    net::endpoint address,
    worker_epoch epoch,
    const engine_facts* facts
) {
    watched_worker made;
    made.address = std::move(address);
    made.per_token = pool.kv.bytes_per_token.value_or(bytes(1));
    const std::optional<tokens> kv =
        from.kv_tokens ? from.kv_tokens : (facts != nullptr ? facts->kv_tokens : std::nullopt);
    const std::optional<std::int64_t> said = facts != nullptr ? facts->slots : std::nullopt;
    const std::int64_t slots = from.slots ? *from.slots : said.value_or(guessed_slots(kv));
    made.info.id = made.address.to_string();
    // With https, the files and the name that the address asks for are part of reaching it.
    made.info.address = made.address.tls ? from.url : "http://" + made.info.id;
    made.info.epoch = epoch;
    made.info.slots = static_cast<std::uint32_t>(std::clamp<std::int64_t>(slots, 1, 1'000'000));
    made.info.kv_capacity = kv ? bytes(kv->count()) * made.per_token.count() : bytes::max();
    made.info.max_token = fencing_token{};
    made.learn = facts == nullptr && must_ask(pool, from);
    made.learn_slots = !from.slots;
    made.learn_memory = !from.kv_tokens;
    made.note.probe = facts != nullptr && facts->vllm_names ? "vllm" : name_of(from.probe);
    if (facts != nullptr && !facts->models.empty()) {
        made.note.model = facts->models.front();
    } else if (!pool.models.empty()) {
        made.note.model = pool.models.front();
    }
    return made;
}

void add_facts(pool_setup& to, const engine_facts& facts) {
    for (const std::string& model : facts.models) {
        if (std::ranges::find(to.models, model) == to.models.end()) {
            to.models.push_back(model);
        }
    }
    if (facts.max_model_len) {
        to.max_model_len =
            std::min(to.max_model_len.value_or(*facts.max_model_len), *facts.max_model_len);
    }
}

void warn_unreachable(obs::logger& log, const config::pool_options& pool, const asked_engine& one) {
    log.write(obs::log_line(
                  obs::level::warn,
                  fmt::format(
                      "worker {} of pool '{}' does not answer ({}); it is registered with guesses "
                      "until it does",
                      one.address.to_string(),
                      pool.name,
                      one.answer.error().message
                  )
    )
                  .text("pool", pool.name)
                  .text("worker", one.address.to_string()));
}

result<std::vector<asked_engine>> list_engines(
    const config::gateway_config& config,
    const secrets& known_keys,
    std::vector<std::vector<net::endpoint>>& addresses
) {
    std::vector<asked_engine> engines;
    for (std::size_t p = 0; p < config.pools.size(); ++p) {
        const config::pool_options& pool = config.pools[p];
        std::vector<net::endpoint>& known = addresses.emplace_back();
        for (std::size_t w = 0; w < pool.workers.size(); ++w) {
            auto address = net::parse_endpoint(pool.workers[w].url);
            if (!address) {
                return fail(
                    errc::invalid_argument,
                    fmt::format("pool '{}': {}", pool.name, address.error().message)
                );
            }
            if (std::ranges::find(known, *address) != known.end()) {
                return fail(
                    errc::already_exists,
                    fmt::format(
                        "pool '{}' lists the worker {} twice; remove one",
                        pool.name,
                        address->to_string()
                    )
                );
            }
            if (must_ask(pool, pool.workers[w])) {
                engines.push_back(
                    {.pool = p,
                     .worker = w,
                     .address = *address,
                     .authorization = std::string(known_keys.of_worker(address->to_string()))}
                );
            }
            known.push_back(*std::move(address));
        }
    }
    return engines;
}

}  // namespace

result<std::vector<pool_setup>> set_up_workers(
    const config::gateway_config& config, const secrets& known, worker_epoch epoch, obs::logger& log
) {
    std::vector<std::vector<net::endpoint>> addresses;
    auto engines = list_engines(config, known, addresses);
    if (!engines) {
        return std::unexpected(std::move(engines.error()));
    }
    if (!engines->empty()) {
        ask_all(*engines);
    }
    std::vector<pool_setup> setups;
    for (std::size_t p = 0; p < config.pools.size(); ++p) {
        const config::pool_options& pool = config.pools[p];
        pool_setup& setup = setups.emplace_back();
        std::string trouble;
        for (std::size_t w = 0; w < pool.workers.size(); ++w) {
            const auto asked = std::ranges::find_if(*engines, [&](const asked_engine& one) {
                return one.pool == p && one.worker == w;
            });
            const engine_facts* facts = nullptr;
            if (asked != engines->end() && asked->answer) {
                facts = &*asked->answer;
                add_facts(setup, *facts);
            } else if (asked != engines->end()) {
                trouble = asked->answer.error().message;
                if (!pool.models.empty()) {
                    warn_unreachable(log, pool, *asked);
                }
            }
            setup.workers.push_back(
                make_worker(pool, pool.workers[w], addresses[p][w], epoch, facts)
            );
        }
        if (pool.models.empty() && setup.models.empty() && !pool.workers.empty()) {
            return fail(
                errc::unavailable,
                fmt::format(
                    "no worker of pool '{}' says which model it serves ({}); start the worker "
                    "first, or name its models in a configuration file",
                    pool.name,
                    trouble.empty() ? "none was asked" : trouble
                )
            );
        }
    }
    return setups;
}

}  // namespace sluice::gateway
