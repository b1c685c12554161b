// Text of unknown bytes as a JSON string. obs has its own, so that it stays below the rooms that
// know protocols.
#pragma once

#include <string>
#include <string_view>

namespace sluice::obs {

/// Appends `text` with its quotes. Valid UTF-8 and valid JSON for any bytes: what is not UTF-8
/// becomes U+FFFD, control characters are escaped.
void append_json_text(std::string& out, std::string_view text);

/// Whether all of `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace sluice::obs
