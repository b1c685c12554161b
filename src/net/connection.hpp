// One accepted connection: its coroutine, its buffers, and the exchange that its handler sees.
// Internal to net.
//
// Invariants
//  1. At most one read is pending. Between requests it is the wait for the next one; while a
//     handler runs it is the watch for a client that leaves. A request costs one read operation.
//  2. A request's head (and a body that came with it) stays in x_buffers[x_current] for the whole
//     exchange; reads meanwhile go to the other buffer, or straight into the body's memory.
//     Memory is asked for when bytes are there, not when they are waited for.
//  3. Read-ahead is bounded by `ahead_limit`; beyond it only errors are watched for.
//  4. Completion handlers hold a shared_ptr: they never see freed memory.
#pragma once

#include <array>
#include <memory>

#include "net/event.hpp"
#include "net/http_parser.hpp"
#include "net/loop.hpp"
#include "net/read_buffer.hpp"
#include "net/server.hpp"
#include "net/shard.hpp"
#include "net/tls_session.hpp"
#include "net/wire.hpp"

namespace sluice::net {

class connection final : public exchange,
                         public std::enable_shared_from_this<connection>,
                         private timer_entry {
public:
    connection(std::shared_ptr<shard> home, tcp_socket socket, const tcp::endpoint& peer);
    ~connection() override;

    /// Serves until the connection ends. The caller keeps the object alive meanwhile.
    task<> run();
    /// Closes now when idle, else after the response.
    void stop();
    /// Fires `shutdown` on a running exchange.
    void abort();
    /// Drops the connection whatever it does.
    void close();

    const request_head& request() const override { return x_head; }
    executor get_executor() const override { return x_executor; }
    std::size_t thread_index() const override { return x_home->index(); }
    abort_signal& signal() override { return x_signal; }
    std::string peer_address() const override;
    task<result<std::string_view>> read_body(bytes limit, body_room* room) override;
    task<bool> respond(int status, std::span<const header_field> fields, std::string_view body)
        override;
    void begin(
        int status, std::span<const header_field> fields, std::optional<std::uint64_t> length
    ) override;
    task<bool> write(std::string_view data) override;
    task<bool> flush() override;
    task<bool> finish() override;
    task<bool> finish(std::string_view last, std::span<const header_field> trailers) override;
    void release_body() override;
    bool response_started() const override { return x_response.started; }
    void close_after() override { x_close = true; }

    // reading (connection.cpp, connection_body.cpp)
private:
    enum class phase : unsigned char { greeting, idle, in_head, active, closing };
    enum class input_end : unsigned char { none, half_closed, broken };
    enum class into : unsigned char { buffer, body };

    // connection_tls.cpp
    task<bool> greet();
    task<> greet_failed(std::string_view why);
    void await_handshake(tls_session::step step);

    task<bool> read_head();
    task<> refuse(int status, std::string what);
    task<> serve();
    task<> answer_for_handler();
    bool next_exchange();
    task<> linger();
    task<> input_event();

    read_buffer& current() { return x_buffers[x_current]; }
    read_buffer& ahead() { return x_buffers[1 - x_current]; }
    void read_into_buffer(std::size_t which);
    void start_read(into where, std::size_t which);
    void await_readable(tcp::socket::wait_type what);
    std::span<char> room_to_read();
    void on_readable(error_code failure);
    void on_read(error_code failure, std::size_t count);
    bool join_ahead();
    void watch();
    void watch_errors();
    void client_left(input_end how);
    void on_expired() override;

    void begin_body();
    bool skip_body();
    void retain_head();
    void append_to_body(std::string_view bytes);
    task<std::optional<error>> read_sized_body();
    task<std::optional<error>> read_chunked_body(bytes limit, body_room* room);
    task<std::optional<error>> body_progress();
    duration body_patience() const;
    task<bool> send_continue();

    // writing (connection_write.cpp)
    enum class framing : unsigned char { none, sized, chunked, until_close };
    struct response_state {
        framing body = framing::none;
        std::uint64_t left = 0;
        bool begun = false;
        bool held = false;     ///< The head in x_out has not left.
        bool started = false;  ///< A byte has left.
        bool ended = false;
        bool keep_alive = false;
    };
    void start_head(
        int status, std::span<const header_field> fields, std::optional<std::uint64_t> length
    );
    void append_fields(std::span<const header_field> fields);
    void add_held_head(gather& out);
    bool add_data(gather& out, std::string_view data);
    task<bool> drain(gather& rest);
    /// Sends, at once in most cases. Otherwise the caller awaits drain().
    gather::outcome send_now(gather& out);
    bool may_write() const { return x_response.begun && !x_response.ended && !x_gone; }
    void cut();
    task<bool> send(gather& out);

    std::shared_ptr<shard> x_home;
    executor x_executor;
    tcp_socket x_socket;
    std::unique_ptr<tls_session> x_tls;
    tcp::endpoint x_peer;
    std::size_t x_place = 0;  ///< In the shard's list; kept by the shard.
    friend class shard;

    phase x_phase = phase::idle;
    input_end x_input = input_end::none;
    bool x_reading = false;
    bool x_watching_errors = false;
    bool x_awaiting_input = false;
    bool x_write_pending = false;
    bool x_gone = false;
    bool x_timed_out = false;
    bool x_close = false;
    bool x_linger = false;
    into x_read_target = into::buffer;
    std::size_t x_read_buffer = 0;
    event x_input_event;
    event x_writable_event;
    std::array<read_buffer, 2> x_buffers;
    std::size_t x_current = 0;
    std::size_t x_read_size;  ///< Grows with what this client sends at a time.

    request_parser x_parser;
    request_head x_head;
    abort_signal x_signal;
    read_buffer
        x_retained;  ///< Memory of the head while x_buffers[x_current] is needed for a body.
    std::unique_ptr<char[]> x_body_memory;
    std::size_t x_body_capacity = 0;
    std::size_t x_body_size = 0;
    std::chrono::steady_clock::time_point x_body_began;
    std::string_view x_body;
    bool x_body_done = true;
    bool x_body_started = false;

    response_state x_response;
    std::string x_out;
    std::string x_tail;  ///< Last chunk and trailers.
    std::array<char, 20> x_chunk_line;
};

}  // namespace sluice::net
