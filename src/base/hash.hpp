// A small stable hash for state fingerprints and replay checks: equal on every machine and build,
// not meant against an adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

class stable_hash {
public:
    stable_hash& add(std::uint64_t value) {
        x_state ^= value + 0x9e3779b97f4a7c15ULL + (x_state << 6) + (x_state >> 2);
        x_state *= 0xff51afd7ed558ccdULL;
        x_state ^= x_state >> 33;
        return *this;
    }
    stable_hash& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
    stable_hash& add(std::string_view text) {
        std::uint64_t inner = 0xcbf29ce484222325ULL;
        for (const char c : text) {
            inner = (inner ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        }
        return add(inner).add(static_cast<std::uint64_t>(text.size()));
    }
    std::uint64_t value() const { return x_state; }

private:
    std::uint64_t x_state = 0x51'1c'e0'00'00'00'00'01ULL;
};

}  // namespace sluice
