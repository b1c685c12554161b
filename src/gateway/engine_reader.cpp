#include "gateway/engine_reader.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "net/abort.hpp"
#include "worker/vllm_probe.hpp"

namespace sluice::gateway {

namespace {

/// More than any engine's metrics; a page beyond it is not read.
constexpr std::size_t largest_page = std::size_t{4} << 20;

struct page {
    int status = 0;
    std::string body;
};

/// One GET, ended by `signal`.
net::task<result<page>> get(
    net::client_pool& client,
    const net::endpoint& engine,
    std::string_view target,
    std::string_view authorization,
    duration connect,
    net::abort_signal& signal
) {
    auto opened = co_await client.open(engine, connect, signal);
    if (!opened) {
        co_return std::unexpected(std::move(opened.error()));
    }
    net::upstream& up = *opened;
    const net::abort_action stop(signal, [&up] { up.close(); });
    net::request_out request;
    request.method = "GET";
    request.target = target;
    const net::header_field key{"authorization", authorization};
    if (!authorization.empty()) {
        request.fields = {&key, 1};
    }
    if (auto sent = co_await up.send(request); !sent) {
        co_return std::unexpected(std::move(sent.error()));
    }
    const auto head = co_await up.read_head();
    if (!head) {
        co_return std::unexpected(head.error());
    }
    page got;
    got.status = (*head)->status;
    for (;;) {
        const auto piece = co_await up.read_body();
        if (!piece) {
            co_return std::unexpected(piece.error());
        }
        if (piece->empty()) {
            co_return got;
        }
        if (got.body.size() + piece->size() > largest_page) {
            co_return fail(
                errc::limit_exceeded,
                engine.to_string() + " answers " + std::string(target) + " with more than 4 MiB"
            );
        }
        got.body += *piece;
    }
}

void read_models(const std::string& body, engine_facts& facts) {
    boost::system::error_code failed;
    const boost::json::value root = boost::json::parse(body, failed);
    const auto* const object = failed ? nullptr : root.if_object();
    const auto* const data = object != nullptr ? object->if_contains("data") : nullptr;
    const auto* const list = data != nullptr ? data->if_array() : nullptr;
    if (list == nullptr) {
        return;
    }
    for (const boost::json::value& entry : *list) {
        const auto* const model = entry.if_object();
        const auto* const id = model != nullptr ? model->if_contains("id") : nullptr;
        if (id == nullptr || !id->is_string()) {
            continue;
        }
        facts.models.emplace_back(id->get_string());
        const auto* const length = model->if_contains("max_model_len");
        if (length != nullptr && length->is_int64() && length->get_int64() > 0) {
            facts.max_model_len = length->get_int64();
        }
    }
}

}  // namespace

net::task<result<engine_facts>> read_engine(
    net::client_pool& client,
    net::executor where,
    net::endpoint engine,
    std::string authorization,
    duration limit
) {
    net::abort_signal signal;
    net::deadline timer(where, signal, 1);
    timer.arm(limit);
    const auto models = co_await get(client, engine, "/v1/models", authorization, limit, signal);
    if (!models) {
        co_return std::unexpected(models.error());
    }
    engine_facts facts;
    if (models->status == 200) {
        read_models(models->body, facts);
    }
    const auto metrics = co_await get(client, engine, "/metrics", authorization, limit, signal);
    if (metrics && metrics->status == 200) {
        const auto figures = worker::read_vllm_page(metrics->body);
        facts.vllm_names = figures.known();
        facts.slots = figures.max_num_seqs;
        facts.kv_tokens = figures.kv_tokens();
    }
    if (facts.models.empty() && !facts.vllm_names) {
        co_return fail(
            errc::protocol_error,
            engine.to_string() +
                " answers, but neither lists a model on /v1/models nor shows vLLM's "
                "figures on /metrics; give models, slots and kv_tokens in a file"
        );
    }
    co_return facts;
}

net::task<bool> answers(
    net::client_pool& client,
    net::executor where,
    net::endpoint engine,
    std::string authorization,
    duration limit
) {
    net::abort_signal signal;
    net::deadline timer(where, signal, 1);
    timer.arm(limit);
    const auto got = co_await get(client, engine, "/health", authorization, limit, signal);
    co_return got.has_value();
}

}  // namespace sluice::gateway
