#include "base/utf8.hpp"

namespace sluice {

namespace {

struct lead {
    std::size_t length;  // 0: not a lead byte
    unsigned low;        // range of the second byte: shuts out overlong forms, surrogates and
    unsigned high;       // what lies above U+10FFFF
};

lead read_lead(unsigned byte) {
    if (byte < 0xC2 || byte > 0xF4) {
        return {0, 0, 0};
    }
    if (byte < 0xE0) {
        return {2, 0x80, 0xBF};
    }
    if (byte < 0xF0) {
        return {3, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU};
    }
    return {4, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU};
}

}  // namespace

utf8_step step_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) {
        return {1, true};
    }
    const lead first = read_lead(byte(0));
    if (first.length == 0) {
        return {1, false};
    }
    for (std::size_t i = 1; i < first.length; ++i) {
        const unsigned low = i == 1 ? first.low : 0x80U;
        const unsigned high = i == 1 ? first.high : 0xBFU;
        if (i >= text.size() || byte(i) < low || byte(i) > high) {
            return {i, false};
        }
    }
    return {first.length, true};
}

std::size_t put_utf8(char32_t code, char* out) {
    const auto tail = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
    if (code < 0x80) {
        out[0] = static_cast<char>(code);
        return 1;
    }
    if (code < 0x800) {
        out[0] = static_cast<char>(0xC0 | (code >> 6));
        out[1] = tail(code);
        return 2;
    }
    if (code < 0x10000) {
        out[0] = static_cast<char>(0xE0 | (code >> 12));
        out[1] = tail(code >> 6);
        out[2] = tail(code);
        return 3;
    }
    out[0] = static_cast<char>(0xF0 | (code >> 18));
    out[1] = tail(code >> 12);
    out[2] = tail(code >> 6);
    out[3] = tail(code);
    return 4;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const utf8_step step = step_utf8(text);
        if (!step.valid) {
            return false;
        }
        text.remove_prefix(step.length);
    }
    return true;
}

}  // namespace sluice
