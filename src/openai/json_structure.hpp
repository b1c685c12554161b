// Private to the room: simdjson's first stage over a body, and the tokens it finds.
//
// simdjson's on-demand front end leaves unread parts unchecked, and its DOM builds what nobody
// needs. The first stage alone checks UTF-8, control characters and unclosed strings at memory
// speed and finds where every token starts; the grammar over these is our own (body_walker).
//  1. Bytes after the body are never read: no padding is needed.
//  2. The scratch memory belongs to the thread: one json_structure a thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <simdjson.h>

namespace sluice::openai {

class json_structure {
public:
    /// Runs the first stage over `body`, which must live as long as this object.
    explicit json_structure(std::string_view body);

    json_structure(const json_structure&) = delete;
    json_structure& operator=(const json_structure&) = delete;

    /// Why the body cannot be JSON; empty when the first stage finds nothing wrong.
    std::string_view problem() const { return x_problem; }

    std::size_t size() const { return x_starts.size(); }
    std::size_t begin(std::size_t token) const { return x_starts[token]; }
    /// Where the next token begins: the end of this one and the white space behind it.
    std::size_t next(std::size_t token) const {
        return token + 1 < x_starts.size() ? x_starts[token + 1] : x_body.size();
    }
    /// First byte of a token; zero behind the last one.
    char kind(std::size_t token) const {
        return token < x_starts.size() ? x_body[x_starts[token]] : '\0';
    }
    /// The token's bytes without the white space behind it.
    std::string_view text(std::size_t token) const {
        std::size_t end = next(token);
        while (is_space(x_body[end - 1])) {
            --end;
        }
        return x_body.substr(x_starts[token], end - x_starts[token]);
    }

private:
    static bool is_space(char byte) {
        return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
    }

    using parser = simdjson::internal::dom_parser_implementation;

    std::string_view x_body;
    std::span<const std::uint32_t> x_starts;
    std::string_view x_problem;
    std::unique_ptr<parser> x_large;  // for bodies over retained_body_bytes
};

}  // namespace sluice::openai
