#include "load/stream_check.hpp"

namespace sluice::load {

stream_check::stream_check(bool exact) : x_exact(exact), x_reader(openai::answer_format::events) {}

std::uint64_t stream_check::feed(std::string_view bytes) {
    const std::uint64_t before = content_events();
    x_events.feed(bytes, [this](const openai::sse_event& event) { take(event); });
    return content_events() - before;
}

void stream_check::take(const openai::sse_event& event) {
    x_after_done += x_done;
    // Data that cannot be a JSON object is no part of this API.
    const bool is_done = event.data == "[DONE]";
    x_odd += !is_done && (!event.data.starts_with('{') || !event.data.ends_with('}')) ? 1 : 0;
    x_done += is_done ? 1 : 0;
    x_reader.take_event(event);
}

std::int64_t stream_check::output_tokens() const {
    const openai::answer_facts& facts = x_reader.facts();
    return facts.completion_tokens ? facts.completion_tokens->count()
                                   : static_cast<std::int64_t>(facts.content_events);
}

std::optional<std::string> stream_check::finish() {
    const openai::answer_facts& facts = x_reader.facts();
    if (facts.failed) {
        return "an error event";
    }
    if (x_events.inside_event()) {
        return "an event without its end";
    }
    if (x_odd > 0 || x_events.overflows() > 0) {
        return "an event that is no JSON object";
    }
    if (facts.finished_choices < 1) {
        return "no finish_reason";
    }
    if (x_done == 0) {
        return "no [DONE]";
    }
    if (x_after_done > 0) {
        return "an event after [DONE]";
    }
    if (x_exact && facts.completion_tokens &&
        facts.completion_tokens->count() != static_cast<std::int64_t>(facts.content_events)) {
        return "content events (" + std::to_string(facts.content_events) + ") and usage (" +
               std::to_string(facts.completion_tokens->count()) + " tokens) disagree";
    }
    return std::nullopt;
}

}  // namespace sluice::load
