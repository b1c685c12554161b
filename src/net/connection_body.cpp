// The request body of an exchange.
#include <boost/asio/error.hpp>

#include "net/connection.hpp"

namespace sluice::net {

namespace {

/// Where an empty body points: it has its readable bytes behind it too.
constexpr std::array<char, read_buffer::padding> nothing{};

error too_large(bytes limit) {
    return {
        errc::limit_exceeded,
        "the request body is larger than the limit of " + std::to_string(limit.count()) + " bytes"
    };
}

error no_room() {
    return {errc::unavailable, "the bodies of other requests leave no memory for this one"};
}

error too_slow() {
    return {errc::timed_out, "the request body did not arrive in time"};
}

bytes size_of(std::string_view text) {
    return bytes(static_cast<std::int64_t>(text.size()));
}

}  // namespace

/// After the head: takes a body that came with it where it lies.
void connection::begin_body() {
    current().consume(x_parser.head_size());
    x_body = {nothing.data(), 0};
    x_body_size = 0;
    x_body_started = false;
    x_body_done = !x_parser.expects_body();
    // After "Expect: 100-continue" it is open whether the next bytes are the body until it is
    // asked for; a refusal without asking closes.
    if (!x_body_done && !x_head.expect_continue && x_head.content_length &&
        current().size() >= *x_head.content_length) {
        x_body = current().view().substr(0, *x_head.content_length);
        current().consume(x_body.size());
        x_body_done = true;
    }
}

/// A body that the handler did not want: whether the connection stays in step without it.
bool connection::skip_body() {
    if (!x_head.chunked || x_head.expect_continue || x_body_started || current().empty()) {
        return false;
    }
    const body_step step = x_parser.parse_body(current().data(), current().size());
    current().consume(step.consumed);
    x_body_done = step.step == parse_step::done;
    return x_body_done;
}

task<result<std::string_view>> connection::read_body(bytes limit, body_room* room) {
    const std::uint64_t most = static_cast<std::uint64_t>(std::max<std::int64_t>(limit.count(), 0));
    if (x_body_done) {
        if (x_body.size() > most) {
            co_return std::unexpected(too_large(limit));
        }
        if (room != nullptr && !room->take(size_of(x_body))) {
            co_return std::unexpected(no_room());
        }
        co_return x_body;
    }
    if (x_head.content_length && *x_head.content_length > most) {
        co_return std::unexpected(too_large(limit));
    }
    if (x_gone || x_body_started) {
        co_return fail(errc::connection_failed, "the client left before its request was complete");
    }
    // All of an announced length at once: whom there is no room for need not send.
    if (room != nullptr && x_head.content_length &&
        !room->take(bytes(static_cast<std::int64_t>(*x_head.content_length)))) {
        co_return std::unexpected(no_room());
    }
    if (x_head.expect_continue && current().empty() && !co_await send_continue()) {
        co_return fail(errc::connection_failed, "the client left before it sent its body");
    }
    x_body_started = true;
    x_body_began = std::chrono::steady_clock::now();
    std::optional<error> failed;
    if (x_head.content_length) {
        failed = co_await read_sized_body();
    } else {
        failed = co_await read_chunked_body(limit, room);
    }
    if (failed) {
        co_return std::unexpected(std::move(*failed));
    }
    x_body_done = true;
    watch();
    co_return x_body;
}

void connection::release_body() {
    if (x_body_done) {
        x_body = {nothing.data(), 0};
        x_body_memory.reset();
        x_body_capacity = 0;
    }
}

void connection::append_to_body(std::string_view bytes) {
    if (x_body_size + bytes.size() > x_body_capacity) {
        const std::size_t capacity = std::max(x_body_size + bytes.size(), x_body_capacity * 2);
        auto memory = std::make_unique_for_overwrite<char[]>(capacity + read_buffer::padding);
        if (x_body_size > 0) {
            std::memcpy(memory.get(), x_body_memory.get(), x_body_size);
        }
        std::memset(memory.get() + capacity, 0, read_buffer::padding);
        x_body_memory = std::move(memory);
        x_body_capacity = capacity;
    }
    if (!bytes.empty()) {
        std::memcpy(x_body_memory.get() + x_body_size, bytes.data(), bytes.size());
        x_body_size += bytes.size();
    }
}

task<std::optional<error>> connection::read_sized_body() {
    const std::size_t size = static_cast<std::size_t>(*x_head.content_length);
    if (x_body_capacity < size) {
        // Not touched before bytes arrive: an announced length alone costs address space only.
        x_body_memory = std::make_unique_for_overwrite<char[]>(size + read_buffer::padding);
        x_body_capacity = size;
    }
    while (x_body_size < size) {
        read_buffer& from = current().empty() ? ahead() : current();
        if (!from.empty()) {
            const std::string_view piece = from.view().substr(0, size - x_body_size);
            append_to_body(piece);
            from.consume(piece.size());
            continue;
        }
        if (!x_reading) {
            start_read(into::body, 0);
        }
        if (std::optional<error> failed = co_await body_progress()) {
            co_return failed;
        }
    }
    std::memset(x_body_memory.get() + size, 0, read_buffer::padding);
    x_body = {x_body_memory.get(), size};
    co_return std::nullopt;
}

/// Lets the head keep its memory while the buffer takes chunk after chunk.
void connection::retain_head() {
    read_buffer fresh;
    fresh.append(current().view());
    x_retained = std::exchange(current(), std::move(fresh));
}

task<std::optional<error>> connection::read_chunked_body(bytes limit, body_room* room) {
    const std::size_t most = static_cast<std::size_t>(limit.count());
    const std::size_t framing_limit =
        static_cast<std::size_t>(x_home->common().options.header_bytes.count());
    bool retained = false;
    for (;;) {
        if (!current().empty()) {
            const body_step step = x_parser.parse_body(current().data(), current().size());
            current().consume(step.consumed);
            if (step.step == parse_step::failed || current().size() > framing_limit) {
                co_return error{
                    errc::protocol_error, "the request body is malformed: " + x_parser.fault().what
                };
            }
            if (x_body_size + step.data.size() > most) {
                co_return too_large(limit);
            }
            if (room != nullptr && !room->take(size_of(step.data))) {
                co_return no_room();
            }
            if (step.step == parse_step::done && x_body_size == 0) {
                // All of it at once stays where it is.
                x_body = step.data.empty() ? x_body : step.data;
                co_return std::nullopt;
            }
            append_to_body(step.data);
            if (step.step == parse_step::done) {
                x_body = {x_body_memory.get(), x_body_size};
                co_return std::nullopt;
            }
        }
        if (!retained) {
            retain_head();
            retained = true;
        }
        if (join_ahead()) {
            continue;
        }
        if (!x_reading) {
            read_into_buffer(x_current);
        }
        if (std::optional<error> failed = co_await body_progress()) {
            co_return failed;
        }
    }
}

/// Waits for more of the body; an error when there will be none.
task<std::optional<error>> connection::body_progress() {
    const duration patience = body_patience();
    if (patience <= duration::zero()) {
        co_return too_slow();
    }
    arm(patience);
    {
        const abort_action wake(x_signal, [this] { x_input_event.set(); });
        co_await input_event();
    }
    disarm();
    if (x_input != input_end::none) {
        client_left(input_end::broken);
        co_return error{errc::connection_failed, "the client left before its request was complete"};
    }
    if (x_timed_out) {
        x_timed_out = false;
        co_return too_slow();
    }
    if (x_signal.aborted()) {
        co_return error{errc::cancelled, "the request was given up while its body arrived"};
    }
    co_return std::nullopt;
}

/// Until the next byte, or until the client has become too slow on the whole.
duration connection::body_patience() const {
    const duration each = x_home->common().options.body_timeout;
    const auto earned =
        std::chrono::seconds(static_cast<std::int64_t>(x_body_size) / slowest_body.count());
    const auto spent = std::chrono::steady_clock::now() - x_body_began;
    return std::min(each, std::chrono::floor<duration>(each + earned - spent));
}

task<bool> connection::send_continue() {
    gather out;
    out.add("HTTP/1.1 100 Continue\r\n\r\n");
    co_return co_await send(out);
}

}  // namespace sluice::net
