// Strong types for the quantities that admission reasons about.
//
// A number without its unit is the most common fault in capacity code (tokens taken for bytes,
// milliseconds for seconds), so the unit is part of the type and a mix does not compile.
// Arithmetic saturates at the ends of the 53-bit range instead of wrapping: a hostile request
// (`n: 2^62`) must become "too large", never something small, and the same numbers must survive
// a store whose scripts calculate in doubles.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace sluice {

/// Largest magnitude any quantity takes: the largest integer a double holds exactly.
inline constexpr std::int64_t quantity_limit = (std::int64_t{1} << 53) - 1;

namespace detail {

constexpr std::int64_t clamp_quantity(__int128 value) {
    if (value > quantity_limit) {
        return quantity_limit;
    }
    if (value < -quantity_limit) {
        return -quantity_limit;
    }
    return static_cast<std::int64_t>(value);
}

}  // namespace detail

/// An integer with a unit. Addition and multiplication saturate at ±quantity_limit.
template <class Unit>
class quantity {
public:
    constexpr quantity() = default;
    constexpr explicit quantity(std::int64_t count) : x_count(detail::clamp_quantity(count)) {}

    constexpr std::int64_t count() const { return x_count; }
    static constexpr quantity max() { return quantity(quantity_limit); }
    static constexpr quantity zero() { return quantity(0); }

    friend constexpr auto operator<=>(quantity, quantity) = default;
    friend constexpr quantity operator+(quantity a, quantity b) {
        return quantity(detail::clamp_quantity(static_cast<__int128>(a.x_count) + b.x_count));
    }
    friend constexpr quantity operator-(quantity a, quantity b) {
        return quantity(detail::clamp_quantity(static_cast<__int128>(a.x_count) - b.x_count));
    }
    friend constexpr quantity operator*(quantity a, std::int64_t factor) {
        return quantity(detail::clamp_quantity(static_cast<__int128>(a.x_count) * factor));
    }
    constexpr quantity& operator+=(quantity other) { return *this = *this + other; }
    constexpr quantity& operator-=(quantity other) { return *this = *this - other; }

private:
    std::int64_t x_count = 0;
};

struct token_unit {};
struct byte_unit {};

/// Model tokens (prompt, predicted or generated output).
using tokens = quantity<token_unit>;
/// Bytes of KV cache or of bodies. A pool without a known KV formula accounts one byte a token.
using bytes = quantity<byte_unit>;

/// Microseconds: fine enough for grants, and centuries fit into 53 bits.
using duration = std::chrono::duration<std::int64_t, std::micro>;

/// The clock of the core: it has no now(); the shell that owns a real clock feeds instants in.
struct fed_clock {
    using duration = sluice::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<fed_clock, duration>;
    static constexpr bool is_steady = true;
};
/// A point on the fed clock. Zero is wherever the shell put it.
using instant = fed_clock::time_point;

/// "Never": later than every instant that is compared with it.
inline constexpr instant never = instant(duration(quantity_limit));

/// Rounds `count` up to whole blocks of `block` tokens (block ≥ 1).
constexpr tokens round_up_to_block(tokens count, std::int64_t block) {
    const std::int64_t blocks = (count.count() + block - 1) / block;
    return tokens(blocks) * block;
}

}  // namespace sluice
