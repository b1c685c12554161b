// What every fuzz target uses: properties that must hold, and cuts of the input.
//
// A seed is the plain input, nothing else: whatever else a target has to choose (where to cut) is
// drawn from a generator that the input itself seeds, so a finding repeats from its file alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sluice::fuzz {

/// The property `what` holds, or the input is a finding.
inline void require(bool holds, const char* what) {
    if (!holds) {
        std::fprintf(stderr, "BROKEN PROPERTY: %s\n", what);
        std::abort();
    }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// A generator that depends on the input alone.
inline random_source chance_of(std::string_view text) {
    return random_source(stable_hash().add(text).value());
}

/// Bytes in an allocation of exactly their size, so that the sanitizer sees reads beyond them.
class exact_text {
public:
    explicit exact_text(std::string_view text) : x_bytes(text.begin(), text.end()) {}
    std::string_view view() const { return {x_bytes.data(), x_bytes.size()}; }
    char* data() { return x_bytes.data(); }
    std::size_t size() const { return x_bytes.size(); }

private:
    std::vector<char> x_bytes;
};

/// `text` in pieces, none empty; `mean`: their usual length.
inline std::vector<exact_text> cut(std::string_view text, random_source& chance, std::size_t mean) {
    std::vector<exact_text> pieces;
    while (!text.empty()) {
        const std::size_t size = 1 + static_cast<std::size_t>(chance.below(2 * mean));
        pieces.emplace_back(text.substr(0, size));
        text.remove_prefix(pieces.back().size());
    }
    return pieces;
}

}  // namespace sluice::fuzz
