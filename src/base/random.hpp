// A small seeded generator (splitmix64). The standard distributions differ between libraries,
// so everything is derived here with integer arithmetic: the same seed gives the same history on
// every machine and build.
#pragma once

#include <cstdint>

namespace sluice {

class random_source {
public:
    explicit random_source(std::uint64_t seed) : x_state(seed) {}

    /// Next 64 uniform bits.
    std::uint64_t next() {
        x_state += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = x_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    /// Uniform in [0, bound); bound ≥ 1. The bias is below 2^-64 · bound.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    /// Uniform in [low, high], low ≤ high.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
    }

    /// True in `numerator` of `denominator` draws.
    bool chance(std::uint64_t numerator, std::uint64_t denominator) {
        return below(denominator) < numerator;
    }

private:
    std::uint64_t x_state;
};

}  // namespace sluice
