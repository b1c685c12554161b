// Printing JSON text from untrusted bytes.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// Appends `text` to `out` as a JSON string with its quotes. The result is valid UTF-8 and valid
/// JSON for any bytes: what is not UTF-8 becomes U+FFFD (one for each maximal broken part), control
/// characters and U+2028/2029 are escaped, so it also fits into one SSE line and into a script.
void append_json_text(std::string& out, std::string_view text);

/// The same as a value of its own.
std::string json_quote(std::string_view text);

}  // namespace sluice
