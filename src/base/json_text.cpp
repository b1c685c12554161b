#include "base/json_text.hpp"

#include "base/utf8.hpp"

namespace sluice {

namespace {

void append_escaped(std::string& out, unsigned char byte) {
    static constexpr char digits[] = "0123456789abcdef";
    switch (byte) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            break;
    }
    out += "\\u00";
    out += digits[byte >> 4];
    out += digits[byte & 15];
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
    out += '"';
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x80) {
            if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F) {
                append_escaped(out, byte);
            } else {
                out += text[at];
            }
            ++at;
            continue;
        }
        const utf8_step step = step_utf8(text.substr(at));
        const std::string_view part = text.substr(at, step.length);
        if (!step.valid) {
            out += "\xEF\xBF\xBD";
        } else if (part == "\xE2\x80\xA8") {
            out += "\\u2028";
        } else if (part == "\xE2\x80\xA9") {
            out += "\\u2029";
        } else {
            out += part;
        }
        at += step.length;
    }
    out += '"';
}

std::string json_quote(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_json_text(out, text);
    return out;
}

}  // namespace sluice
