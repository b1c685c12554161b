#include "openai/text_weight.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/utf8.hpp"

namespace sluice::openai {
namespace {

std::string as_utf8(char32_t code) {
    char bytes[4];
    return {bytes, put_utf8(code, bytes)};
}

std::string as_escape(char32_t code) {
    static constexpr char digits[] = "0123456789abcdefABCDEF";
    const auto four = [](char32_t unit) {
        std::string out = "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) {
            out += digits[(unit >> shift) & 15];
        }
        return out;
    };
    if (code < 0x10000) {
        return four(code);
    }
    return four(0xD800 + ((code - 0x10000) >> 10)) + four(0xDC00 + ((code - 0x10000) & 0x3FF));
}

char32_t random_code(random_source& random) {
    static constexpr char32_t edges[] = {
        0x20, 0x7F, 0x80, 0x7FF, 0x800, 0x2FFF, 0x3000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF
    };
    switch (random.below(4)) {
        case 0:
            return edges[random.below(std::size(edges))];
        case 1:
            return 0x4E00 + static_cast<char32_t>(random.below(0x5000));
        default:
            return 0x5D + static_cast<char32_t>(random.below(0x21));  // plain ASCII
    }
}

// Random text, each character plain or escaped, at random lengths around the block size, against
// a count that goes character by character.
TEST(text_weight, agrees_with_a_count_by_character) {
    random_source random(20240611);
    for (int round = 0; round < 20000; ++round) {
        std::string raw;
        std::string plain;
        text_count expected;
        const std::uint64_t length = random.below(200);
        const bool escapes = random.chance(1, 2);
        for (std::uint64_t i = 0; i < length; ++i) {
            if (escapes && random.chance(1, 8)) {
                static constexpr std::string_view shorts[] = {"\\\"", "\\\\", "\\/", "\\n", "\\t"};
                static constexpr std::string_view meanings = "\"\\/\n\t";
                const std::size_t pick = random.below(5);
                raw += shorts[pick];
                plain += meanings[pick];
                ++expected.bytes;
                continue;
            }
            const char32_t code = random_code(random);
            raw += escapes && random.chance(1, 4) ? as_escape(code) : as_utf8(code);
            plain += as_utf8(code);
            expected.bytes += static_cast<std::int64_t>(as_utf8(code).size());
            expected.wide3 += code >= 0x3000 && code < 0x10000;
            expected.wide4 += code >= 0x10000;
        }
        text_count found;
        ASSERT_TRUE(count_text(raw, found)) << raw;
        ASSERT_EQ(found.bytes, expected.bytes) << raw;
        ASSERT_EQ(found.wide3, expected.wide3) << raw;
        ASSERT_EQ(found.wide4, expected.wide4) << raw;
        std::string unescaped;
        ASSERT_TRUE(unescape(raw, unescaped));
        ASSERT_EQ(unescaped, plain);
    }
}

TEST(text_weight, refuses_broken_escapes_at_every_offset) {
    for (const char* bad :
         {"\\",
          "\\x",
          "\\u",
          "\\u123",
          "\\u123g",
          "\\ud800",
          "\\udc00",
          "\\ud800\\n",
          "\\ud800\\u0041",
          "\\ud800\\ud800",
          "\\N"}) {
        for (std::size_t before = 0; before < 140; ++before) {
            text_count count;
            std::string out;
            const std::string raw = std::string(before, 'x') + bad;
            ASSERT_FALSE(count_text(raw, count)) << raw;
            ASSERT_FALSE(unescape(raw, out)) << raw;
        }
    }
}

}  // namespace
}  // namespace sluice::openai
