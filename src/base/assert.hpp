// SLUICE_ASSERT stays on in release: a scheduler that has lost count must stop, not guess.
#pragma once

#include <string_view>

namespace sluice::detail {

/// Prints the broken condition with its place and `context` to stderr, then aborts.
[[noreturn]] void assertion_failed(
    const char* condition, const char* file, int line, std::string_view context
);

}  // namespace sluice::detail

#define SLUICE_ASSERT(condition)  \
    (static_cast<bool>(condition) \
         ? static_cast<void>(0)   \
         : ::sluice::detail::assertion_failed(#condition, __FILE__, __LINE__, {}))

/// As SLUICE_ASSERT; `context` (a string, built only on failure) is printed too.
#define SLUICE_ASSERT_MSG(condition, context) \
    (static_cast<bool>(condition)             \
         ? static_cast<void>(0)               \
         : ::sluice::detail::assertion_failed(#condition, __FILE__, __LINE__, (context)))
