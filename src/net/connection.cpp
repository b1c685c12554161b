#include "net/connection.hpp"

#include <poll.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace sluice::net {

namespace {

constexpr std::size_t first_read = 2048;
constexpr std::size_t largest_read = 16 * 1024;
constexpr std::size_t ahead_limit = 16 * 1024;
constexpr duration linger_time = std::chrono::seconds(2);

bool has_input(tcp_socket& socket) {
    char byte = 0;
    return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/// Counts an exchange for as long as it runs, also when its coroutine is dropped.
class counted {
public:
    explicit counted(shard& home) : x_home(home) { x_home.exchange_began(); }
    ~counted() { x_home.exchange_ended(); }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

private:
    shard& x_home;
};

}  // namespace

connection::connection(std::shared_ptr<shard> home, tcp_socket socket, const tcp::endpoint& peer)
    : timer_entry(home->get_executor()),
      x_home(std::move(home)),
      x_executor(x_home->get_executor()),
      x_socket(std::move(socket)),
      x_peer(peer),
      x_input_event(x_executor),
      x_writable_event(x_executor),
      x_read_size(first_read) {
    if (const auto& tls = x_home->common().options.tls) {
        x_tls = tls_session::accept(tls->context(), x_socket.native_handle());
        x_gone = x_tls == nullptr;
    }
    x_home->add(*this);
}

connection::~connection() {
    x_home->remove(*this);
}

std::string connection::peer_address() const {
    const std::string address = x_peer.address().to_string();
    return (x_peer.address().is_v6() ? "[" + address + "]" : address) + ":" +
           std::to_string(x_peer.port());
}

task<> connection::run() {
    const bool welcome = !x_gone && (!x_tls || co_await greet());
    while (welcome && co_await read_head()) {
        co_await serve();
        if (!next_exchange()) {
            break;
        }
    }
    x_phase = phase::closing;
    disarm();
    if (x_tls && !x_gone && x_response.begun == x_response.ended) {
        x_tls->say_end();  // what was cut ends without it
    }
    if (x_linger && !x_gone) {
        co_await linger();
    }
    if (x_response.begun && !x_response.ended &&
        (x_timed_out || x_response.body == framing::until_close)) {
        // A proper close would read as the end of such a body, and would leave what a stalled
        // client does not take with the kernel.
        error_code ignored;
        x_socket.set_option(tcp::socket::linger(true, 0), ignored);
    }
    close();
}

/// Next request head, complete in x_head. False: the connection ends here.
task<bool> connection::read_head() {
    const server_options& options = x_home->common().options;
    x_phase = phase::idle;
    x_parser.begin(x_head, static_cast<std::size_t>(options.header_bytes.count()));
    arm(options.keep_alive_timeout);
    for (;;) {
        while (x_phase == phase::idle && current().view().starts_with("\r\n")) {
            current().consume(2);  // RFC 9112 2.2: an empty line before the request is ignored
        }
        if (!current().empty() && current().view() != "\r") {
            const parse_step step = x_parser.parse_head(current().view());
            if (step == parse_step::done) {
                co_return true;
            }
            if (step == parse_step::failed) {
                co_await refuse(x_parser.fault().status, x_parser.fault().what);
                co_return false;
            }
            if (x_phase == phase::idle) {
                x_phase = phase::in_head;
                arm(options.head_timeout);
            }
        }
        if (join_ahead()) {
            continue;
        }
        if (x_timed_out && x_phase == phase::in_head) {
            co_await refuse(408, "the head of the request did not arrive in time");
            co_return false;
        }
        // A request that has arrived but was not read yet is still answered.
        const bool stopping = x_phase == phase::idle && (x_close || x_home->common().stopping) &&
                              !has_input(x_socket);
        if (x_input != input_end::none || x_timed_out || stopping) {
            co_return false;
        }
        if (!x_reading) {
            read_into_buffer(x_current);
        }
        co_await input_event();
    }
}

task<> connection::input_event() {
    x_awaiting_input = true;
    if (!x_input_event.take()) {
        co_await x_input_event.suspend();
    }
    x_awaiting_input = false;
}

/// Answers what never became an exchange.
task<> connection::refuse(int status, std::string what) {
    const server_options& options = x_home->common().options;
    x_head.method = {};
    x_head.version = 11;
    x_body_done = true;
    x_response = {};
    x_close = true;
    x_linger = true;
    x_timed_out = false;
    co_await respond(status, error_fields(options, status), error_text(options, status, what));
}

task<> connection::serve() {
    const counted running(*x_home);
    const server_shared& common = x_home->common();
    x_phase = phase::active;
    disarm();
    x_timed_out = false;
    x_signal.reset();
    x_response = {};
    begin_body();
    if (x_input != input_end::none) {
        client_left(x_input);
    } else {
        watch();
    }
    std::string thrown;
    try {
        co_await common.handle(*this);
    } catch (const std::exception& failure) {
        thrown = failure.what();
        thrown = thrown.empty() ? "an exception without words" : thrown;
    } catch (...) {
        thrown = "something that is no std::exception";
    }
    if (!thrown.empty() && common.options.on_exception) {
        common.options.on_exception(thrown);
    }
    if (!x_response.begun && !x_gone) {
        co_await answer_for_handler();
    }
}

/// The handler went without a response.
task<> connection::answer_for_handler() {
    const server_options& options = x_home->common().options;
    const bool shutdown = x_signal.cause().kind == abort_kind::shutdown;
    const int status = shutdown ? 503 : 500;
    const char* what =
        shutdown ? "the server is shutting down" : "the request could not be handled";
    x_close = true;
    co_await respond(status, error_fields(options, status), error_text(options, status, what));
}

/// Makes room for the next request. False: the connection ends.
bool connection::next_exchange() {
    x_linger = x_linger || !ahead().empty() || !current().empty();
    if (!x_response.ended || !x_response.keep_alive || x_close || x_gone ||
        x_input == input_end::broken) {
        return false;
    }
    x_linger = false;
    x_retained.release();
    if (x_body_capacity > largest_read) {
        x_body_memory.reset();
        x_body_capacity = 0;
    }
    if (x_out.capacity() > largest_read) {
        x_out = std::string();
    }
    if (current().empty()) {
        // The pending read goes to the other buffer: it becomes the one to parse.
        if (current().capacity() > largest_read) {
            current().release();
        }
        x_current = 1 - x_current;
    }
    return true;
}

/// Lets the client read the response before unread input turns the close into a reset.
task<> connection::linger() {
    error_code ignored;
    x_socket.shutdown(tcp::socket::shutdown_send, ignored);
    x_timed_out = false;
    arm(linger_time);
    while (x_input == input_end::none && !x_timed_out) {
        if (!x_reading) {
            current().clear();
            read_into_buffer(x_current);
        }
        co_await input_event();
    }
}

void connection::read_into_buffer(std::size_t which) {
    start_read(into::buffer, which);
}

void connection::start_read(into where, std::size_t which) {
    x_reading = true;
    x_read_target = where;
    x_read_buffer = which;
    if (x_tls && x_tls->has_pending()) {
        asio::post(x_executor, [self = shared_from_this()] { self->on_readable({}); });
    } else {
        await_readable(tcp::socket::wait_read);
    }
}

void connection::await_readable(tcp::socket::wait_type what) {
    x_socket.async_wait(what, [self = shared_from_this()](error_code failure) {
        self->on_readable(failure);
    });
}

/// Where the next bytes go. A stream that waits for its client to leave has no memory for it.
std::span<char> connection::room_to_read() {
    if (x_read_target == into::body) {
        const std::size_t size = static_cast<std::size_t>(*x_head.content_length);
        return {x_body_memory.get() + x_body_size, size - x_body_size};
    }
    read_buffer& target = x_buffers[x_read_buffer];
    // Whatever is free is offered; at least half of the usual read, so that little is moved.
    return target.prepare(target.capacity() == 0 ? x_read_size : x_read_size / 2);
}

void connection::on_readable(error_code failure) {
    if (failure || !x_socket.is_open()) {
        on_read(failure ? failure : asio::error::operation_aborted, 0);
        return;
    }
    const std::span<char> room = room_to_read();
    const read_result input = x_tls ? x_tls->read(room) : receive(x_socket, room);
    switch (input.what) {
        case got::nothing:
            await_readable(input.wants_write ? tcp::socket::wait_write : tcp::socket::wait_read);
            return;
        case got::end:
            on_read(asio::error::eof, 0);
            return;
        case got::failed:
            on_read(input.failure, 0);
            return;
        case got::bytes:
            break;
    }
    if (input.count == room.size() && x_read_target == into::buffer) {
        x_read_size = std::min(x_read_size * 2, largest_read);
    }
    on_read({}, input.count);
}

void connection::on_read(error_code failure, std::size_t count) {
    x_reading = false;
    if (failure) {
        x_input = failure == asio::error::eof ? input_end::half_closed : input_end::broken;
    } else if (x_read_target == into::body) {
        x_body_size += count;
    } else {
        x_buffers[x_read_buffer].commit(count);
    }
    if (x_awaiting_input) {
        x_input_event.set_and_run();
    } else if (x_phase == phase::active) {
        if (failure) {
            client_left(x_input);
        } else {
            watch();
        }
    }
}

/// Brings what was read ahead behind what is being parsed. Its buffer may have a read pending: it
/// is consumed, not moved.
bool connection::join_ahead() {
    if (ahead().empty()) {
        return false;
    }
    if (x_reading && x_read_buffer == x_current) {
        return false;
    }
    current().append(ahead().view());
    ahead().consume(ahead().size());
    return true;
}

/// While the handler runs and is not reading itself: notices a client that leaves.
void connection::watch() {
    if (x_reading || x_input != input_end::none) {
        return;
    }
    if (!x_body_done || ahead().size() >= ahead_limit) {
        watch_errors();
    } else {
        read_into_buffer(1 - x_current);
    }
}

void connection::watch_errors() {
    if (x_watching_errors) {
        return;
    }
    x_watching_errors = true;
    x_socket.async_wait(tcp::socket::wait_error, [self = shared_from_this()](error_code failure) {
        if (failure) {
            self->x_watching_errors = false;
            return;
        }
        pollfd state{self->x_socket.native_handle(), 0, 0};
        ::poll(&state, 1, 0);
        if ((state.revents & (POLLERR | POLLHUP)) == 0) {
            return;  // urgent data: waiting again would spin on it
        }
        self->x_watching_errors = false;
        self->x_input = input_end::broken;
        if (self->x_phase == phase::active) {
            self->client_left(input_end::broken);
        }
        if (self->x_awaiting_input) {
            self->x_input_event.set_and_run();
        }
    });
}

void connection::client_left(input_end how) {
    if (how == input_end::half_closed &&
        x_home->common().options.on_half_close == half_close::tolerate) {
        watch_errors();  // it may still reset
        return;
    }
    x_gone = true;
    x_writable_event.set();
    x_signal.fire({abort_kind::peer_gone, 0});
}

void connection::on_expired() {
    x_timed_out = true;
    x_input_event.set();
    x_writable_event.set();
}

void connection::stop() {
    x_close = true;
    if (x_phase == phase::idle || x_phase == phase::greeting) {
        x_input_event.set();
    }
}

void connection::abort() {
    if (x_phase == phase::active) {
        x_signal.fire({abort_kind::shutdown, 0});
    }
}

void connection::close() {
    error_code ignored;
    x_gone = true;
    x_socket.close(ignored);
    if (x_input == input_end::none) {
        x_input = input_end::broken;
    }
    x_input_event.set();
    x_writable_event.set();
}

}  // namespace sluice::net
