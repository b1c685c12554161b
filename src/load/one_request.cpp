#include "load/one_request.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "load/stream_check.hpp"
#include "openai/stream_facts.hpp"

namespace sluice::load {

namespace {

namespace json = boost::json;

/// Of an answer that says no, as much is kept as an error object can be.
constexpr std::size_t longest_refusal = std::size_t{64} * 1024;
constexpr std::size_t longest_model_list = std::size_t{4} * 1024 * 1024;
/// A label of the report; whatever a server sends must not blow it up.
constexpr std::size_t longest_reason = 64;

/// What is needed of a head: the head itself lives only until the body is read.
struct head_facts {
    int status = 0;
    bool events = false;
    std::string reason;
    std::optional<double> queue_s;
};

head_facts facts_of(const net::response_head& head) {
    head_facts out;
    out.status = head.status;
    out.events =
        openai::format_of(head.field("content-type").value_or("")) == openai::answer_format::events;
    out.reason = std::string(head.field("x-sluice-reason").value_or("").substr(0, longest_reason));
    if (const auto text = head.field("x-sluice-queue-ms")) {
        double value = 0;
        const auto [end, problem] =
            std::from_chars(text->data(), text->data() + text->size(), value);
        if (problem == std::errc{} && end == text->data() + text->size()) {
            out.queue_s = value / 1000;
        }
    }
    return out;
}

/// error.code, where the body has one that can be a label.
std::string code_of(std::string_view body) {
    json::error_code problem;
    const json::value value = json::parse(json::string_view(body.data(), body.size()), problem);
    const json::object* top = problem ? nullptr : value.if_object();
    const json::value* inner = top != nullptr ? top->if_contains("error") : nullptr;
    const json::object* object = inner != nullptr ? inner->if_object() : nullptr;
    const json::value* code = object != nullptr ? object->if_contains("code") : nullptr;
    if (code != nullptr && code->is_string() && !code->as_string().empty()) {
        return std::string(code->as_string().subview(0, longest_reason));
    }
    return {};
}

net::task<bool> read_stream(net::upstream& up, const question& what, answer& out) {
    stream_check check(what.exact_usage);
    for (;;) {
        const auto piece = co_await up.read_body();
        if (!piece) {
            out.reason = "the connection broke: " + piece.error().message;
            co_return false;
        }
        if (piece->empty()) {
            break;
        }
        if (check.feed(*piece) > 0) {
            out.last = load_clock::now();
            if (out.content_events == 0) {
                out.first = out.last;
            }
            out.content_events = check.content_events();
        }
    }
    out.output_tokens = check.output_tokens();
    if (const auto wrong = check.finish()) {
        out.reason = *wrong;
        co_return false;
    }
    co_return true;
}

net::task<bool> read_document(net::upstream& up, answer& out) {
    openai::answer_reader reader(openai::answer_format::document);
    for (;;) {
        const auto piece = co_await up.read_body();
        if (!piece) {
            out.reason = "the connection broke: " + piece.error().message;
            co_return false;
        }
        if (piece->empty()) {
            break;
        }
        reader.feed(*piece);
    }
    reader.finish();
    if (const auto told = reader.facts().completion_tokens) {
        out.output_tokens = told->count();
    }
    if (!reader.succeeded()) {
        out.reason = "a document that is no complete answer";
    }
    co_return reader.succeeded();
}

/// The body up to `limit`; what is longer is read and dropped. Nothing when the connection broke.
net::task<std::optional<std::string>> read_small(net::upstream& up, std::size_t limit) {
    std::string body;
    for (;;) {
        const auto piece = co_await up.read_body();
        if (!piece) {
            co_return std::nullopt;
        }
        if (piece->empty()) {
            co_return body;
        }
        body += piece->substr(0, limit - std::min(limit, body.size()));
    }
}

/// From the head on.
net::task<> read_answer(net::upstream& up, const question& what, head_facts head, answer& out) {
    out.queue_s = head.queue_s;
    if (head.status == 200) {
        bool whole = false;
        if (head.events) {
            whole = co_await read_stream(up, what, out);
        } else {
            whole = co_await read_document(up, out);
        }
        out.how = whole ? verdict::ok : verdict::broken;
        co_return;
    }
    const auto body = co_await read_small(up, longest_refusal);
    if (!body) {
        out.how = verdict::broken;
        out.reason = fmt::format("status {} and half an answer", head.status);
        co_return;
    }
    out.how = verdict::refused;
    out.reason = std::move(head.reason);
    if (out.reason.empty()) {
        out.reason = code_of(*body);
    }
    if (out.reason.empty()) {
        out.reason = fmt::format("status {}", head.status);
    }
}

}  // namespace

net::task<answer> ask(
    net::client_pool& pool,
    const net::endpoint& to,
    const question& what,
    duration connect_timeout,
    net::abort_signal& signal
) {
    answer out;
    out.sent = load_clock::now();
    for (bool fresh = false;; fresh = true) {
        auto opened = co_await pool.open(to, connect_timeout, signal, fresh);
        if (!opened) {
            out.reason = opened.error().message;
            break;
        }
        net::upstream up = std::move(*opened);
        net::abort_action on_abort(signal, [&up] { up.close(); });
        const auto sent = co_await up.send({what.method, what.target, what.fields, what.body});
        // A server may answer and close while the body is still on its way: its answer counts.
        const auto head = co_await up.read_head();
        if (head) {
            head_facts facts = facts_of(**head);
            co_await read_answer(up, what, std::move(facts), out);
            break;
        }
        const bool stale = up.reused() && !up.received_any() && !fresh && !signal.aborted();
        if (!stale) {
            out.reason = sent ? head.error().message : sent.error().message;
            break;
        }
    }
    out.ended = load_clock::now();
    co_return out;
}

net::task<result<std::string>> first_model(
    net::client_pool& pool,
    const net::endpoint& to,
    std::string_view prefix,
    std::span<const net::header_field> fields,
    duration connect_timeout
) {
    const std::string advice =
        fmt::format("; name the model with --model, or check that {} serves", to.to_string());
    net::abort_signal signal;
    auto opened = co_await pool.open(to, connect_timeout, signal);
    if (!opened) {
        co_return fail(opened.error().code, opened.error().message + "; is the server up?");
    }
    net::upstream up = std::move(*opened);
    const std::string target = std::string(prefix) + "/v1/models";
    const auto sent = co_await up.send({"GET", target, fields, ""});
    if (!sent) {
        co_return fail(sent.error().code, sent.error().message + advice);
    }
    const auto head = co_await up.read_head();
    if (!head) {
        co_return fail(head.error().code, head.error().message + advice);
    }
    const int status = (*head)->status;
    const auto body = co_await read_small(up, longest_model_list);
    if (!body || status != 200) {
        co_return fail(
            errc::protocol_error, fmt::format("GET {} answered {}{}", target, status, advice)
        );
    }
    json::error_code problem;
    const json::value value = json::parse(*body, problem);
    const json::value* id = problem ? nullptr : value.find_pointer("/data/0/id", problem);
    if (id == nullptr || !id->is_string()) {
        co_return fail(
            errc::protocol_error, fmt::format("GET {} names no model{}", target, advice)
        );
    }
    co_return std::string(id->as_string());
}

}  // namespace sluice::load
