// HTTP/1.1 heads and body framing: the plain face of Boost.Beast's parser. Internal to net.
//
// Invariants
//  1. No I/O and no copy of the message: heads become views into the caller's buffer, bodies are
//     compacted in place. The buffer may move between calls as long as the bytes of the head stay
//     together; the views follow.
//  2. What it keeps is bounded by the head limit and by `max_fields`.
//  3. A head that two parsers could read in two ways is refused: both lengths given, two lengths
//     that differ, a transfer coding besides chunked, folded fields.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace sluice::net {

inline constexpr std::size_t max_fields = 256;

/// Why a message was refused: the status a server answers with, and the reason in words.
struct parse_fault {
    int status = 400;
    std::string what;
};

enum class parse_step : unsigned char { need_more, done, failed };

struct body_step {
    parse_step step = parse_step::need_more;
    std::size_t consumed = 0;  ///< Bytes of the input that are used up.
    std::string_view data;     ///< Body bytes among them, contiguous, in the input's own memory.
};

/// One request after the other on a connection.
class request_parser {
public:
    request_parser();
    ~request_parser();

    /// Starts over with `into` (whose vector is reused) as the place for the head.
    void begin(request_head& into, std::size_t limit);
    /// `message`: all bytes since the first one of the head, those seen before included.
    parse_step parse_head(std::string_view message);
    /// Size of the finished head.
    std::size_t head_size() const;
    /// After the head: whether body bytes follow.
    bool expects_body() const;
    /// Bytes that were not consumed by the last call come first.
    body_step parse_body(char* data, std::size_t size);
    const parse_fault& fault() const;

private:
    struct impl;
    std::unique_ptr<impl> x_impl;
};

/// One response after the other on a connection.
class response_parser {
public:
    response_parser();
    ~response_parser();

    /// `no_body`: the response answers a HEAD request.
    void begin(response_head& into, std::size_t limit, bool no_body);
    parse_step parse_head(std::string_view message);
    std::size_t head_size() const;
    bool expects_body() const;
    body_step parse_body(char* data, std::size_t size);
    /// The peer closed: whether that is a proper end of the message.
    bool end_of_input();
    /// Of a chunked body, once it ended.
    std::span<const header_field> trailers() const;
    const parse_fault& fault() const;

private:
    struct impl;
    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::net
