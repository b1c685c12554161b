#include "worker/metric_page.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::worker {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

void skip_blanks(std::string_view& text) {
    const auto first = std::ranges::find_if_not(text, is_blank);
    text.remove_prefix(static_cast<std::size_t>(first - text.begin()));
}

/// Cuts one label, `key="value"`, off the front; the value stays escaped. Nothing: malformed.
struct raw_label {
    std::string_view key;
    std::string_view value;
};
std::optional<raw_label> cut_label(std::string_view& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) {
        return std::nullopt;
    }
    raw_label label;
    label.key = text.substr(0, equals);
    while (!label.key.empty() && is_blank(label.key.back())) {
        label.key.remove_suffix(1);
    }
    std::string_view rest = text.substr(equals + 1);
    skip_blanks(rest);
    if (rest.empty() || rest.front() != '"') {
        return std::nullopt;
    }
    for (std::size_t at = 1; at < rest.size(); ++at) {
        if (rest[at] == '\\') {
            ++at;
        } else if (rest[at] == '"') {
            label.value = rest.substr(1, at - 1);
            text = rest.substr(at + 1);
            return label;
        }
    }
    return std::nullopt;
}

/// Cuts the labels with their braces off the front of `line`, which starts with '{'.
std::optional<std::string_view> cut_labels(std::string_view& line) {
    std::string_view rest = line.substr(1);
    for (;;) {
        while (!rest.empty() && (is_blank(rest.front()) || rest.front() == ',')) {
            rest.remove_prefix(1);
        }
        if (rest.empty()) {
            return std::nullopt;
        }
        if (rest.front() == '}') {
            const auto length = static_cast<std::size_t>(rest.data() - line.data());
            const std::string_view labels = line.substr(1, length - 1);
            line = rest.substr(1);
            return labels;
        }
        if (!cut_label(rest)) {
            return std::nullopt;
        }
    }
}

std::optional<double> read_value(std::string_view text) {
    skip_blanks(text);
    const std::string_view word =
        text.substr(0, std::min(text.find_first_of(" \t\r"), text.size()));
    if (word == "+Inf" || word == "Inf") {
        return HUGE_VAL;
    }
    if (word == "-Inf") {
        return -HUGE_VAL;
    }
    const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
    double value = 0.0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failed] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || failed != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

std::optional<metric_sample> read_line(std::string_view line) {
    skip_blanks(line);
    if (line.empty() || line.front() == '#') {
        return std::nullopt;
    }
    metric_sample sample;
    const std::size_t name_end = line.find_first_of("{ \t");
    if (name_end == line.npos || name_end == 0) {
        return std::nullopt;
    }
    sample.name = line.substr(0, name_end);
    line.remove_prefix(name_end);
    skip_blanks(line);
    if (!line.empty() && line.front() == '{') {
        const auto labels = cut_labels(line);
        if (!labels) {
            return std::nullopt;
        }
        sample.labels = *labels;
    }
    const auto value = read_value(line);
    if (!value) {
        return std::nullopt;
    }
    sample.value = *value;
    return sample;
}

}  // namespace

std::optional<std::string> metric_sample::label(std::string_view key) const {
    std::string_view rest = labels;
    for (;;) {
        while (!rest.empty() && (is_blank(rest.front()) || rest.front() == ',')) {
            rest.remove_prefix(1);
        }
        const auto one = rest.empty() ? std::nullopt : cut_label(rest);
        if (!one) {
            return std::nullopt;
        }
        if (one->key != key) {
            continue;
        }
        std::string text;
        for (std::size_t at = 0; at < one->value.size(); ++at) {
            char c = one->value[at];
            if (c == '\\' && at + 1 < one->value.size()) {
                ++at;
                c = one->value[at] == 'n' ? '\n' : one->value[at];
            }
            text += c;
        }
        return text;
    }
}

std::optional<metric_sample> metric_page::next() {
    while (!x_rest.empty()) {
        const std::size_t end = std::min(x_rest.find('\n'), x_rest.size());
        const std::string_view line = x_rest.substr(0, end);
        x_rest.remove_prefix(std::min(end + 1, x_rest.size()));
        if (auto sample = read_line(line)) {
            return sample;
        }
    }
    return std::nullopt;
}

}  // namespace sluice::worker
