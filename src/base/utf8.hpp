// One step over UTF-8 that may be broken.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice {

struct utf8_step {
    std::size_t length;  ///< Bytes taken, ≥ 1; of a broken part its maximal well-formed start.
    bool valid;
};

/// The code point at the front of `text`, which is not empty.
utf8_step step_utf8(std::string_view text);

/// Whether all of `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

/// Writes `code` (a scalar value) as UTF-8 to `out`, which has four bytes; returns how many.
std::size_t put_utf8(char32_t code, char* out);

}  // namespace sluice
