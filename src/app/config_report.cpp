#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "app/config_reader.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

/// Edits that lead from `a` to `b`: insertions, deletions, replacements.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

void config_report::remember(const std::string& path, config_place place) {
    x_places[path] = std::move(place);
}

void config_report::add(const std::string& path, std::string_view words) {
    std::string known = path;
    auto found = x_places.find(known);
    while (found == x_places.end() && !known.empty()) {
        const std::size_t cut = known.find_last_of(".[");
        known.resize(cut == std::string::npos ? 0 : cut);
        found = x_places.find(known);
    }
    add_at(found == x_places.end() ? config_place{} : found->second, path, words);
}

void config_report::add_at(
    const config_place& place, const std::string& path, std::string_view words
) {
    std::string text = place.text;
    // An override names its origin; its path would only repeat it.
    if (!path.empty() && (place.line > 0 || text.empty())) {
        text += (text.empty() ? "" : ": ") + path;
    }
    x_problems.emplace(
        std::pair(place.line, place.column), problem{path, text + ": " + std::string(words)}
    );
}

bool config_report::spoiled(std::string_view path) const {
    return std::ranges::any_of(x_problems, [path](const auto& entry) {
        const std::string_view other = entry.second.path;
        return other.starts_with(path) && (other.size() == path.size() ||
                                           other[path.size()] == '.' || other[path.size()] == '[');
    });
}

std::vector<std::string> config_report::lines() const {
    std::vector<std::string> out;
    for (const auto& [position, one] : x_problems) {
        out.push_back(one.text);
    }
    return out;
}

std::string suggestion(std::string_view unknown, const std::vector<std::string_view>& known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(2, unknown.size() / 3) + 1;
    // Long foreign text is no typing error, and the comparison is quadratic.
    for (const std::string_view candidate : known) {
        if (unknown.size() > 64) {
            break;
        }
        const std::size_t distance = edit_distance(unknown, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    if (!best.empty()) {
        return fmt::format("did you mean '{}'?", best);
    }
    return fmt::format("known here: {}", fmt::join(known, ", "));
}

std::string without_password(std::string_view address) {
    const std::size_t scheme = address.find("://");
    if (scheme == std::string_view::npos) {
        return std::string(address);
    }
    const std::size_t authority = scheme + 3;
    const std::size_t end = std::min(address.find('/', authority), address.size());
    const std::size_t at = address.substr(0, end).rfind('@');
    // A password may hold a slash that was not escaped; then the last @ of all counts.
    const std::size_t last = at != std::string_view::npos ? at : address.rfind('@');
    if (last == std::string_view::npos || last < authority) {
        return std::string(address);
    }
    return std::string(address.substr(0, authority)) + "***" + std::string(address.substr(last));
}

}  // namespace sluice::app
