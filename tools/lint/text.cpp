#include "text.hpp"

#include <algorithm>

namespace sluice::lint {

namespace {

/// Walks over C++ text and copies it with comments and literals blanked; newlines stay.
class blanker {
public:
    explicit blanker(std::string_view text) : x_text(text), x_out(text) {}

    std::string run() {
        while (x_at < x_text.size()) {
            if (starts("//")) {
                blank_until("\n", false);
            } else if (starts("/*")) {
                blank_until("*/", true);
            } else if (at_raw_string()) {
                blank_raw_string();
            } else if (x_text[x_at] == '"') {
                blank_quoted('"');
            } else if (x_text[x_at] == '\'' && !digit_separator()) {
                blank_quoted('\'');
            } else {
                ++x_at;
            }
        }
        return std::move(x_out);
    }

private:
    bool starts(std::string_view what) const { return x_text.substr(x_at).starts_with(what); }

    bool digit_separator() const {
        return x_at > 0 && is_identifier_char(x_text[x_at - 1]) && x_at + 1 < x_text.size() &&
               is_identifier_char(x_text[x_at + 1]);
    }

    bool at_raw_string() const {
        return starts("R\"") && (x_at == 0 || !is_identifier_char(x_text[x_at - 1]) ||
                                 x_text[x_at - 1] == '8' || x_text[x_at - 1] == 'u');
    }

    void blank(std::size_t from, std::size_t to, char fill = ' ') {
        for (std::size_t i = from; i < std::min(to, x_out.size()); ++i) {
            if (x_out[i] != '\n') {
                x_out[i] = fill;
            }
        }
    }

    void blank_until(std::string_view end, bool with_end) {
        std::size_t stop = x_text.find(end, x_at + 2);
        stop = stop == std::string_view::npos ? x_text.size() : stop + (with_end ? end.size() : 0);
        blank(x_at, stop);
        x_at = stop;
    }

    void blank_raw_string() {
        const std::size_t open = x_text.find('(', x_at);
        if (open == std::string_view::npos) {
            x_at += 2;
            return;
        }
        std::string end(")");
        end += x_text.substr(x_at + 2, open - x_at - 2);
        end += '"';
        std::size_t stop = x_text.find(end, open);
        stop = stop == std::string_view::npos ? x_text.size() : stop + end.size();
        blank(x_at + 2, stop - 1, raw_string_mark);
        x_out[x_at] = ' ';
        x_at = stop;
    }

    void blank_quoted(char quote) {
        std::size_t stop = x_at + 1;
        while (stop < x_text.size() && x_text[stop] != quote && x_text[stop] != '\n') {
            stop += x_text[stop] == '\\' ? 2 : 1;
        }
        blank(x_at + 1, stop);
        x_at = stop + 1;
    }

    std::string_view x_text;
    std::string x_out;
    std::size_t x_at = 0;
};

}  // namespace

bool is_identifier_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string_view folder_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::size_t width(std::string_view utf8) {
    return static_cast<std::size_t>(std::ranges::count_if(utf8, [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return lines;
}

source_text parse_source(std::string_view text) {
    return {.raw = split_lines(text), .code = split_lines(blanker(text).run())};
}

std::size_t find_word(std::string_view line, std::string_view word, std::size_t from) {
    for (std::size_t at = line.find(word, from); at != std::string_view::npos;
         at = line.find(word, at + 1)) {
        const std::size_t after = at + word.size();
        if ((at == 0 || !is_identifier_char(line[at - 1])) &&
            (after >= line.size() || !is_identifier_char(line[after]))) {
            return at;
        }
    }
    return std::string_view::npos;
}

std::size_t find_call(std::string_view line, std::string_view word) {
    for (std::size_t at = find_word(line, word); at != std::string_view::npos;
         at = find_word(line, word, at + 1)) {
        // A member of that name (x.stod(…), x->exit()) is another function.
        const bool member = at > 0 && (line[at - 1] == '.' || line[at - 1] == '>');
        if (!member && trim(line.substr(at + word.size())).starts_with('(')) {
            return at;
        }
    }
    return std::string_view::npos;
}

std::string_view included(std::string_view raw_line) {
    std::string_view line = trim(raw_line);
    if (!line.starts_with('#')) {
        return {};
    }
    line = trim(line.substr(1));
    if (!line.starts_with("include")) {
        return {};
    }
    line = trim(line.substr(7));
    if (line.empty() || (line[0] != '"' && line[0] != '<')) {
        return {};
    }
    const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
    return end == std::string_view::npos ? std::string_view{} : line.substr(0, end + 1);
}

}  // namespace sluice::lint
