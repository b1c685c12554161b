// The response of an exchange.
#include "base/assert.hpp"
#include "net/connection.hpp"

namespace sluice::net {

namespace {

/// Fields that the connection decides about itself.
bool is_own_field(std::string_view name) {
    switch (name.size()) {
        case 10:
            return iequals(name, "connection") || iequals(name, "keep-alive");
        case 14:
            return iequals(name, "content-length");
        case 17:
            return iequals(name, "transfer-encoding");
        default:
            return false;
    }
}

}  // namespace

void connection::append_fields(std::span<const header_field> fields) {
    bool dated = false;
    for (const header_field& one : fields) {
        if (!is_own_field(one.name)) {
            append_field(x_out, one.name, one.value);
            dated = dated || (one.name.size() == 4 && iequals(one.name, "date"));
        }
    }
    if (!dated) {
        x_out.append(date_field());
    }
}

void connection::start_head(
    int status, std::span<const header_field> fields, std::optional<std::uint64_t> length
) {
    SLUICE_ASSERT(!x_response.begun);
    const bool without_body = status / 100 == 1 || status == 204 || status == 304;
    x_response.begun = true;
    x_response.held = true;
    x_response.left = length.value_or(0);
    if (without_body) {
        x_response.body = framing::none;
    } else if (length) {
        x_response.body = framing::sized;
    } else {
        x_response.body = x_head.version >= 11 ? framing::chunked : framing::until_close;
    }
    const bool in_step = x_body_done || skip_body();
    x_linger = x_linger || !in_step;
    x_response.keep_alive = in_step && x_head.keep_alive && !x_close &&
                            !x_home->common().stopping.load(std::memory_order_relaxed) &&
                            x_response.body != framing::until_close;

    x_out.assign("HTTP/1.1 ");
    append_number(x_out, status);
    x_out.push_back(' ');
    x_out.append(reason_phrase(status)).append("\r\n");
    append_fields(fields);
    if (x_response.body == framing::sized) {
        x_out.append("content-length: ");
        append_number(x_out, *length);
        x_out.append("\r\n");
    } else if (x_response.body == framing::chunked) {
        x_out.append("transfer-encoding: chunked\r\n");
    }
    if (!x_response.keep_alive) {
        x_out.append("connection: close\r\n");
    } else if (x_head.version == 10) {
        x_out.append("connection: keep-alive\r\n");
    }
    x_out.append("\r\n");
    if (x_head.method == "HEAD") {
        x_response.body = framing::none;
    }
}

void connection::add_held_head(gather& out) {
    if (x_response.held) {
        x_response.held = false;
        out.add(x_out);
    }
}

/// Frames `data`. False when it is more than begin() announced.
bool connection::add_data(gather& out, std::string_view data) {
    switch (x_response.body) {
        case framing::none:
            return true;
        case framing::sized:
            if (data.size() > x_response.left) {
                return false;
            }
            x_response.left -= data.size();
            out.add(data);
            return true;
        case framing::chunked: {
            char* const first = x_chunk_line.data();
            char* end = std::to_chars(first, first + 16, data.size(), 16).ptr;
            *end++ = '\r';
            *end++ = '\n';
            out.add({first, static_cast<std::size_t>(end - first)}).add(data);
            return true;
        }
        case framing::until_close:
            out.add(data);
            return true;
    }
    return false;
}

gather::outcome connection::send_now(gather& out) {
    if (x_gone) {
        return gather::outcome::failed;
    }
    error_code failure;
    const gather::outcome outcome = out.send(x_socket, x_tls.get(), failure);
    if (outcome == gather::outcome::failed) {
        client_left(input_end::broken);
    }
    return outcome;
}

/// A response that cannot be completed: nothing more is written.
void connection::cut() {
    x_gone = true;
    x_signal.fire({abort_kind::peer_gone, 0});
}

task<bool> connection::drain(gather& rest) {
    // What is sent after the exchange was given up (an error event) is bounded by the time-out
    // alone.
    const bool aborted_before = x_signal.aborted();
    std::optional<abort_action> wake;
    if (!aborted_before) {
        wake.emplace(x_signal, [this] { x_writable_event.set(); });
    }
    for (;;) {
        if (!x_write_pending) {
            x_write_pending = true;
            x_socket.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code) {
                self->x_write_pending = false;
                self->x_writable_event.set_and_run();
            });
        }
        arm(x_home->common().options.write_timeout);
        if (!x_writable_event.take()) {
            co_await x_writable_event.suspend();
        }
        disarm();
        if (x_gone) {
            co_return false;
        }
        if (x_timed_out || (!aborted_before && x_signal.aborted())) {
            wake.reset();
            cut();
            co_return false;
        }
        switch (send_now(rest)) {
            case gather::outcome::done:
                co_return true;
            case gather::outcome::failed:
                co_return false;
            case gather::outcome::would_block:
                break;
        }
    }
}

task<bool> connection::send(gather& out) {
    const gather::outcome outcome = send_now(out);
    if (outcome == gather::outcome::would_block) {
        co_return co_await drain(out);
    }
    co_return outcome == gather::outcome::done;
}

task<bool> connection::respond(
    int status, std::span<const header_field> fields, std::string_view body
) {
    if (x_gone) {
        co_return false;
    }
    start_head(status, fields, body.size());
    gather out;
    add_held_head(out);
    add_data(out, body);
    x_response.started = true;
    const gather::outcome outcome = send_now(out);
    x_response.ended = outcome == gather::outcome::done;
    if (outcome == gather::outcome::would_block) {
        x_response.ended = co_await drain(out);
    }
    co_return x_response.ended;
}

void connection::begin(
    int status, std::span<const header_field> fields, std::optional<std::uint64_t> length
) {
    start_head(status, fields, length);
}

task<bool> connection::write(std::string_view data) {
    if (!may_write()) {
        co_return false;
    }
    gather out;
    add_held_head(out);
    if (!data.empty()) {
        if (!add_data(out, data)) {
            cut();
            co_return false;
        }
        if (x_response.body == framing::chunked) {
            out.add("\r\n");
        }
    }
    x_response.started = true;
    const gather::outcome outcome = send_now(out);
    if (outcome == gather::outcome::would_block) {
        co_return co_await drain(out);
    }
    co_return outcome == gather::outcome::done;
}

task<bool> connection::flush() {
    return write({});
}

task<bool> connection::finish() {
    return finish({}, {});
}

task<bool> connection::finish(std::string_view last, std::span<const header_field> trailers) {
    if (!may_write()) {
        co_return false;
    }
    gather out;
    add_held_head(out);
    if ((!last.empty() && !add_data(out, last)) ||
        (x_response.body == framing::sized && x_response.left > 0)) {
        cut();
        co_return false;
    }
    if (x_response.body == framing::chunked) {
        x_tail = last.empty() ? "0\r\n" : "\r\n0\r\n";
        for (const header_field& one : trailers) {
            append_field(x_tail, one.name, one.value);
        }
        out.add(x_tail.append("\r\n"));
    }
    x_response.started = true;
    const gather::outcome outcome = send_now(out);
    x_response.ended = outcome == gather::outcome::done;
    if (outcome == gather::outcome::would_block) {
        x_response.ended = co_await drain(out);
    }
    co_return x_response.ended;
}

}  // namespace sluice::net
