// Private to the room: what the inside of a JSON string weighs, and whether its escapes are valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::openai {

/// Text as the worker will see it, its escapes resolved.
struct text_count {
    std::int64_t bytes = 0;  ///< UTF-8.
    std::int64_t wide3 = 0;  ///< Code points U+3000 … U+FFFF: three bytes, one token each.
    std::int64_t wide4 = 0;  ///< Code points from U+10000 on: four bytes, one token each.

    /// In units of 1/bytes_per_token tokens.
    std::int64_t weight(std::int64_t bytes_per_token) const {
        return bytes - 3 * wide3 - 4 * wide4 + bytes_per_token * (wide3 + wide4);
    }
};

/// Adds the raw text between the quotes of a JSON string (valid UTF-8, quotes escaped) to `count`.
/// False: an escape is invalid, a lone surrogate included; `count` is then without meaning.
bool count_text(std::string_view raw, text_count& count);

/// Writes the same text unescaped to `out`, replacing what it held. False as in count_text.
bool unescape(std::string_view raw, std::string& out);

}  // namespace sluice::openai
