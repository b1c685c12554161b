// The vocabulary of the configuration's field table (config_table.cpp).
//
// Reader, environment, printer and schema all walk the same table, so they cannot drift apart.
// A table is a function that shows every field of a struct, with its facts, to a visitor.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace sluice::app {

/// What a string must look like.
enum class text_format : std::uint8_t {
    any,        ///< At least one byte.
    host_port,  ///< 127.0.0.1:8080, [::1]:8080
    http_url,   ///< http://host:port
    backend,    ///< embedded, redis://…
    sha256,     ///< 64 hexadecimal digits
    name,       ///< Letters, digits, and . _ - /
};

/// The facts about one field that are not in its C++ type. Bounds are in the type's own unit
/// (microseconds for durations).
struct field_info {
    std::string_view key;
    std::string_view doc;
    std::int64_t min = 0;
    std::int64_t max = quantity_limit;
    double real_min = 0;
    double real_max = 1;
    text_format format = text_format::any;
    bool required = false;
    bool secret = false;  ///< Never printed.
};

struct value_ref;
class section_visitor;

struct enum_ref {
    std::uint8_t* value;
    std::span<const std::string_view> names;  ///< In the order of the enumerators.
};
struct bool_ref {
    bool* value;
    bool on_off;  ///< Written on/off rather than true/false.
};
/// A map with fixed keys. `enabled`, when present, is cleared by the word `off` in its place.
struct section_ref {
    std::function<void(section_visitor&)> describe;
    bool* enabled = nullptr;
};
struct list_ref {
    std::function<std::size_t()> size;
    std::function<value_ref(std::size_t)> at;
    /// The reference lives until the next append().
    std::function<value_ref()> append;
};
/// A map whose keys the user chooses.
struct map_ref {
    std::function<std::vector<std::string>()> keys;
    std::function<value_ref(const std::string&)> at;  ///< Creates what is missing.
};

/// Where one value lives, by kind. An std::optional may be null in the file.
struct value_ref {
    std::variant<
        std::string*,
        std::optional<std::string>*,
        std::int64_t*,
        std::optional<std::int64_t>*,
        double*,
        duration*,
        std::optional<duration>*,
        bytes*,
        std::optional<bytes>*,
        tokens*,
        std::optional<tokens>*,
        bool_ref,
        enum_ref,
        section_ref,
        list_ref,
        map_ref>
        kind;

    bool is_scalar() const { return kind.index() < 13; }
    bool is_section() const { return std::holds_alternative<section_ref>(kind); }
};

class section_visitor {
public:
    virtual ~section_visitor() = default;
    virtual void field(const field_info& info, const value_ref& value) = 0;
};

/// What a value of this field looks like, for "expected …": "a duration such as 30s". Bounds are
/// named for numbers, and for durations and sizes when `got` is one that breaks them.
std::string expectation(const field_info& info, const value_ref& value, std::string_view got = {});

/// Stores the scalar that `text` spells, or says nothing and stores nothing: false.
bool assign_text(const field_info& info, const value_ref& value, std::string_view text);

/// Clears an optional. False where null is no value.
bool assign_null(const value_ref& value);

}  // namespace sluice::app
