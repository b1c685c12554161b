#include "gateway/pages.hpp"

#include <fmt/format.h>

#include "gateway/reply.hpp"
#include "net/await_elsewhere.hpp"

namespace sluice::gateway {

namespace {

net::task<void> answer_text(
    net::exchange& with, int status, std::string_view type, std::string_view body
) {
    const net::header_field fields[] = {{"content-type", type}};
    co_await with.respond(status, fields, body);
}

net::task<void> answer_ready(hall& in, net::exchange& with) {
    const bool ready = !in.draining.load(std::memory_order_relaxed);
    co_await answer_text(
        with,
        ready ? 200 : 503,
        "application/json",
        ready ? R"({"status":"ready"})" : R"({"status":"draining"})"
    );
}

net::task<void> answer_metrics(hall& in, net::exchange& with) {
    const std::string text = co_await net::await_elsewhere<std::string>(
        with.get_executor(),
        [&in](std::function<void(std::string)> done) { in.read_metrics(std::move(done)); }
    );
    co_await answer_text(with, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

net::task<void> answer_model(hall& in, net::exchange& with, std::string_view name) {
    for (const openai::model_entry& one : in.model_entries) {
        if (one.id == name) {
            co_await answer_text(with, 200, "application/json", openai::model_body(one));
            co_return;
        }
    }
    request_record record;
    co_await answer_failure(
        with,
        in,
        record,
        {.why = openai::reason::model_not_found,
         .message = fmt::format("no pool serves the model '{}'", name),
         .param = "model"}
    );
}

net::task<void> answer_elsewhere(hall& in, net::exchange& with, const route& where) {
    request_record record;
    failure what{.why = openai::reason::bad_request};
    if (where.kind == route_kind::wrong_method) {
        what.status = 405;
        what.allow = where.allow;
        what.message = fmt::format("this path takes {}", where.allow);
    } else {
        what.status = 404;
        what.message = "unknown path; the API begins at /v1/";
    }
    co_await answer_failure(with, in, record, std::move(what));
}

}  // namespace

net::task<void> answer_page(hall& in, net::exchange& with, const route& where) {
    switch (where.kind) {
        case route_kind::models:
            co_await answer_text(
                with, 200, "application/json", openai::models_body(in.model_entries)
            );
            co_return;
        case route_kind::model:
            co_await answer_model(in, with, where.rest);
            co_return;
        case route_kind::alive:
            co_await answer_text(with, 200, "application/json", R"({"status":"ok"})");
            co_return;
        case route_kind::ready:
            co_await answer_ready(in, with);
            co_return;
        case route_kind::metrics:
            co_await answer_metrics(in, with);
            co_return;
        case route_kind::call:
        case route_kind::not_found:
        case route_kind::wrong_method:
            co_await answer_elsewhere(in, with, where);
            co_return;
    }
}

}  // namespace sluice::gateway
