// Private to the room: a cursor over a body's tokens that checks the grammar and weighs text.
//
// Every function returns false at the first thing that is not JSON; error() then says what and
// where, and the cursor is of no further use. Nesting is kept in an array, never on the call stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "openai/inspect.hpp"
#include "openai/json_structure.hpp"

namespace sluice::openai {

/// How a value's text counts.
enum class weigh {
    nothing,  ///< Checked only.
    json,     ///< Its JSON text, escapes resolved.
    parts,    ///< Message content: text counts, roles and ids do not, media are constants.
};

class body_walker {
public:
    body_walker(const json_structure& tokens, const inspect_options& options);

    /// First byte of the token at the cursor; zero behind the last one.
    char kind() const { return x_tokens.kind(x_at); }
    bool at_end() const { return x_at == x_tokens.size(); }
    std::size_t position() const { return at_end() ? x_end : x_tokens.begin(x_at); }
    /// The token at the cursor without white space; not at the end.
    std::string_view token() const { return x_tokens.text(x_at); }

    /// Where the token before the cursor ends; not at the start.
    std::size_t end_of_last() const {
        return x_tokens.begin(x_at - 1) + x_tokens.text(x_at - 1).size();
    }

    /// Walks one value of any shape. `depth`: containers that are open around it.
    bool walk(weigh mode, std::size_t depth);

    /// Calls each() with the cursor on every element; it must take exactly one value.
    template <class Each>
    bool each_element(Each&& each) {
        ++x_at;
        if (kind() == ']') {
            ++x_at;
            return true;
        }
        while (each()) {
            const char found = kind();
            if (found != ',' && found != ']') {
                return refuse("a comma or ] is missing");
            }
            ++x_at;
            if (found == ']') {
                return true;
            }
        }
        return false;
    }

    /// Calls each(key) with the cursor on every member's value; the key is unescaped and valid
    /// until the next member.
    template <class Each>
    bool each_member(Each&& each) {
        ++x_at;
        if (kind() == '}') {
            ++x_at;
            return true;
        }
        std::string buffer;
        while (true) {
            std::string_view key;
            if (!take_key(key, buffer) || !each(key)) {
                return false;
            }
            const char found = kind();
            if (found != ',' && found != '}') {
                return refuse("a comma or } is missing");
            }
            ++x_at;
            if (found == '}') {
                return true;
            }
        }
    }

    /// The error "body is not valid JSON at byte …: what".
    bool refuse(std::string_view what);
    /// The error of one parameter.
    bool refuse(std::string_view param, std::string message);
    const bad_request& error() const { return x_error; }

    std::int64_t weight() const { return x_weight; }  ///< In 1/bytes_per_token tokens.
    std::int64_t images() const { return x_images; }

private:
    struct frame {
        bool object;
        weigh mode;
        bool typed;   // has a member `type` …
        bool media;   // … that names a medium
        bool linked;  // has a member that only media have
        std::int64_t weight;
        std::int64_t images;
    };

    bool take_key(std::string_view& key, std::string& buffer);
    bool take_string(weigh mode);
    bool take_bare(weigh mode);
    bool take_member(frame& owner, weigh& mode);
    weigh choose(frame& owner, std::string_view key);
    bool open(weigh mode, std::size_t depth);
    bool after_value(weigh& mode);
    void close();
    void weigh_token(weigh mode);

    const json_structure& x_tokens;
    const inspect_options& x_options;
    std::size_t x_at = 0;
    std::size_t x_end;
    std::int64_t x_weight = 0;
    std::int64_t x_images = 0;
    std::size_t x_level = 0;  // frames in use
    std::string x_buffer;
    bad_request x_error;
    std::array<frame, max_depth> x_frames;  // left unset: 16 KiB that most bodies do not touch
};

}  // namespace sluice::openai
