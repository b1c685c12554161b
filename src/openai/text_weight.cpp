#include "openai/text_weight.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/utf8.hpp"

namespace sluice::openai {

namespace {

constexpr std::size_t block_bytes = 64;
// Lead bytes: E3 and above start the code points from U+3000 on, F0 and above those of four bytes.
constexpr unsigned char first_wide3 = 0xE3;
constexpr unsigned char first_wide4 = 0xF0;

/// One escape sequence: what it stands for and how many raw bytes it takes.
struct escape {
    char32_t code;
    std::size_t length;
};

std::optional<unsigned> read_hex4(std::string_view text) {
    if (text.size() < 4) {
        return std::nullopt;
    }
    unsigned value = 0;
    for (const char c : text.substr(0, 4)) {
        const unsigned digit = static_cast<unsigned char>(c);
        value <<= 4;
        if (digit >= '0' && digit <= '9') {
            value |= digit - '0';
        } else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') {
            value |= (digit | 0x20) - 'a' + 10;
        } else {
            return std::nullopt;
        }
    }
    return value;
}

/// `text` begins behind "\u".
std::optional<escape> read_unicode(std::string_view text) {
    const auto first = read_hex4(text);
    if (!first || (*first >= 0xDC00 && *first <= 0xDFFF)) {
        return std::nullopt;
    }
    if (*first < 0xD800 || *first > 0xDBFF) {
        return escape{*first, 6};
    }
    if (text.substr(4, 2) != "\\u") {
        return std::nullopt;
    }
    const auto second = read_hex4(text.substr(6));
    if (!second || *second < 0xDC00 || *second > 0xDFFF) {
        return std::nullopt;
    }
    return escape{0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), 12};
}

/// `text` begins with a backslash.
std::optional<escape> read_escape(std::string_view text) {
    if (text.size() < 2) {
        return std::nullopt;
    }
    switch (text[1]) {
        case '"':
        case '\\':
        case '/':
            return escape{static_cast<unsigned char>(text[1]), 2};
        case 'b':
            return escape{'\b', 2};
        case 'f':
            return escape{'\f', 2};
        case 'n':
            return escape{'\n', 2};
        case 'r':
            return escape{'\r', 2};
        case 't':
            return escape{'\t', 2};
        case 'u':
            return read_unicode(text.substr(2));
        default:
            return std::nullopt;
    }
}

/// The byte behind a backslash that makes an escape of two bytes.
bool is_short_escape(char byte) {
    static constexpr auto table = [] {
        std::array<bool, 256> known{};
        for (const char each : std::string_view("\"\\/bfnrt")) {
            known[static_cast<unsigned char>(each)] = true;
        }
        return known;
    }();
    return table[static_cast<unsigned char>(byte)];
}

/// A block's backslashes as bits, its wide lead bytes as numbers.
struct block_view {
    std::uint64_t backslashes;
    std::uint32_t wide3;
    std::uint32_t wide4;
};

#if defined(__SSE2__)

std::uint32_t sum_bytes(__m128i bytes) {
    const __m128i halves = _mm_sad_epu8(bytes, _mm_setzero_si128());
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(halves)) +
           static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_srli_si128(halves, 8)));
}

block_view view_block(const char* data) {
    const __m128i backslash = _mm_set1_epi8('\\');
    __m128i parts[4];
    for (int i = 0; i < 4; ++i) {
        parts[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + std::ptrdiff_t{16} * i));
    }
    const auto bits = [&](int i) {
        const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(parts[i], backslash));
        return std::uint64_t{static_cast<std::uint16_t>(mask)} << (16 * i);
    };
    block_view view{bits(0) | bits(1) | bits(2) | bits(3), 0, 0};
    const __m128i any =
        _mm_or_si128(_mm_or_si128(parts[0], parts[1]), _mm_or_si128(parts[2], parts[3]));
    if (_mm_movemask_epi8(any) == 0) {
        return view;
    }
    const __m128i low3 = _mm_set1_epi8(static_cast<char>(first_wide3));
    const __m128i low4 = _mm_set1_epi8(static_cast<char>(first_wide4));
    __m128i from3 = _mm_setzero_si128();
    __m128i from4 = _mm_setzero_si128();
    for (const __m128i part : parts) {
        from3 = _mm_sub_epi8(from3, _mm_cmpeq_epi8(_mm_max_epu8(part, low3), part));
        from4 = _mm_sub_epi8(from4, _mm_cmpeq_epi8(_mm_max_epu8(part, low4), part));
    }
    view.wide4 = sum_bytes(from4);
    view.wide3 = sum_bytes(from3) - view.wide4;
    return view;
}

#else

block_view view_block(const char* data) {
    block_view view{0, 0, 0};
    for (std::size_t i = 0; i < block_bytes; ++i) {
        const auto byte = static_cast<unsigned char>(data[i]);
        view.backslashes |= std::uint64_t{byte == '\\'} << i;
        view.wide4 += byte >= first_wide4;
        view.wide3 += byte >= first_wide3 && byte < first_wide4;
    }
    return view;
}

#endif

/// Whether eight bytes hold a backslash or anything that is not ASCII. (The zero-byte trick may
/// also fire for the byte behind a hit, never without one.)
bool is_special(std::uint64_t word) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    const std::uint64_t backslashes = word ^ (ones * '\\');
    return (((backslashes - ones) | word) & (ones * 0x80)) != 0;
}

/// True for short text that weighs its length and needs no closer look: names and words, the bulk
/// of tool schemas, for which filling a block costs more than reading it.
bool is_plain(std::string_view raw) {
    const auto word_at = [&](std::size_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, raw.data() + at, sizeof(word));
        return word;
    };
    if (raw.size() < sizeof(std::uint64_t)) {
        return std::ranges::none_of(raw, [](char byte) {
            return byte == '\\' || static_cast<unsigned char>(byte) >= 0x80;
        });
    }
    for (std::size_t at = 0; at + sizeof(std::uint64_t) < raw.size(); at += sizeof(std::uint64_t)) {
        if (is_special(word_at(at))) {
            return false;
        }
    }
    return !is_special(word_at(raw.size() - sizeof(std::uint64_t)));
}

/// Replaces an escape's raw bytes in the count by what it stands for.
void count_escape(const escape& found, text_count& count) {
    char bytes[4];
    count.bytes += static_cast<std::int64_t>(put_utf8(found.code, bytes)) -
                   static_cast<std::int64_t>(found.length);
    count.wide3 += found.code >= 0x3000 && found.code < 0x10000;
    count.wide4 += found.code >= 0x10000;
}

}  // namespace

bool count_text(std::string_view raw, text_count& count) {
    count.bytes += static_cast<std::int64_t>(raw.size());
    if (raw.size() < block_bytes && is_plain(raw)) {
        return true;
    }
    std::size_t resume = 0;  // backslashes before it belong to an escape that was read
    for (std::size_t at = 0; at < raw.size(); at += block_bytes) {
        char padded[block_bytes];
        const char* data = raw.data() + at;
        if (raw.size() - at < block_bytes) {
            std::memset(padded, 0, block_bytes);
            std::memcpy(padded, data, raw.size() - at);
            data = padded;
        }
        const block_view view = view_block(data);
        count.wide3 += view.wide3;
        count.wide4 += view.wide4;
        for (std::uint64_t bits = view.backslashes; bits != 0; bits &= bits - 1) {
            const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(bits));
            if (place < resume) {
                continue;
            }
            if (place + 1 < raw.size() && is_short_escape(raw[place + 1])) {
                count.bytes -= 1;  // two bytes that stand for one
                resume = place + 2;
                continue;
            }
            const auto found = read_escape(raw.substr(place));
            if (!found) {
                return false;
            }
            count_escape(*found, count);
            resume = place + found->length;
        }
    }
    return true;
}

bool unescape(std::string_view raw, std::string& out) {
    out.clear();
    std::size_t at = 0;
    while (at < raw.size()) {
        const std::size_t next = std::min(raw.find('\\', at), raw.size());
        out.append(raw.substr(at, next - at));
        at = next;
        if (at == raw.size()) {
            break;
        }
        const auto found = read_escape(raw.substr(at));
        if (!found) {
            return false;
        }
        char bytes[4];
        out.append(bytes, put_utf8(found->code, bytes));
        at += found->length;
    }
    return true;
}

}  // namespace sluice::openai
