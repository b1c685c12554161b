// Whether one streamed answer is what the API promises, byte by byte as it comes.
//
// A stream is whole when
//  1. it consists of complete events, each with JSON or [DONE] as data;
//  2. it carries no error event;
//  3. a choice finished (finish_reason) before [DONE], which comes once and last;
//  4. content events and usage agree, when usage is told and `exact` is asked for. Engines that
//     put several tokens into one event break that rule and nothing else.
// One object a stream, one strand. The bytes may be cut anywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "openai/sse.hpp"
#include "openai/stream_facts.hpp"

namespace sluice::load {

class stream_check {
public:
    explicit stream_check(bool exact);

    /// Number of content events in these bytes.
    std::uint64_t feed(std::string_view bytes);
    /// The body ended as its framing says. Nothing: whole; otherwise what is wrong with it.
    std::optional<std::string> finish();

    std::uint64_t content_events() const { return x_reader.facts().content_events; }
    /// From usage, else one a content event.
    std::int64_t output_tokens() const;

private:
    void take(const openai::sse_event& event);

    bool x_exact;
    openai::sse_reader x_events;
    openai::answer_reader x_reader;
    std::uint64_t x_done = 0;
    std::uint64_t x_after_done = 0;
    std::uint64_t x_odd = 0;
};

}  // namespace sluice::load
