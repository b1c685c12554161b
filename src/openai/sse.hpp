// Reads along a server-sent event stream while its bytes pass by untouched.
//
// Called by answer_reader and by sluice's own clients (load, tests); one object a stream, one
// strand.
//  1. The events do not depend on how the stream is cut into reads (B15).
//  2. Lines end with \n, \r\n or \r and with nothing else: U+0085 and U+2028 are content.
//  3. An event that lies within one read in one data line is handed on without a copy.
//  4. Memory is bounded by twice `limit`; an event with more data is skipped whole and counted in
//     overflows(). Other lines count up to about that length, what follows in them is dropped.
//  5. Never throws for any bytes (but bad_alloc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::openai {

/// One event with data; the views end with the next call of the reader.
struct sse_event {
    std::string_view name;  ///< The `event:` field; empty when not given. First 64 bytes.
    std::string_view data;  ///< The data lines, joined by \n.
    /// Bytes of the stream that made the event (comments before it included), [begin, end), counted
    /// from the stream's start. The \n of a last \r\n may fall into the next event's range.
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

class sse_reader {
public:
    static constexpr std::size_t default_limit = std::size_t{1} << 20;

    explicit sse_reader(std::size_t limit = default_limit);

    /// Reads `bytes` and calls on_event(const sse_event&) for every event that ends in them.
    template <class Callback>
    void feed(std::string_view bytes, Callback&& on_event) {
        begin(bytes);
        while (const auto event = next()) {
            on_event(*event);
        }
    }

    /// The same as a loop: begin(bytes), then next() until it is empty. `bytes` must live so long.
    void begin(std::string_view bytes);
    std::optional<sse_event> next();

    /// What came after the last complete event, as data: the standard drops it at the stream's
    /// end, but workers are seen to close right behind `data: [DONE]`. Ends with the next call.
    std::string_view unfinished_data();

    /// Bytes came after the last complete event (comments and blank lines aside).
    bool inside_event() const;
    /// Events that were skipped because they were larger than the limit.
    std::uint64_t overflows() const { return x_overflows; }
    /// Bytes kept between reads now.
    std::size_t buffered() const { return x_line.size() + x_data.size() + x_name.size(); }

private:
    std::optional<std::string_view> next_line();
    std::size_t find_line_end();
    void take_line(std::string_view line);
    void add_data(std::string_view value);
    void keep(std::string_view rest);
    std::optional<sse_event> end_event();

    std::size_t x_limit;
    std::string_view x_read;     // the bytes of this read
    std::size_t x_position = 0;  // consumed of x_read
    std::size_t x_next_lf = 0;   // next \n at or after x_position, or the read's size
    std::size_t x_next_cr = 0;   // the same for \r
    std::uint64_t x_base = 0;    // stream offset of x_read
    std::uint64_t x_event_begin = 0;
    std::string x_line;       // start of a line that earlier reads brought
    std::string x_spare;      // the finished x_line, alive until the next call
    std::string x_data;       // data lines that had to be copied
    std::string_view x_view;  // the only data line, still inside x_read or x_spare
    std::string x_name;
    bool x_has_view = false;
    bool x_has_data = false;   // x_data holds at least one line
    bool x_has_field = false;  // a field line was seen since the last event
    bool x_after_cr = false;   // the last byte was \r: a \n belongs to it
    bool x_at_start = true;    // a byte order mark may come
    bool x_skipping = false;   // the event is over the limit
    bool x_delivered = false;  // x_data belongs to an event handed out: clear it first
    std::uint64_t x_overflows = 0;
};

}  // namespace sluice::openai
