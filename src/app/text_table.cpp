#include "app/text_table.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::app {

namespace {

/// Code points: good enough for names in any script.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    }));
}

}  // namespace

std::string text_table::text() const {
    std::vector<std::size_t> widths(x_rows.front().size(), 0);
    for (const auto& row : x_rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    std::string out;
    for (const auto& row : x_rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += row[i];
            // No spaces at the end of a line.
            out += i + 1 < row.size() ? std::string(widths[i] - width(row[i]) + 2, ' ') : "\n";
        }
    }
    return out;
}

}  // namespace sluice::app
