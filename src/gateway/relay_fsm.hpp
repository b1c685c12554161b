// What becomes of a worker's answer: every decision between its head and the client's last byte.
//
// Pure; relay.cpp performs the actions. One object an attempt.
//  1. Nothing is sent to the client before the first token (or byte of a body that is no event
//     stream), so that what fails before it still gets a status of its own.
//  2. After start() was asked for, a failure is an error event in an event stream and a cut
//     elsewhere: no answer that failed ends like one that did not (B10).
//  3. Every path ends in exactly one terminal step, which says how the permit goes back.
//  4. At most `hold_limit` bytes are held back; what is longer is sent as it comes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/inputs.hpp"
#include "openai/errors.hpp"

namespace sluice::gateway {

enum class relay_action : std::uint8_t {
    hold,          ///< Keep what came, read on.
    start,         ///< Send the head and everything held, then read on.
    pass,          ///< Send what came, read on.
    answer_whole,  ///< End: the held body with the worker's status.
    answer_event,  ///< End: the held event's data as the body, with `status`.
    answer_error,  ///< End: an error of ours, for the reason.
    finish,        ///< End: the last byte has been sent; close the body properly.
    error_event,   ///< End: an error event for the reason, then close the body properly.
    cut,           ///< End: close the connection without the body's proper end.
    leave,         ///< End: nobody is there to be told.
};

struct relay_step {
    relay_action action = relay_action::hold;
    openai::reason why = openai::reason::ok;
    core::release_outcome release = core::release_outcome::ok;
    int status = 0;

    friend bool operator==(const relay_step&, const relay_step&) = default;
};

/// How the body of an answer is read.
enum class body_kind : std::uint8_t { events, whole };

/// How a body ended, by its own words.
enum class ending : std::uint8_t {
    good,        ///< It has all that it needs: `[DONE]`, every finish reason (B10).
    failed,      ///< It carried an error, which the client has or will get.
    unfinished,  ///< It stopped without saying its end.
};

class relay_fsm {
public:
    static constexpr std::size_t default_hold_limit = std::size_t{256} << 10;

    explicit relay_fsm(std::size_t hold_limit = default_hold_limit) : x_hold_limit(hold_limit) {}

    /// The worker's head came.
    void head(int status, body_kind kind);

    /// What a read of the body showed.
    struct body_view {
        std::size_t held = 0;       ///< Bytes held back so far, this read included.
        bool token = false;         ///< An event with data has been seen (any body byte elsewhere).
        bool failed_first = false;  ///< An error came before anything else.
        int failure_status = 0;     ///< 400 … 599, if the error names one.
    };
    relay_step body(const body_view& view);

    /// The body ended as its framing says, and this is what it said of itself. `readable`: the
    /// held body is text that a client can read.
    relay_step end(ending how, bool readable = true);
    /// The worker broke off or spoke nonsense.
    relay_step broken();
    /// A deadline passed or the process ends; `why` is the reason that the client reads.
    relay_step aborted(openai::reason why);
    /// The client left.
    relay_step client_gone();

    bool started() const { return x_started; }
    bool is_error() const { return x_status >= 300; }

private:
    core::release_outcome release_by_status() const;
    relay_step fail(openai::reason why, core::release_outcome release) const;

    std::size_t x_hold_limit;
    int x_status = 0;
    body_kind x_kind = body_kind::whole;
    bool x_started = false;
};

}  // namespace sluice::gateway
