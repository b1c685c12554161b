// How durations and sizes are written by people: `30s`, `1m30s`, `250ms`, `64KiB`, `1GB`.
// Used by the configuration and by every verb's flags.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace sluice::app {

/// Units us, ms, s, m, h, d; decimals and sums ("1.5s", "1m30s"). Nothing for anything else, also
/// for a bare number: 30 of what?
std::optional<duration> parse_duration(std::string_view text);
/// Units B, KB, MB, GB, TB (thousands) and KiB, MiB, GiB, TiB; a bare number is bytes.
std::optional<bytes> parse_bytes(std::string_view text);
/// Decimal digits with an optional minus.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

/// The shortest exact spelling that parse_duration reads back.
std::string format_duration(duration value);
/// The largest binary unit that divides the value, else bytes ("1000").
std::string format_bytes(bytes value);

/// Length of the UTF-8 sequence at the front of `text`, which is not empty; 0 when it is none.
std::size_t utf8_length(std::string_view text);

/// Printable form of foreign text for messages: control and invalid bytes as \xNN, cut after
/// 60 bytes.
std::string printable(std::string_view text);

}  // namespace sluice::app
