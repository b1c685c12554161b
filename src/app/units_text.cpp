#include "app/units_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace sluice::app {

namespace {

struct unit_name {
    std::string_view name;
    double factor;
};

constexpr std::array duration_units{
    unit_name{"us", 1},
    unit_name{"ms", 1e3},
    unit_name{"s", 1e6},
    unit_name{"m", 60e6},
    unit_name{"h", 3600e6},
    unit_name{"d", 86'400e6},
};
constexpr double kibi = 1024;
constexpr std::array byte_units{
    unit_name{"", 1},
    unit_name{"b", 1},
    unit_name{"kb", 1e3},
    unit_name{"mb", 1e6},
    unit_name{"gb", 1e9},
    unit_name{"tb", 1e12},
    unit_name{"kib", kibi},
    unit_name{"mib", kibi* kibi},
    unit_name{"gib", kibi* kibi* kibi},
    unit_name{"tib", kibi* kibi* kibi* kibi},
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') {
            c = static_cast<char>(c - 'A' + 'a');
        }
    }
    return out;
}

/// Takes "12" or "1.5" off the front; a number starts and ends with a digit.
std::optional<double> take_number(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) {
        ++end;
    }
    if (end == 0 || !is_digit(text.front()) || !is_digit(text[end - 1])) {
        return std::nullopt;
    }
    auto value = parse_real(text.substr(0, end));
    text.remove_prefix(end);
    return value;
}

template <std::size_t Count>
std::optional<double> take_unit(std::string_view& text, const std::array<unit_name, Count>& units) {
    std::size_t end = 0;
    while (end < text.size() && !is_digit(text[end]) && text[end] != '.') {
        ++end;
    }
    for (const unit_name& unit : units) {
        if (unit.name == text.substr(0, end)) {
            text.remove_prefix(end);
            return unit.factor;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<duration> parse_duration(std::string_view text) {
    if (text == "0") {
        return duration::zero();
    }
    double total = 0;
    do {
        const auto number = take_number(text);
        const auto factor = number ? take_unit(text, duration_units) : std::nullopt;
        if (!factor) {
            return std::nullopt;
        }
        total += *number * *factor;
    } while (!text.empty());
    if (total > static_cast<double>(quantity_limit)) {
        return std::nullopt;
    }
    return duration(std::llround(total));
}

std::optional<bytes> parse_bytes(std::string_view text) {
    const std::string small = lower(text);
    std::string_view rest = small;
    const auto number = take_number(rest);
    const auto factor = number ? take_unit(rest, byte_units) : std::nullopt;
    if (!factor || !rest.empty()) {
        return std::nullopt;
    }
    const double total = *number * *factor;
    if (total > static_cast<double>(quantity_limit)) {
        return std::nullopt;
    }
    return bytes(std::llround(total));
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

std::optional<double> parse_real(std::string_view text) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::string format_duration(duration value) {
    constexpr std::array names{
        std::pair{"d", std::int64_t{86'400'000'000}},
        std::pair{"h", std::int64_t{3'600'000'000}},
        std::pair{"m", std::int64_t{60'000'000}},
        std::pair{"s", std::int64_t{1'000'000}},
        std::pair{"ms", std::int64_t{1000}},
    };
    const std::int64_t count = value.count();
    // Seconds up to two minutes: people write `60s` and `90s`, and the file shows what they wrote.
    const bool in_seconds = count % 1'000'000 == 0 && count < 120'000'000;
    for (const auto& [name, factor] : names) {
        if (in_seconds && factor > 1'000'000) {
            continue;
        }
        if (count != 0 && count % factor == 0) {
            return fmt::format("{}{}", count / factor, name);
        }
    }
    return count == 0 ? "0s" : fmt::format("{}us", count);
}

std::string format_bytes(bytes value) {
    constexpr std::array names{"TiB", "GiB", "MiB", "KiB"};
    std::int64_t factor = std::int64_t{1} << 40;
    for (const char* name : names) {
        if (value.count() != 0 && value.count() % factor == 0) {
            return fmt::format("{}{}", value.count() / factor, name);
        }
        factor >>= 10;
    }
    return fmt::format("{}", value.count());
}

std::size_t utf8_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    std::size_t length = lead < 0x80 ? 1 : 0;
    if (lead >= 0xc2 && lead < 0xe0) {
        length = 2;
    } else if (lead >= 0xe0 && lead < 0xf0) {
        length = 3;
    } else if (lead >= 0xf0 && lead < 0xf5) {
        length = 4;
    }
    if (length == 0 || text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80) {
            return 0;
        }
    }
    return length;
}

std::string printable(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string out;
    while (!text.empty()) {
        if (out.size() >= longest) {
            return out + "…";
        }
        const auto c = static_cast<unsigned char>(text.front());
        std::size_t length = utf8_length(text);
        if (length == 0 || c < 0x20 || c == 0x7f) {
            out += fmt::format("\\x{:02x}", c);
            length = 1;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace sluice::app
