// sluice_lint [ROOT]: prints one line a finding, exits 1 when there are any.
#include <cstdio>
#include <exception>

#include "lint.hpp"

int main(int argc, char** argv) {
    try {
        const auto findings =
            sluice::lint::check(sluice::lint::read_tree(argc > 1 ? argv[1] : "."));
        for (const auto& what : findings) {
            std::printf(
                "%s:%zu: [%s] %s\n",
                what.path.c_str(),
                what.line,
                what.rule.c_str(),
                what.message.c_str()
            );
        }
        if (!findings.empty()) {
            std::printf("%zu findings; the rules: tools/lint/README.md\n", findings.size());
        }
        return findings.empty() ? 0 : 1;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "sluice_lint: %s\n", problem.what());
        return 2;
    }
}
