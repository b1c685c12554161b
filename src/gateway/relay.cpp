#include "gateway/relay.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "gateway/reply.hpp"

namespace sluice::gateway {

namespace {

/// Fields of the worker's answer that are the connection's or ours to say.
bool is_dropped(std::string_view name) {
    return net::is_hop_by_hop(name) || net::iequals(name, "content-length") ||
           net::iequals(name, "x-request-id") ||
           (name.size() > 9 && net::iequals(name.substr(0, 9), "x-sluice-"));
}

bool is_event_stream(const net::response_head& head) {
    const auto type = head.field("content-type");
    const auto coding = head.field("content-encoding");
    // A compressed stream cannot be read along; it passes as a body like any other.
    return type && openai::format_of(*type) == openai::answer_format::events &&
           (!coding || net::iequals(*coding, "identity"));
}

}  // namespace

relay::relay(relay_order order)
    : x_order(order), x_signal(order.client.signal()), x_answer(openai::answer_format::document) {}

net::task<bool> relay::connect(bool fresh) {
    auto& pool = x_order.in.thread(x_order.client.thread_index()).client;
    const auto& limits = x_order.record.in->options.timeouts;
    auto opened = co_await pool.open(x_order.worker, limits.connect, x_signal, fresh);
    if (!opened) {
        x_trouble = std::move(opened.error().message);
        co_return false;
    }
    x_up = *std::move(opened);
    co_return true;
}

net::task<bool> relay::run() {
    if (!co_await connect(false)) {
        if (x_signal.aborted()) {
            co_await end(broken_or_aborted());
            co_return true;
        }
        co_return false;
    }
    const net::abort_action stop(x_signal, [this] { x_up.close(); });
    const net::response_head* head = co_await exchange_heads();
    if (head == nullptr && !x_signal.aborted() && x_up.reused() && !x_up.received_any()) {
        // The worker had closed an idle connection: not a byte was answered, so it may be sent
        // anew.
        if (!co_await connect(true) && !x_signal.aborted()) {
            co_return false;
        }
        if (!x_signal.aborted()) {
            head = co_await exchange_heads();
        }
    }
    if (head == nullptr) {
        co_await end(broken_or_aborted());
        co_return true;
    }
    take_head(*head);
    co_await pump();
    co_return true;
}

/// Sends the request and awaits the head of its answer; null: see x_trouble and the signal.
net::task<const net::response_head*> relay::exchange_heads() {
    x_trouble.clear();
    x_order.clock.sending();
    if (auto sent = co_await x_up.send(x_order.request); !sent) {
        x_trouble = std::move(sent.error().message);
        co_return nullptr;
    }
    auto head = co_await x_up.read_head();
    if (!head) {
        x_trouble = std::move(head.error().message);
        co_return nullptr;
    }
    co_return *head;
}

void relay::take_head(const net::response_head& head) {
    x_status = head.status;
    x_length = head.content_length;
    x_kind = head.status < 300 && is_event_stream(head) ? body_kind::events : body_kind::whole;
    if (x_kind == body_kind::events) {
        x_answer = openai::answer_reader(openai::answer_format::events);
    }
    x_fsm.head(head.status, x_kind);
    // Lists of fields are held while they are needed, not as long as a stream lasts.
    x_order.request_fields.reset();
    x_fields = x_order.in.thread(x_order.client.thread_index()).lists.take();
    for (const net::header_field& one : head.fields) {
        if (!is_dropped(one.name)) {
            x_fields->copy(one.name, one.value);
        }
    }
}

void relay::add_answer_fields() {
    if (x_fsm.is_error()) {
        x_fields->borrow("x-sluice-reason", openai::to_string(openai::reason::upstream_error));
    }
    add_request_fields(*x_fields, x_order.record);
}

net::task<void> relay::pump() {
    for (;;) {
        const auto piece = co_await x_up.read_body();
        if (!piece || x_signal.aborted()) {
            x_trouble = piece ? std::string() : piece.error().message;
            x_unsent = x_held;
            drop_half_event();
            co_await end(broken_or_aborted());
            co_return;
        }
        if (piece->empty()) {
            x_unsent = x_held;
        } else if (!co_await take_piece(*piece)) {
            co_return;
        }
        if (piece->empty() || x_up.complete()) {
            co_await end(last_step());
            co_return;
        }
    }
}

/// False: the request has ended.
net::task<bool> relay::take_piece(std::string_view piece) {
    read_along(piece);
    const relay_step step = x_fsm.body({
        .held = x_held.size() + piece.size(),
        .token = x_token,
        .failed_first = !x_failure.empty(),
        .failure_status = x_answer.facts().failure_status.value_or(0),
    });
    if (step.action == relay_action::answer_event) {
        co_await end(step);
        co_return false;
    }
    const std::string_view all = not_sent(piece);
    if (step.action == relay_action::start) {
        add_answer_fields();
        x_order.record.status = x_status;
        const bool sized = x_kind == body_kind::whole;
        x_order.client.begin(x_status, x_fields->fields(), sized ? x_length : std::nullopt);
        x_fields.reset();
        x_order.body_done();
    }
    if (x_up.complete()) {
        // The end is known: these bytes go out together with it.
        x_unsent = all;
        co_return true;
    }
    const std::size_t ready = step.action == relay_action::hold ? 0 : sendable(all);
    if (ready > 0 && !co_await x_order.client.write(all.substr(0, ready))) {
        co_await end(broken_or_aborted());
        co_return false;
    }
    if (x_held.empty()) {
        x_held.assign(all.substr(ready));
    } else {
        x_held.erase(0, ready);
    }
    co_return true;
}

void relay::read_along(std::string_view piece) {
    const auto now = request_record::clock::now();
    x_came += piece.size();
    bool progress = x_kind == body_kind::whole;
    if (x_kind == body_kind::whole) {
        x_answer.feed(piece);
    } else {
        x_events.begin(piece);
        while (const auto event = x_events.next()) {
            const openai::event_kind kind = x_answer.take_event(*event);
            if (!x_token && kind == openai::event_kind::failure) {
                x_failure = event->data;
            }
            x_event_end = event->end;
            x_token = true;
            progress = true;
        }
        // A large event that comes in many pieces is progress too; comments alone are not (B20).
        progress = progress || (x_token && x_events.inside_event());
    }
    if (!progress) {
        return;
    }
    x_token = true;
    if (!x_order.record.first_token && !x_fsm.is_error()) {
        x_order.record.first_token = now;
    }
    x_order.clock.progress(now);
}

/// The body has ended; a last event may lack its blank line.
void relay::read_rest() {
    if (x_kind == body_kind::whole) {
        x_answer.finish();
        return;
    }
    const std::string_view rest = x_events.unfinished_data();
    if (rest.empty()) {
        return;
    }
    openai::answer_reader alone(openai::answer_format::document);
    alone.feed(rest);
    if (rest.starts_with("[DONE]") || alone.facts().complete_document) {
        x_answer.take_event({{}, rest, 0, 0});
    }
}

/// Everything that came and was not sent; `piece` is the last of it.
std::string_view relay::not_sent(std::string_view piece) {
    if (x_held.empty()) {
        return piece;
    }
    x_held += piece;
    return x_held;
}

/// How much of the unsent bytes may go: all of them, or those up to the last event's end.
std::size_t relay::sendable(std::string_view unsent) const {
    if (x_kind == body_kind::whole || !x_events.inside_event() ||
        unsent.size() > relay_fsm::default_hold_limit) {
        return unsent.size();
    }
    const std::uint64_t begin = x_came - unsent.size();
    return x_event_end > begin ? static_cast<std::size_t>(x_event_end - begin) : 0;
}

/// Nobody can use the start of an event that will not end.
void relay::drop_half_event() {
    x_unsent = x_unsent.substr(0, sendable(x_unsent));
}

relay_step relay::last_step() {
    read_rest();
    const ending how = how_it_ended();
    if (how == ending::unfinished) {
        drop_half_event();
    }
    return x_fsm.end(how, !x_fsm.is_error() || is_utf8(x_unsent));
}

ending relay::how_it_ended() const {
    if (x_answer.facts().failed) {
        return ending::failed;
    }
    if (x_kind == body_kind::whole || x_answer.succeeded(x_order.sequences)) {
        return ending::good;
    }
    return ending::unfinished;
}

relay_step relay::broken_or_aborted() {
    const net::abort_cause cause = x_signal.cause();
    switch (cause.kind) {
        case net::abort_kind::none:
            // Either the worker broke off, or a write found the client gone before the signal did.
            return x_trouble.empty() ? x_fsm.client_gone() : x_fsm.broken();
        case net::abort_kind::peer_gone:
            return x_fsm.client_gone();
        case net::abort_kind::shutdown:
            return x_fsm.aborted(openai::reason::draining);
        case net::abort_kind::deadline:
            break;
    }
    return x_fsm.aborted(
        cause.tag == tag_permit_lost ? openai::reason::permit_expired : x_order.clock.expired()
    );
}

net::task<void> relay::end(relay_step step) {
    request_record& record = x_order.record;
    record.outcome = step.why;
    if (step.why == openai::reason::worker_failed) {
        record.error = x_trouble;
    }
    record.answer = x_answer.facts();
    x_order.clock.stop();
    if (!x_up.complete()) {
        x_up.close();
    }
    x_order.lease.finish(
        step.release,
        {record.answer.prompt_tokens.value_or(tokens(0)),
         record.answer.completion_tokens.value_or(
             tokens(static_cast<std::int64_t>(record.answer.content_events))
         )}
    );
    co_await tell(step);
}

net::task<void> relay::tell(relay_step step) {
    net::exchange& client = x_order.client;
    switch (step.action) {
        case relay_action::answer_whole:
            add_answer_fields();
            x_order.record.status = x_status;
            co_await client.respond(x_status, x_fields->fields(), x_unsent);
            co_return;
        case relay_action::answer_event:
            co_await tell_event(step);
            co_return;
        case relay_action::answer_error:
            co_await answer_failure(
                client,
                x_order.in,
                x_order.record,
                {.why = step.why, .message = message_for(step.why)}
            );
            co_return;
        case relay_action::finish:
            co_await client.finish(x_unsent);
            co_return;
        case relay_action::error_event:
            x_held = std::string(x_unsent) + openai::error_event(step.why, message_for(step.why));
            co_await client.finish(x_held);
            co_return;
        case relay_action::cut:
            client.close_after();
            co_return;
        case relay_action::leave:
            x_order.record.status = 499;
            co_return;
        case relay_action::hold:
        case relay_action::start:
        case relay_action::pass:
            co_return;
    }
}

/// The worker's first event was an error: its words become the body of an answer with a status.
net::task<void> relay::tell_event(const relay_step& step) {
    if (!is_utf8(x_failure)) {
        co_await answer_failure(
            x_order.client,
            x_order.in,
            x_order.record,
            {.why = step.why, .message = message_for(step.why), .status = step.status}
        );
        co_return;
    }
    x_order.record.status = step.status;
    field_list fields;
    fields.borrow("content-type", "application/json");
    fields.borrow("x-sluice-reason", openai::to_string(step.why));
    add_request_fields(fields, x_order.record);
    co_await x_order.client.respond(step.status, fields.fields(), x_failure);
}

std::string relay::message_for(openai::reason why) const {
    const std::string& worker = x_order.record.worker;
    const auto& limits = x_order.record.in->options.timeouts;
    const auto seconds = [](const std::optional<duration>& limit) {
        return std::chrono::duration<double>(limit.value_or(duration::zero())).count();
    };
    switch (why) {
        case openai::reason::first_token_timeout:
            return fmt::format(
                "worker {} sent no token within {} s (timeouts.first_token); retry",
                worker,
                seconds(x_order.clock.first_answer())
            );
        case openai::reason::idle_timeout:
            return fmt::format(
                "worker {} fell silent for {} s (timeouts.idle); retry",
                worker,
                seconds(limits.idle)
            );
        case openai::reason::total_timeout:
            return fmt::format(
                "the answer took longer than {} s (timeouts.total); ask for less output",
                seconds(limits.total)
            );
        case openai::reason::draining:
            return "this gateway is shutting down; retry, another one will answer";
        case openai::reason::permit_expired:
            return fmt::format("the permit for worker {} was lost; retry", worker);
        case openai::reason::upstream_error:
            return fmt::format(
                "worker {} answered {} with a body that is no readable text", worker, x_status
            );
        default:
            break;
    }
    return fmt::format(
        "worker {} failed: {}; retry, and look at the worker's log",
        worker,
        x_trouble.empty() ? "its answer stopped without its end" : x_trouble
    );
}

}  // namespace sluice::gateway
