// Answers the requests of one simulated engine: what vLLM's server does around its engine.
//
//     POST /v1/chat/completions, /v1/completions   plain and streamed
//     POST /v1/embeddings
//     GET  /v1/models, /health, /metrics, /stats, /version
//
// handle() runs on the connection's strand, for any number of connections on any contexts.
// A client that leaves ends its coroutine, and with it the request in the model.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/answer_text.hpp"
#include "engine/driver.hpp"
#include "engine/faults.hpp"
#include "net/server.hpp"

namespace sluice::engine {

class service {
public:
    service(
        std::string model,
        fault_plan faults,
        const sim::engine_settings& settings,
        std::shared_ptr<driver> clock
    );

    net::task<> handle(net::exchange& client);

private:
    net::task<> answer_get(net::exchange& client, std::string_view path);
    net::task<> generate(net::exchange& client, openai::endpoint_kind kind);
    /// Nothing when the request cannot be served; the answer has been given then.
    net::task<std::optional<openai::request_facts>> read_request(
        net::exchange& client, openai::endpoint_kind kind, std::string_view body
    );
    answer_plan plan_answer(
        openai::endpoint_kind kind, const openai::request_facts& facts, std::string_view body
    );
    net::task<> answer_refusal(net::exchange& client, const generation& refused);
    net::task<> stream(
        net::exchange& client,
        const generation_handle& run,
        const answer_plan& plan,
        const request_faults& faults
    );
    net::task<> answer_whole(
        net::exchange& client,
        const generation_handle& run,
        const std::string& body,
        const request_faults& faults
    );
    net::task<> respond_json(net::exchange& client, int status, std::string_view body);
    net::task<> respond_error(
        net::exchange& client,
        int status,
        std::string_view code,
        std::string_view message,
        std::string_view param = {}
    );

    const std::string x_model;
    const fault_plan x_faults;
    const sim::engine_settings x_settings;
    const tokens x_longest;
    const std::int64_t x_created;
    const std::shared_ptr<driver> x_driver;
    std::atomic<std::int64_t> x_requests = 0;
};

}  // namespace sluice::engine
