// Header fields with their text in one buffer: what is sent is put together here, once a request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"

namespace sluice::gateway {

/// Names that are literals and values that live elsewhere are kept as views (borrow), everything
/// else is copied (add). The span of fields() ends with the next change.
class field_list {
public:
    /// `name` and `value` outlive the list.
    void borrow(std::string_view name, std::string_view value) {
        x_fields.push_back({name, value});
        x_places.push_back({});
    }
    /// `name` is a literal, `value` is copied.
    void add(std::string_view name, std::string_view value);
    void add(std::string_view name, std::int64_t value);
    /// With three decimals.
    void add_real(std::string_view name, double value);
    /// Both are copied.
    void copy(std::string_view name, std::string_view value);

    std::span<const net::header_field> fields();
    void clear();

private:
    struct place {
        std::size_t name = npos;
        std::size_t name_length = 0;
        std::size_t value = npos;
        std::size_t value_length = 0;
    };
    static constexpr std::size_t npos = std::string::npos;

    std::string x_text;
    std::vector<net::header_field> x_fields;
    std::vector<place> x_places;
};

}  // namespace sluice::gateway
