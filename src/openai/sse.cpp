#include "openai/sse.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::openai {

namespace {

constexpr std::size_t max_name = 64;
constexpr std::size_t line_slack = 16;  // more than a byte order mark and "event: "
// Above this a buffer is given back after its event: one large event must not cost a connection
// its memory for the rest of the stream.
constexpr std::size_t retained_buffer = std::size_t{16} << 10;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::size_t find_byte(std::string_view text, char byte, std::size_t from) {
    if (from >= text.size()) {
        return text.size();
    }
    const void* hit = std::memchr(text.data() + from, byte, text.size() - from);
    if (hit == nullptr) {
        return text.size();
    }
    return static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
}

void recycle(std::string& buffer) {
    buffer.clear();
    if (buffer.capacity() > retained_buffer) {
        buffer.shrink_to_fit();
    }
}

}  // namespace

sse_reader::sse_reader(std::size_t limit) : x_limit(limit) {}

void sse_reader::begin(std::string_view bytes) {
    x_base += x_read.size();
    x_read = bytes;
    x_position = 0;
    x_next_lf = find_byte(x_read, '\n', 0);
    x_next_cr = find_byte(x_read, '\r', 0);
}

// The first \n or \r at or after the position. Each of the two searches runs over the read once.
std::size_t sse_reader::find_line_end() {
    if (x_next_lf < x_position) {
        x_next_lf = find_byte(x_read, '\n', x_position);
    }
    if (x_next_cr < x_position) {
        x_next_cr = find_byte(x_read, '\r', x_position);
    }
    return x_next_lf < x_next_cr ? x_next_lf : x_next_cr;
}

std::optional<std::string_view> sse_reader::next_line() {
    if (x_after_cr && x_position < x_read.size()) {
        x_after_cr = false;
        if (x_read[x_position] == '\n') {
            ++x_position;
        }
    }
    const std::size_t end = find_line_end();
    const std::string_view part = x_read.substr(x_position, end - x_position);
    if (end == x_read.size()) {
        keep(part);
        x_position = end;
        return std::nullopt;
    }
    x_after_cr = x_read[end] == '\r';
    x_position = end + 1;
    if (x_line.empty()) {
        return part;
    }
    // keep() has copied any view, so x_spare is free to take the line.
    keep(part);
    recycle(x_spare);
    std::swap(x_spare, x_line);
    return x_spare;
}

// Copies what the next read would take away: the start of a line, and the data line before it. A
// line is cut where its data would be over the limit in any case.
void sse_reader::keep(std::string_view rest) {
    if (x_has_view) {
        x_has_view = false;
        x_data.assign(x_view);
        x_has_data = true;
    }
    const std::size_t room = std::max(x_limit, max_name) + line_slack - x_line.size();
    x_line.append(rest.substr(0, room));
}

void sse_reader::add_data(std::string_view value) {
    const std::size_t held = x_has_view ? x_view.size() : x_data.size();
    if (x_skipping || held + value.size() + 1 > x_limit) {
        x_skipping = true;
        x_has_view = false;
        recycle(x_data);
        return;
    }
    if (!x_has_view && !x_has_data) {
        x_view = value;
        x_has_view = true;
        return;
    }
    if (x_has_view) {
        x_has_view = false;
        x_data.assign(x_view);
        x_has_data = true;
    }
    x_data += '\n';
    x_data += value;
}

void sse_reader::take_line(std::string_view line) {
    if (line.front() == ':') {
        return;
    }
    x_has_field = true;
    const std::size_t colon = find_byte(line, ':', 0);
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon < line.size() ? line.substr(colon + 1) : std::string_view();
    if (!value.empty() && value.front() == ' ') {
        value.remove_prefix(1);
    }
    if (field == "data") {
        add_data(value);
    } else if (field == "event") {
        x_name.assign(value.substr(0, max_name));
    }
}

std::optional<sse_event> sse_reader::end_event() {
    const bool has_data = x_has_view || x_has_data;
    const bool skipped = x_skipping;
    sse_event event;
    event.name = x_name;
    event.data = x_has_view ? x_view : std::string_view(x_data);
    event.begin = x_event_begin;
    event.end = x_base + x_position;
    x_event_begin = event.end;
    x_has_field = false;
    x_skipping = false;
    x_has_view = false;
    x_has_data = false;
    x_delivered = true;
    if (skipped) {
        ++x_overflows;
        return std::nullopt;
    }
    if (!has_data || event.data.empty()) {
        return std::nullopt;
    }
    return event;
}

std::optional<sse_event> sse_reader::next() {
    while (true) {
        if (x_delivered) {
            x_delivered = false;
            recycle(x_data);
            x_name.clear();
        }
        const auto line = next_line();
        if (!line) {
            return std::nullopt;
        }
        std::string_view content = *line;
        if (x_at_start) {
            x_at_start = false;
            if (content.starts_with(byte_order_mark)) {
                content.remove_prefix(byte_order_mark.size());
            }
        }
        if (!content.empty()) {
            take_line(content);
            continue;
        }
        if (auto event = end_event()) {
            return event;
        }
    }
}

std::string_view sse_reader::unfinished_data() {
    if (x_skipping) {
        return {};
    }
    if (!x_line.empty()) {
        recycle(x_spare);
        std::swap(x_spare, x_line);
        take_line(x_spare);
        keep({});
    }
    return x_has_data ? std::string_view(x_data) : std::string_view();
}

bool sse_reader::inside_event() const {
    return x_has_field || x_skipping || (!x_line.empty() && x_line.front() != ':');
}

}  // namespace sluice::openai
