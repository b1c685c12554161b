#include "openai/json_skim.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::openai {

namespace {

using enum skim_key;

// Sorted by name: found by bisection.
constexpr std::array<std::pair<std::string_view, skim_key>, 30> names{{
    {"arguments", arguments},
    {"cache_creation_input_tokens", cache_creation_input_tokens},
    {"cache_read_input_tokens", cache_read_input_tokens},
    {"choices", choices},
    {"code", code},
    {"completion_tokens", completion_tokens},
    {"content", content},
    {"delta", delta},
    {"error", error},
    {"finish_reason", finish_reason},
    {"function", function},
    {"function_call", function_call},
    {"input_tokens", input_tokens},
    {"message", message},
    {"name", name},
    {"output", output},
    {"output_tokens", output_tokens},
    {"partial_json", partial_json},
    {"prompt_tokens", prompt_tokens},
    {"reasoning", reasoning},
    {"reasoning_content", reasoning_content},
    {"refusal", refusal},
    {"response", response},
    {"status", status},
    {"stop_reason", stop_reason},
    {"text", text},
    {"thinking", thinking},
    {"tool_calls", tool_calls},
    {"type", type},
    {"usage", usage},
}};
static_assert(std::ranges::is_sorted(names));

skim_key key_of(std::string_view word) {
    const auto found =
        std::ranges::lower_bound(names, word, {}, [](const auto& entry) { return entry.first; });
    return found != names.end() && found->first == word ? found->second : other;
}

bool is_space(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

bool is_structural(char byte) {
    return byte == ',' || byte == ':' || byte == '{' || byte == '}' || byte == '[' || byte == ']';
}

/// First quote or backslash at or after `at`, eight bytes at a time.
std::size_t end_of_plain(std::string_view text, std::size_t at) {
    constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
    constexpr std::uint64_t highs = 0x8080'8080'8080'8080;
    const auto has_zero = [](std::uint64_t word) { return (word - ones) & ~word & highs; };
    while (text.size() - at >= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, sizeof(word));
        if ((has_zero(word ^ (ones * '"')) | has_zero(word ^ (ones * '\\'))) != 0) {
            break;
        }
        at += sizeof(word);
    }
    while (at < text.size() && text[at] != '"' && text[at] != '\\') {
        ++at;
    }
    return at;
}

}  // namespace

void json_skim::feed(std::string_view text, skim_sink& sink) {
    std::size_t at = 0;
    while (at < text.size() && !x_broken) {
        switch (x_place) {
            case place::string:
                at = feed_string(text, at);
                continue;
            case place::escape:
                keep(text.substr(at, 1));
                x_place = place::string;
                ++at;
                continue;
            case place::bare:
                at = feed_bare(text, at);
                continue;
            case place::between:
                break;
        }
        const char byte = text[at];
        if (is_structural(byte)) {
            take_structural(byte, sink);
            ++at;
        } else if (is_space(byte)) {
            ++at;
        } else {
            x_broken = x_depth == 0 || x_pending;
            x_pending = true;
            x_length = 0;
            x_kind = byte == '"' ? skim_kind::string : skim_kind::bare;
            x_place = byte == '"' ? place::string : place::bare;
            at += byte == '"' ? 1 : 0;
        }
    }
}

std::size_t json_skim::feed_string(std::string_view text, std::size_t at) {
    const std::size_t end = end_of_plain(text, at);
    keep(text.substr(at, end - at));
    if (end == text.size()) {
        return end;
    }
    if (text[end] == '\\') {
        keep("\\");
        x_place = place::escape;
    } else {
        x_place = place::between;
    }
    return end + 1;
}

std::size_t json_skim::feed_bare(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && !is_structural(text[end]) && !is_space(text[end]) &&
           text[end] != '"') {
        ++end;
    }
    keep(text.substr(at, end - at));
    if (end < text.size()) {
        x_place = place::between;
    }
    return end;
}

void json_skim::keep(std::string_view part) {
    if (x_length < max_text) {
        const std::size_t count = std::min<std::size_t>(part.size(), max_text - x_length);
        std::copy_n(part.data(), count, x_text.data() + x_length);
    }
    x_length += part.size();
}

void json_skim::take_structural(char byte, skim_sink& sink) {
    if (byte == ':') {
        x_broken = !x_pending || x_kind != skim_kind::string || x_key != none;
        x_key = x_length <= max_text ? key_of(kept()) : other;
        x_pending = false;
        return;
    }
    if (byte == '{' || byte == '[') {
        x_broken = x_pending || complete();
        if (!x_broken) {
            open(byte == '{' ? skim_kind::object : skim_kind::array, sink);
        }
        return;
    }
    flush(sink);
    x_key = none;
    if (byte != ',') {
        close();
    }
}

void json_skim::flush(skim_sink& sink) {
    if (x_pending) {
        x_pending = false;
        if (x_depth <= max_path) {
            sink.take_value({x_kind, x_key, path(), kept(), x_length});
        }
    }
}

void json_skim::open(skim_kind kind, skim_sink& sink) {
    if (x_depth > 0 && x_depth <= max_path) {
        sink.take_value({kind, x_key, path(), {}, 0});
    }
    if (x_depth < max_path) {
        x_path[x_depth] = x_key;
    }
    ++x_depth;
    x_key = none;
    x_opened = true;
}

void json_skim::close() {
    if (x_depth == 0) {
        x_broken = true;
        return;
    }
    --x_depth;
}

std::string_view json_skim::kept() const {
    return {x_text.data(), std::min<std::size_t>(x_length, max_text)};
}

std::span<const skim_key> json_skim::path() const {
    return {x_path.data(), x_depth};
}

}  // namespace sluice::openai
