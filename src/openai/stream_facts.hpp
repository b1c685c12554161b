// What a worker's answer says while it passes by: events, usage, its end, its failure.
//
// Called by the gateway's relay, the agent and the load client with the bytes of the answer's body
// in any cut; one object an answer, one strand.
//  1. The facts do not depend on the cut (B15).
//  2. Memory is bounded (sse_reader's limit; a JSON answer of any size is not kept at all), and no
//     bytes make it throw: not JSON, invalid UTF-8, `choices` empty or absent (B11).
//  3. One loop over the bytes, strings skipped by search; nothing is parsed into a tree.
//  4. Keys count only where the API puts them (`usage` at the top, finish_reason in a choice), so
//     a tool's arguments or an answer's text cannot pose as usage.
// Shapes: chat, completions, embeddings, responses, messages; told apart by their keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "openai/json_skim.hpp"
#include "openai/sse.hpp"

namespace sluice::openai {

/// How the answer's body is built: text/event-stream, or one JSON document.
enum class answer_format { events, document };
/// By Content-Type.
answer_format format_of(std::string_view content_type);

/// What one event was.
enum class event_kind {
    content,     ///< Carries generated text, reasoning or tool arguments.
    usage_only,  ///< Usage and nothing generated, no choice: the chunk of include_usage.
    done,        ///< `[DONE]` or message_stop.
    failure,     ///< An error instead of an answer.
    other,       ///< Roles, finish, keep-alive data, data that is not JSON.
};

struct answer_facts {
    std::uint64_t events = 0;          ///< Data events but `[DONE]`, of any kind.
    std::uint64_t content_events = 0;  ///< Events of kind content: about one an output token.
    std::uint64_t content_bytes = 0;   ///< Generated text as JSON bytes, in events and documents.
    std::uint64_t usage_events = 0;    ///< Events of kind usage_only.
    std::optional<tokens> prompt_tokens;      ///< Latest usage.
    std::optional<tokens> completion_tokens;  ///< Latest usage; none for embeddings.
    std::int64_t finished_choices = 0;  ///< finish_reason, stop_reason, response.completed seen.
    bool done = false;                  ///< `[DONE]` or message_stop seen.
    bool failed = false;                ///< An error was seen, in an event or as the document.
    bool failed_first = false;          ///< … and before any content.
    std::optional<int> failure_status;  ///< Its code or status when that is 400 … 599.
    bool complete_document = false;     ///< format document: the JSON value was closed.
    std::uint64_t overflows = 0;        ///< Events too large to be read.

    friend bool operator==(const answer_facts&, const answer_facts&) = default;
};

class answer_reader final : private skim_sink {
public:
    explicit answer_reader(answer_format format);

    /// Reads the next bytes of the body.
    void feed(std::string_view bytes);
    /// The body has ended. Counts a last event whose blank line is missing if it is complete.
    void finish();

    /// Reads one event that the caller has cut out; feed() does this for every event.
    event_kind take_event(const sse_event& event);

    const answer_facts& facts() const { return x_facts; }
    /// The answer ended as the API says it must (B10): no error, and `[DONE]`, or as many finished
    /// choices as `sequences`; a document: closed. A clean close alone is no success.
    bool succeeded(std::int64_t sequences = 1) const;
    /// A part of an event came without its end.
    bool inside_event() const { return x_events.inside_event(); }

private:
    /// What the current event (or the document) has shown so far.
    struct marks {
        bool content = false;
        bool usage = false;
        bool choice = false;
        bool typed = false;
        bool failure = false;
        bool done = false;
        std::int64_t finished = 0;
        std::int64_t input = 0;   // input_tokens and the cached ones, which the messages API
        std::int64_t cached = 0;  // counts apart
    };

    void take_value(const skim_value& value) override;
    void take_top(const skim_value& value);
    void take_type(std::string_view type);
    void take_choice(const skim_value& value);
    void take_usage(const skim_value& value);
    void take_failure(const skim_value& value);
    void add_content(const skim_value& value);
    event_kind settle();

    answer_format x_format;
    sse_reader x_events;
    json_skim x_skim;
    marks x_marks;
    answer_facts x_facts;
};

}  // namespace sluice::openai
