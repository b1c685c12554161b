#include "engine/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/json_text.hpp"
#include "net/event.hpp"

namespace sluice::engine {

namespace {

using net::header_field;
using net::task;
using openai::endpoint_kind;

constexpr bytes body_limit{32 * 1024 * 1024};

constexpr std::array json_fields{header_field{"content-type", "application/json"}};
constexpr std::array metrics_fields{
    header_field{"content-type", "text/plain; version=0.0.4; charset=utf-8"}
};
constexpr std::array stream_fields{
    header_field{"content-type", "text/event-stream; charset=utf-8"},
    header_field{"cache-control", "no-cache"}
};

/// Until the time is over or the client has left; false then.
task<bool> pause(net::exchange& client, duration time) {
    net::steady_timer timer(client.get_executor(), time);
    const net::abort_action wake(client.signal(), [&timer] { timer.cancel(); });
    if (!client.signal().aborted()) {
        co_await timer.async_wait(net::as_result);
    }
    co_return !client.signal().aborted();
}

/// Says nothing more, until the client has left.
task<> hang(net::exchange& client) {
    net::event nothing(client.get_executor());
    while (!client.signal().aborted()) {
        co_await nothing.wait(client.signal());
    }
}

/// Where a fault stops an answer, in tokens.
struct stop_point {
    explicit stop_point(const request_faults& faults) {
        if (faults.close_after) {
            at = *faults.close_after;
        }
        if (faults.hang_after && *faults.hang_after <= at) {
            at = *faults.hang_after;
            hangs = true;
        }
        if (faults.hang_before_first) {
            at = 0;
            hangs = true;
        }
    }
    bool exists() const { return at != quantity_limit; }

    std::int64_t at = quantity_limit;
    bool hangs = false;
};

}  // namespace

service::service(
    std::string model,
    fault_plan faults,
    const sim::engine_settings& settings,
    std::shared_ptr<driver> clock
)
    : x_model(std::move(model)),
      x_faults(std::move(faults)),
      x_settings(settings),
      x_longest([&settings] {
          const sim::engine_model sized(settings);
          return std::min(sized.longest(), sized.capacity());
      }()),
      x_created(std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::system_clock::now().time_since_epoch()
      )
                    .count()),
      x_driver(std::move(clock)) {}

task<> service::handle(net::exchange& client) {
    const std::string_view target = client.request().target;
    const std::string_view path = target.substr(0, target.find('?'));
    const endpoint_kind kind = openai::endpoint_of(path);
    const bool generates = kind == endpoint_kind::chat || kind == endpoint_kind::completions ||
                           kind == endpoint_kind::embeddings;
    if (generates && client.request().method == "POST") {
        co_await generate(client, kind);
    } else if (!generates && client.request().method == "GET") {
        co_await answer_get(client, path);
    } else {
        co_await respond_error(
            client,
            generates ? 405 : 404,
            "not_found",
            fmt::format("{} {} is not served here", client.request().method, path)
        );
    }
}

task<> service::answer_get(net::exchange& client, std::string_view path) {
    if (path == "/health") {
        const bool up = !x_driver->restarting();
        co_await client.respond(up ? 200 : 503, {}, "");
    } else if (path == "/v1/models") {
        co_await respond_json(client, 200, model_list_body(x_model, x_created, x_longest));
    } else if (path == "/stats") {
        co_await respond_json(client, 200, stats_body(x_driver->stats(), x_settings));
    } else if (path == "/metrics") {
        const std::string page = metrics_body(x_model, x_driver->stats(), x_settings);
        co_await client.respond(200, metrics_fields, page);
    } else if (path == "/version") {
        co_await respond_json(client, 200, R"({"version":"sluice-engine )" SLUICE_VERSION R"("})");
    } else {
        co_await respond_error(
            client, 404, "not_found", fmt::format("{} is not served here", path)
        );
    }
}

task<std::optional<openai::request_facts>> service::read_request(
    net::exchange& client, endpoint_kind kind, std::string_view body
) {
    auto facts = openai::inspect(kind, body);
    if (!facts) {
        const openai::bad_request& wrong = facts.error();
        co_await respond_error(client, 400, "bad_request", wrong.message, wrong.param);
        co_return std::nullopt;
    }
    if (facts->model != x_model) {
        const std::string message =
            fmt::format("the model '{}' does not exist here; there is '{}'", facts->model, x_model);
        co_await respond_error(client, 404, "model_not_found", message, "model");
        co_return std::nullopt;
    }
    if (kind != endpoint_kind::embeddings && facts->prompt + tokens(facts->sequences) > x_longest) {
        const std::string message = fmt::format(
            "the prompt has about {} tokens and {} answers are wanted; the engine holds {} tokens, "
            "prompt and answers together",
            facts->prompt.count(),
            facts->sequences,
            x_longest.count()
        );
        co_await respond_error(client, 400, "context_length_exceeded", message);
        co_return std::nullopt;
    }
    co_return std::move(*facts);
}

answer_plan service::plan_answer(
    endpoint_kind kind, const openai::request_facts& facts, std::string_view body
) {
    answer_plan plan;
    plan.kind = kind;
    plan.model = x_model;
    plan.created = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch()
    )
                       .count();
    plan.prompt_tokens = facts.prompt.count();
    plan.include_usage = facts.include_usage;
    plan_length(plan, facts, body, x_longest);
    const std::string_view prefix = kind == endpoint_kind::chat ? "chatcmpl" : "cmpl";
    plan.id = fmt::format("{}-{:016x}", prefix, plan.seed);
    return plan;
}

task<> service::generate(net::exchange& client, endpoint_kind kind) {
    const auto body = co_await client.read_body(body_limit);
    if (!body) {
        if (body.error().code == errc::limit_exceeded) {
            co_await respond_error(client, 413, "body_too_large", body.error().message);
        }
        co_return;
    }
    const auto facts = co_await read_request(client, kind, *body);
    if (!facts) {
        co_return;
    }
    const request_faults faults = x_faults.for_request(++x_requests);
    if (faults.slow_headers > duration::zero()) {
        const bool stays = co_await pause(client, faults.slow_headers);
        if (!stays) {
            co_return;
        }
    }
    if (faults.status) {
        co_await respond_error(client, *faults.status, "scripted_fault", "as --faults asked for");
        co_return;
    }
    const bool embeds = kind == endpoint_kind::embeddings;
    const answer_plan plan = plan_answer(kind, *facts, *body);
    // Inputs of one embedding request share nothing, so together they may be longer than the
    // context; the model computes at most one context of them.
    const tokens prompt = embeds ? std::min(facts->prompt, x_longest - tokens(1)) : facts->prompt;
    const generation_handle run =
        x_driver->submit(prompt, tokens(embeds ? 1 : plan.total_tokens()), client.get_executor());
    while (run->state == generation_state::submitted && !client.signal().aborted()) {
        co_await run->changed.wait(client.signal());
    }
    if (run->state == generation_state::refused) {
        co_await answer_refusal(client, *run);
    } else if (embeds) {
        const std::string text = embeddings_body(plan, facts->prompts);
        co_await answer_whole(client, run, text, faults);
    } else if (facts->stream) {
        co_await stream(client, run, plan, faults);
    } else {
        const std::string text = completion_body(plan);
        co_await answer_whole(client, run, text, faults);
    }
}

task<> service::answer_refusal(net::exchange& client, const generation& refused) {
    switch (refused.verdict) {
        case sim::submit_outcome::too_large:
            return respond_error(
                client, 400, "context_length_exceeded", "the request is longer than the cache"
            );
        case sim::submit_outcome::no_memory:
            return respond_error(
                client, 503, "out_of_memory", "no KV blocks are free for this prompt; try again"
            );
        case sim::submit_outcome::restarting:
        case sim::submit_outcome::accepted:
            break;
    }
    return respond_error(client, 503, "restarting", "the engine crashed and is coming up again");
}

task<> service::stream(
    net::exchange& client,
    const generation_handle& run,
    const answer_plan& plan,
    const request_faults& faults
) {
    const stop_point stop(faults);
    const stream_text printer(plan);
    std::string text;
    std::int64_t written = 0;
    client.begin(200, stream_fields, std::nullopt);
    bool alive = co_await client.flush();
    while (alive) {
        const generation_state state = run->state;
        const std::int64_t ready = std::min(run->generated, stop.at);
        text.clear();
        printer.append_tokens(text, written, ready);
        written = ready;
        if (written < stop.at && state == generation_state::finished) {
            printer.append_end(text);
            co_await client.finish(text);
            co_return;
        }
        if (written < stop.at && state == generation_state::out_of_memory) {
            const std::string why =
                error_body(500, "out_of_memory", "no KV block was free for the next token");
            text += fmt::format("data: {}\n\n", why);
            co_await client.finish(text);
            co_return;
        }
        if (!text.empty()) {
            alive = co_await client.write(text);
        }
        if (alive && written == stop.at && stop.hangs) {
            co_await hang(client);
        }
        if (written == stop.at || state == generation_state::crashed) {
            co_return;  // Cut: a stream without its end.
        }
        if (alive && run->state == state && run->generated == written) {
            co_await run->changed.wait(client.signal());
        }
        alive = alive && !client.signal().aborted();
    }
}

task<> service::answer_whole(
    net::exchange& client,
    const generation_handle& run,
    const std::string& body,
    const request_faults& faults
) {
    while (!run->ended() && !client.signal().aborted()) {
        co_await run->changed.wait(client.signal());
    }
    if (client.signal().aborted()) {
        co_return;
    }
    const stop_point stop(faults);
    if (stop.exists() && stop.hangs) {
        co_await hang(client);
    } else if (stop.exists()) {
        client.begin(200, json_fields, body.size());
        co_await client.flush();  // Its end never comes.
    } else if (run->state == generation_state::crashed) {
        co_await respond_error(client, 500, "engine_dead", "the engine crashed under the request");
    } else if (run->state == generation_state::out_of_memory) {
        co_await respond_error(
            client, 500, "out_of_memory", "no KV block was free for the next token"
        );
    } else {
        co_await respond_json(client, 200, body);
    }
}

task<> service::respond_json(net::exchange& client, int status, std::string_view body) {
    co_await client.respond(status, json_fields, body);
}

task<> service::respond_error(
    net::exchange& client,
    int status,
    std::string_view code,
    std::string_view message,
    std::string_view param
) {
    const std::string body = error_body(status, code, message, param);
    co_await client.respond(status, json_fields, body);
}

}  // namespace sluice::engine
