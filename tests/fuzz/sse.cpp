// Event streams and the answer reader, in any cut, against a reader that knows the whole text.
//
//  1. The events, their ranges and the overflows do not depend on the cut, whatever the limit.
//  2. Below the limit they are what the standard's rules give over the whole text.
//  3. Ranges ascend and lie in the stream; buffered memory is bounded.
//  4. The facts of an answer, as events or as one document, do not depend on the cut.
#include <string>

#include "fuzz/fuzz.hpp"
#include "openai/sse.hpp"
#include "openai/stream_facts.hpp"

namespace {

using namespace sluice;
using namespace sluice::openai;
using fuzz::require;

struct event {
    std::string name;
    std::string data;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    friend bool operator==(const event&, const event&) = default;
};

struct outcome {
    std::vector<event> events;
    std::uint64_t overflows = 0;
    bool inside = false;
    std::string unfinished;
    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(const std::vector<fuzz::exact_text>& pieces, std::size_t limit) {
    sse_reader reader(limit);
    outcome out;
    for (const fuzz::exact_text& piece : pieces) {
        reader.feed(piece.view(), [&](const sse_event& one) {
            out.events.push_back({std::string(one.name), std::string(one.data), one.begin, one.end}
            );
        });
        require(reader.buffered() <= 2 * limit + 256, "buffered memory is bounded");
    }
    out.overflows = reader.overflows();
    out.inside = reader.inside_event();
    out.unfinished = reader.unfinished_data();
    return out;
}

/// The rules of the standard, a line at a time, without cuts, limits or views.
std::vector<event> events_of(std::string_view text) {
    std::vector<event> events;
    event current;
    bool has_data = false;
    std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    while (true) {
        const std::size_t stop = text.find_first_of("\r\n", at);
        if (stop == text.npos) {
            return events;
        }
        const std::string_view line = text.substr(at, stop - at);
        at = stop + (text.substr(stop).starts_with("\r\n") ? 2 : 1);
        const std::size_t colon = line.find(':');
        const std::string_view field = line.substr(0, colon);
        std::string_view value = colon == line.npos ? "" : line.substr(colon + 1);
        value.remove_prefix(value.starts_with(' ') ? 1 : 0);
        if (line.empty()) {
            if (has_data && !current.data.empty()) {
                events.push_back(current);
            }
            current = {};
            has_data = false;
        } else if (field == "data") {
            current.data += (has_data ? "\n" : "") + std::string(value);
            has_data = true;
        } else if (field == "event") {
            current.name = value.substr(0, 64);
        }
    }
}

void compare(const outcome& got, std::string_view text) {
    const std::vector<event> expected = events_of(text);
    require(got.events.size() == expected.size(), "as many events as the standard says");
    for (std::size_t i = 0; i < expected.size(); ++i) {
        require(got.events[i].name == expected[i].name, "the name is the standard's");
        require(got.events[i].data == expected[i].data, "the data is the standard's");
    }
    std::uint64_t behind = 0;
    for (const event& one : got.events) {
        require(one.begin >= behind && one.begin < one.end, "ranges ascend");
        require(one.end <= text.size(), "ranges lie in the stream");
        behind = one.end;
    }
}

answer_reader answer_of(const std::vector<fuzz::exact_text>& pieces, answer_format format) {
    answer_reader reader(format);
    for (const fuzz::exact_text& piece : pieces) {
        reader.feed(piece.view());
    }
    reader.finish();
    return reader;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    random_source chance = fuzz::chance_of(text);
    const std::vector<fuzz::exact_text> whole{fuzz::exact_text(text)};
    const auto pieces = fuzz::cut(text, chance, 1 + chance.below(40));

    const outcome once = read(whole, sse_reader::default_limit);
    compare(once, text);
    require(once == read(pieces, sse_reader::default_limit), "events do not depend on the cut");
    const std::size_t limit = 1 + chance.below(48);
    require(read(whole, limit) == read(pieces, limit), "nor do they at a small limit");

    for (const auto format : {answer_format::events, answer_format::document}) {
        const answer_reader one = answer_of(whole, format);
        const answer_reader many = answer_of(pieces, format);
        require(one.facts() == many.facts(), "facts do not depend on the cut");
        require(one.succeeded(2) == many.succeeded(2), "nor does success");
    }
    return 0;
}
