#include "gateway/field_list.hpp"

#include <array>
#include <charconv>

namespace sluice::gateway {

void field_list::add(std::string_view name, std::string_view value) {
    x_fields.push_back({name, {}});
    x_places.push_back({npos, 0, x_text.size(), value.size()});
    x_text += value;
}

void field_list::add(std::string_view name, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    add(name, std::string_view(digits.data(), end));
}

void field_list::add_real(std::string_view name, double value) {
    std::array<char, 32> digits{};
    char* const last = digits.data() + digits.size();
    const auto [end, failed] =
        std::to_chars(digits.data(), last, value, std::chars_format::fixed, 3);
    add(name, failed == std::errc() ? std::string_view(digits.data(), end) : std::string_view("0"));
}

void field_list::copy(std::string_view name, std::string_view value) {
    x_fields.emplace_back();
    x_places.push_back({x_text.size(), name.size(), x_text.size() + name.size(), value.size()});
    x_text += name;
    x_text += value;
}

std::span<const net::header_field> field_list::fields() {
    // The buffer may have moved while it grew: views are made when they are asked for.
    const std::string_view text = x_text;
    for (std::size_t i = 0; i < x_fields.size(); ++i) {
        const place& at = x_places[i];
        if (at.name != npos) {
            x_fields[i].name = text.substr(at.name, at.name_length);
        }
        if (at.value != npos) {
            x_fields[i].value = text.substr(at.value, at.value_length);
        }
    }
    return x_fields;
}

void field_list::clear() {
    x_text.clear();
    x_fields.clear();
    x_places.clear();
}

}  // namespace sluice::gateway
