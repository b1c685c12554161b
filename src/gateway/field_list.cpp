#include "gateway/field_list.hpp"

#include <algorithm>
#include <charconv>

namespace sluice::gateway {

std::string_view field_list::keep(std::string_view text) {
    if (text.size() > x_near.size() - x_near_used) {
        return x_far.emplace_front(text);
    }
    char* const place = x_near.data() + x_near_used;
    std::ranges::copy(text, place);
    x_near_used += text.size();
    return {place, text.size()};
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

void field_list::clear() {
    x_fields.clear();
    x_far.clear();
    x_near_used = 0;
}

field_list_pool::lease field_list_pool::take() {
    if (x_spare.empty()) {
        return {new field_list, {this}};
    }
    field_list* const list = x_spare.back().release();
    x_spare.pop_back();
    return {list, {this}};
}

void field_list_pool::put(std::unique_ptr<field_list> list) {
    if (x_spare.size() < most_spare) {
        list->clear();
        x_spare.push_back(std::move(list));
    }
}

}  // namespace sluice::gateway
