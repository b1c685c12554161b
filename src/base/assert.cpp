#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace sluice::detail {

void assertion_failed(const char* condition, const char* file, int line, std::string_view context) {
    std::fprintf(
        stderr,
        "sluice: assertion '%s' failed at %s:%d\n%.*s\n",
        condition,
        file,
        line,
        static_cast<int>(context.size()),
        context.data()
    );
    std::abort();
}

}  // namespace sluice::detail
