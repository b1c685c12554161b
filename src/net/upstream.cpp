#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "net/client_impl.hpp"
#include "net/wire.hpp"

namespace sluice::net {

namespace {

constexpr std::size_t first_read = 1024;
constexpr std::size_t largest_read = 64 * 1024;
constexpr unsigned interim_limit = 16;

bool wants_length(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

upstream::impl::impl(
    std::shared_ptr<client_pool::impl> its_pool, client_pool::impl::bucket& its_home
)
    : socket(its_pool->x_executor),
      pool(std::move(its_pool)),
      home(&its_home),
      read_size(first_read) {}

bool upstream::impl::reusable() const {
    return phase == state::complete && head.keep_alive && head.status != 101 && !closed_here &&
           !peer_ended && in.size() == used;
}

void upstream::impl::recycle() {
    in.clear();
    if (in.capacity() > first_read) {
        in.release();
    }
    if (out.capacity() > first_read) {
        out = std::string();
    }
    used = 0;
    ++served;
    phase = state::ready;
    received = false;
}

std::unexpected<error> upstream::impl::broken(error_code failure, std::string_view during) {
    phase = state::failed;
    if (closed_here) {
        return fail(errc::cancelled, "the request was given up");
    }
    const std::string what = failure == asio::error::eof ? "closed the connection"
                                                         : "failed (" + failure.message() + ")";
    return fail(errc::connection_failed, home->host_field + " " + what + " " + std::string(during));
}

std::unexpected<error> upstream::impl::malformed() {
    phase = state::failed;
    return fail(
        errc::protocol_error, home->host_field + " sent a bad response: " + parser.fault().what
    );
}

task<error_code> upstream::impl::read_more(std::size_t room) {
    if (!received) {
        // A response is not there yet when its request has just left: the read is tried after the
        // other ready work, and mostly finds it then instead of failing once first.
        co_await asio::post(socket.get_executor(), asio::use_awaitable_t<executor>{});
    }
    const std::span<char> space = in.prepare(in.capacity() == 0 ? read_size : room);
    error_code failure;
    std::size_t count = 0;
    if (tls) {
        const read_result input = co_await read_secured(space);
        failure = input.failure;
        count = input.count;
    } else {
        std::tie(failure, count) =
            co_await socket.async_read_some(asio::buffer(space.data(), space.size()), as_result);
    }
    if (!failure) {
        in.commit(count);
        received = true;
        if (count == space.size()) {
            read_size = std::min(read_size * 2, largest_read);
        }
    }
    co_return failure;
}

/// Whether a response is there although the request has not been taken completely.
bool upstream::impl::response_waits() {
    char byte = 0;
    return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

gather::outcome upstream::impl::send_now(gather& pieces, error_code& failure) {
    return pieces.send(socket, tls.get(), failure);
}

task<error_code> upstream::impl::drain(gather& rest) {
    error_code failure;
    for (;;) {
        const auto [stopped] = co_await socket.async_wait(tcp::socket::wait_write, as_result);
        if (stopped) {
            co_return stopped;
        }
        switch (send_now(rest, failure)) {
            case gather::outcome::done:
                co_return error_code();
            case gather::outcome::failed:
                co_return failure;
            case gather::outcome::would_block:
                break;
        }
    }
}

upstream::upstream() = default;
upstream::upstream(std::unique_ptr<impl> state) : x_impl(std::move(state)) {}
upstream::upstream(upstream&&) noexcept = default;

upstream& upstream::operator=(upstream&& other) noexcept {
    upstream old(std::move(*this));
    x_impl = std::move(other.x_impl);
    return *this;
}

upstream::~upstream() {
    if (x_impl && x_impl->reusable()) {
        const std::shared_ptr<client_pool::impl> pool = std::move(x_impl->pool);
        pool->put(std::move(x_impl));
    }
}

task<result<void>> upstream::send(const request_out& request) {
    impl& self = *x_impl;
    std::string& out = self.out;
    out.assign(request.method);
    out.push_back(' ');
    out.append(request.target).append(" HTTP/1.1\r\n");
    append_field(out, "host", self.home->host_field);
    for (const header_field& one : request.fields) {
        append_field(out, one.name, one.value);
    }
    if (!request.body.empty() || wants_length(request.method)) {
        out.append("content-length: ");
        append_number(out, request.body.size());
        out.append("\r\n");
    }
    out.append("\r\n");
    self.no_body = request.method == "HEAD";
    self.parser.begin(
        self.head, static_cast<std::size_t>(self.pool->options.header_bytes.count()), self.no_body
    );
    gather pieces;
    pieces.add(out).add(request.body);
    error_code failure;
    if (self.closed_here) {
        failure = asio::error::operation_aborted;
    } else if (self.send_now(pieces, failure) == gather::outcome::would_block) {
        failure = co_await self.drain(pieces);
    }
    // A peer that refuses early (413) may answer and close before it has taken everything.
    if (failure && (self.closed_here || !self.response_waits())) {
        co_return self.broken(failure, "while the request was sent");
    }
    self.phase = impl::state::sent;
    co_return result<void>();
}

task<result<const response_head*>> upstream::read_head() {
    impl& self = *x_impl;
    if (self.closed_here) {
        co_return self.broken({}, {});
    }
    unsigned interim = 0;
    for (;;) {
        if (!self.in.empty()) {
            const parse_step step = self.parser.parse_head(self.in.view());
            if (step == parse_step::failed) {
                co_return self.malformed();
            }
            if (step == parse_step::done) {
                self.in.consume(self.parser.head_size());
                if (self.head.status / 100 != 1 || self.head.status == 101) {
                    self.phase =
                        self.parser.expects_body() ? impl::state::in_body : impl::state::complete;
                    co_return &self.head;
                }
                if (++interim > interim_limit) {
                    co_return fail(
                        errc::protocol_error,
                        self.home->host_field + " sends interim responses without end"
                    );
                }
                self.parser.begin(
                    self.head,
                    static_cast<std::size_t>(self.pool->options.header_bytes.count()),
                    self.no_body
                );
                continue;
            }
        }
        const error_code failure = co_await self.read_more(self.read_size / 2);
        if (failure == asio::error::eof && self.received && !self.closed_here) {
            self.phase = impl::state::failed;
            co_return fail(
                errc::protocol_error,
                self.home->host_field + " closed the connection within the head of its response"
            );
        }
        if (failure) {
            co_return self.broken(failure, "before a response came");
        }
    }
}

task<result<std::string_view>> upstream::read_body() {
    impl& self = *x_impl;
    self.in.consume(std::exchange(self.used, 0));
    if (self.phase == impl::state::complete) {
        co_return std::string_view();
    }
    if (self.phase != impl::state::in_body || self.closed_here) {
        co_return self.broken(asio::error::not_connected, "before its body was asked for");
    }
    const std::size_t framing_limit =
        static_cast<std::size_t>(self.pool->options.header_bytes.count());
    for (;;) {
        if (!self.in.empty()) {
            const body_step step = self.parser.parse_body(self.in.data(), self.in.size());
            if (step.step == parse_step::failed) {
                co_return self.malformed();
            }
            if (step.step == parse_step::done) {
                self.phase = impl::state::complete;
            }
            if (!step.data.empty() || step.step == parse_step::done) {
                self.used = step.consumed;
                co_return step.data;
            }
            self.in.consume(step.consumed);
            if (self.in.size() > framing_limit) {
                self.phase = impl::state::failed;
                co_return fail(
                    errc::protocol_error,
                    self.home->host_field + " sends a chunk line or trailer without end"
                );
            }
        }
        const error_code failure = co_await self.read_more(self.read_size / 2);
        if (failure == asio::error::eof && !self.closed_here) {
            self.peer_ended = true;
            if (!self.parser.end_of_input()) {
                self.phase = impl::state::failed;
                co_return fail(
                    errc::protocol_error,
                    self.home->host_field + " closed the connection within its response"
                );
            }
            self.phase = impl::state::complete;
            co_return std::string_view();
        }
        if (failure) {
            co_return self.broken(failure, "within its response");
        }
    }
}

bool upstream::complete() const {
    return x_impl && x_impl->phase == impl::state::complete;
}

std::span<const header_field> upstream::trailers() const {
    return x_impl && complete() ? x_impl->parser.trailers() : std::span<const header_field>();
}

bool upstream::reused() const {
    return x_impl && x_impl->served > 0;
}

bool upstream::received_any() const {
    return x_impl && x_impl->received;
}

void upstream::close() {
    if (x_impl) {
        error_code ignored;
        x_impl->closed_here = true;
        x_impl->socket.close(ignored);
    }
}

}  // namespace sluice::net
