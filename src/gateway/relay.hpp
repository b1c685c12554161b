// One attempt of one request on one worker: sends it, brings the answer back, gives the permit
// back.
//
// The shell around relay_fsm; on the strand of the client's connection.
//  1. The client gets the worker's bytes, cut only between events: what came of an event is held
//     until the rest is there, so that a stream that breaks inside one leaves whole events (B10).
//  2. Back pressure: the worker is not read while the client does not take what was read before.
//  3. The permit goes back before the last bytes are written: a client that reads slowly holds no
//     slot that the worker has long freed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/admission_hub.hpp"
#include "gateway/field_list.hpp"
#include "gateway/hall.hpp"
#include "gateway/relay_fsm.hpp"
#include "gateway/request_clock.hpp"
#include "gateway/request_record.hpp"
#include "net/client.hpp"
#include "net/server.hpp"
#include "openai/sse.hpp"
#include "openai/stream_facts.hpp"

namespace sluice::gateway {

/// What an attempt needs. Everything outlives it.
struct relay_order {
    net::exchange& client;
    hall& in;
    request_record& record;
    request_clock& clock;
    permit_lease& lease;
    const net::endpoint& worker;
    const net::request_out& request;
    /// Text of the request's fields; goes back as soon as the answer's head is there.
    field_list_pool::lease& request_fields;
    /// Told when the request will not be sent again: its body may go.
    std::function<void()> body_done;
    std::int64_t sequences = 1;
};

class relay {
public:
    explicit relay(relay_order order);

    /// True: the request has ended, and the permit with it. False: the worker could not be reached,
    /// nothing was sent to either side, the permit is still held; see trouble().
    net::task<bool> run();
    /// What happened to the worker, for the person who reads the answer.
    const std::string& trouble() const { return x_trouble; }

private:
    net::task<bool> connect(bool fresh);
    net::task<const net::response_head*> exchange_heads();
    void take_head(const net::response_head& head);
    net::task<void> pump();
    net::task<bool> take_piece(std::string_view piece);
    void read_along(std::string_view piece);
    void read_rest();
    ending how_it_ended() const;
    relay_step broken_or_aborted();
    net::task<void> end(relay_step step);
    net::task<void> tell(relay_step step);
    net::task<void> tell_event(const relay_step& step);
    std::string message_for(openai::reason why) const;
    void add_answer_fields();
    std::string_view not_sent(std::string_view piece);
    std::size_t sendable(std::string_view unsent) const;
    void drop_half_event();
    relay_step last_step();

    relay_order x_order;
    net::abort_signal& x_signal;
    net::upstream x_up;
    relay_fsm x_fsm;
    body_kind x_kind = body_kind::whole;
    int x_status = 0;
    std::optional<std::uint64_t> x_length;
    field_list_pool::lease x_fields;  // of the answer, until its head is sent
    openai::sse_reader x_events;
    openai::answer_reader x_answer;
    bool x_token = false;
    std::string x_failure;          // data of an error that came as the first event
    std::string x_held;             // bytes that came and were not sent
    std::string_view x_unsent;      // what a terminal step sends: in x_held or in the last piece
    std::uint64_t x_came = 0;       // bytes of the body so far
    std::uint64_t x_event_end = 0;  // where the last whole event ended
    std::string x_trouble;
};

}  // namespace sluice::gateway
