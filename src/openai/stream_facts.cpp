#include "openai/stream_facts.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace sluice::openai {

namespace {

using enum skim_key;

bool under(const skim_value& value, std::initializer_list<skim_key> path) {
    return std::ranges::equal(value.path, path);
}

/// A count as workers write it; nothing for what is negative, broken or beyond any model.
std::optional<std::int64_t> read_count(const skim_value& value) {
    std::int64_t count = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, failed] = std::from_chars(value.text.data(), end, count);
    if (value.kind != skim_kind::bare || failed != std::errc() || stop != end || count < 0 ||
        count > quantity_limit) {
        return std::nullopt;
    }
    return count;
}

bool is_null(const skim_value& value) {
    return value.kind == skim_kind::bare && value.text == "null";
}

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool contains_word(std::string_view text, std::string_view word) {
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    return std::ranges::search(text, word, same).begin() != text.end();
}

}  // namespace

answer_format format_of(std::string_view content_type) {
    return contains_word(content_type.substr(0, 64), "text/event-stream") ? answer_format::events
                                                                          : answer_format::document;
}

answer_reader::answer_reader(answer_format format) : x_format(format) {}

void answer_reader::feed(std::string_view bytes) {
    if (x_format == answer_format::events) {
        x_events.feed(bytes, [this](const sse_event& event) { take_event(event); });
        x_facts.overflows = x_events.overflows();
        return;
    }
    x_skim.feed(bytes, *this);
    x_facts.complete_document = x_skim.complete();
    if (x_marks.failure && !x_facts.failed) {
        x_facts.failed = true;
        x_facts.failed_first = true;
    }
    x_facts.finished_choices = x_marks.finished;
}

void answer_reader::finish() {
    if (x_format == answer_format::document) {
        return;
    }
    const std::string_view rest = x_events.unfinished_data();
    if (trim(rest) == "[DONE]") {
        take_event({{}, rest, 0, 0});
        return;
    }
    // Half an event must not count: try it, and take the facts back if its JSON has no end.
    const answer_facts before = x_facts;
    if (!rest.empty()) {
        take_event({{}, rest, 0, 0});
        if (!x_skim.complete()) {
            x_facts = before;
        }
    }
}

event_kind answer_reader::take_event(const sse_event& event) {
    if (trim(event.data) == "[DONE]") {
        x_facts.done = true;
        return event_kind::done;
    }
    x_marks = {};
    x_skim.reset();
    x_skim.feed(event.data, *this);
    x_marks.failure = x_marks.failure || event.name == "error";
    return settle();
}

event_kind answer_reader::settle() {
    ++x_facts.events;
    x_facts.finished_choices += x_marks.finished;
    if (x_marks.failure) {
        x_facts.failed_first = x_facts.failed_first || x_facts.content_events == 0;
        x_facts.failed = true;
        return event_kind::failure;
    }
    if (x_marks.done) {
        x_facts.done = true;
        return event_kind::done;
    }
    if (x_marks.content) {
        ++x_facts.content_events;
        return event_kind::content;
    }
    if (x_marks.usage && !x_marks.choice && !x_marks.typed) {
        ++x_facts.usage_events;
        return event_kind::usage_only;
    }
    return event_kind::other;
}

bool answer_reader::succeeded(std::int64_t sequences) const {
    if (x_facts.failed) {
        return false;
    }
    if (x_format == answer_format::document) {
        return x_facts.complete_document;
    }
    return x_facts.done || x_facts.finished_choices >= std::max<std::int64_t>(sequences, 1);
}

void answer_reader::take_value(const skim_value& value) {
    const auto& path = value.path;
    if (path.size() == 1) {
        take_top(value);
    } else if (path[1] == choices) {
        take_choice(value);
    } else if (under(value, {none, usage}) || under(value, {none, response, usage}) ||
               under(value, {none, message, usage})) {
        take_usage(value);
    } else if (under(value, {none, error})) {
        take_failure(value);
    } else if (under(value, {none, delta})) {
        if (value.key == stop_reason && !is_null(value)) {
            ++x_marks.finished;
        } else if (value.key == text || value.key == partial_json || value.key == thinking) {
            add_content(value);
        }
    } else if (under(value, {none, content, none}) ||
               under(value, {none, output, none, content, none})) {
        if (value.key == text) {
            add_content(value);
        }
    }
}

void answer_reader::take_top(const skim_value& value) {
    const bool is_text = value.kind == skim_kind::string;
    if (value.key == error) {
        x_marks.failure = x_marks.failure || !is_null(value);
    } else if (value.key == skim_key::type && is_text) {
        take_type(value.text);
    } else if (value.key == stop_reason && is_text) {
        ++x_marks.finished;
    } else if (value.key == delta && is_text) {
        add_content(value);
    } else if (value.key == status && is_text && x_format == answer_format::document) {
        x_marks.finished += value.text == "completed" || value.text == "incomplete" ? 1 : 0;
        x_marks.failure = x_marks.failure || value.text == "failed";
    }
}

// The event types of the responses and messages APIs.
void answer_reader::take_type(std::string_view type) {
    x_marks.typed = true;
    if (type == "message_stop") {
        x_marks.done = true;
    } else if (type == "response.completed" || type == "response.incomplete") {
        ++x_marks.finished;
    } else if (type == "response.failed" || type == "error") {
        x_marks.failure = true;
    } else if (type == "content_block_delta" || type.ends_with(".delta")) {
        x_marks.content = true;
    }
}

void answer_reader::take_choice(const skim_value& value) {
    if (under(value, {none, choices}) && value.kind == skim_kind::object) {
        x_marks.choice = true;
        return;
    }
    const auto& path = value.path;
    if (under(value, {none, choices, none})) {
        if (value.key == finish_reason && !is_null(value)) {
            ++x_marks.finished;
        } else if (value.key == text) {
            add_content(value);
        }
        return;
    }
    if (path.size() < 4 || path[2] != none || (path[3] != delta && path[3] != message)) {
        return;
    }
    const bool is_text = value.key == content || value.key == reasoning_content ||
                         value.key == reasoning || value.key == refusal;
    const bool is_call = value.key == arguments || value.key == name;
    const auto inner = path.subspan(4);
    constexpr std::array tool_path{tool_calls, none, function};
    constexpr std::array call_path{function_call};
    if ((inner.empty() && is_text) || (is_call && (std::ranges::equal(inner, tool_path) ||
                                                   std::ranges::equal(inner, call_path)))) {
        add_content(value);
    }
}

void answer_reader::add_content(const skim_value& value) {
    if (value.kind == skim_kind::string && value.length > 0) {
        x_marks.content = true;
        x_facts.content_bytes += value.length;
    }
}

void answer_reader::take_usage(const skim_value& value) {
    const auto count = read_count(value);
    if (!count) {
        return;
    }
    switch (value.key) {
        case prompt_tokens:
            x_facts.prompt_tokens = tokens(*count);
            break;
        case completion_tokens:
        case output_tokens:
            x_facts.completion_tokens = tokens(*count);
            break;
        case input_tokens:
            x_marks.input = *count;
            x_facts.prompt_tokens = tokens(x_marks.input) + tokens(x_marks.cached);
            break;
        case cache_creation_input_tokens:
        case cache_read_input_tokens:
            x_marks.cached = (tokens(x_marks.cached) + tokens(*count)).count();
            if (x_marks.input > 0 || x_marks.cached > 0) {
                x_facts.prompt_tokens = tokens(x_marks.input) + tokens(x_marks.cached);
            }
            break;
        default:
            return;
    }
    x_marks.usage = true;
}

void answer_reader::take_failure(const skim_value& value) {
    if (value.key != code && value.key != status) {
        return;
    }
    int number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, failed] = std::from_chars(value.text.data(), end, number);
    if (failed == std::errc() && stop == end && number >= 400 && number <= 599) {
        x_facts.failure_status = number;
    }
}

}  // namespace sluice::openai
