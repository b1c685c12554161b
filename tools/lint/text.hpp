// Source text as the rules want to see it: lines, with comments and literals blanked out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::lint {

/// `code` has the same lines and columns as `raw`; comments and the insides of string and character
/// literals are spaces there, those of raw strings `raw_string_mark`.
inline constexpr char raw_string_mark = '\x01';
struct source_text {
    std::vector<std::string> raw;
    std::vector<std::string> code;
};

source_text parse_source(std::string_view text);
std::vector<std::string> split_lines(std::string_view text);

/// Position of `word` in `line` at or after `from`, not as a part of a longer identifier, or npos.
std::size_t find_word(std::string_view line, std::string_view word, std::size_t from = 0);
/// The same, followed by an opening parenthesis.
std::size_t find_call(std::string_view line, std::string_view word);

/// What `#include` on this line names, with its quotes or brackets, or "".
std::string_view included(std::string_view raw_line);

std::string_view trim(std::string_view text);
bool is_identifier_char(char c);
/// "a/b/c.hpp" gives "a/b"; without a slash "".
std::string_view folder_of(std::string_view path);
/// Code points, not bytes.
std::size_t width(std::string_view utf8);

}  // namespace sluice::lint
