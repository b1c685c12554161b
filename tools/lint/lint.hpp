// The project's own lint: what a compiler cannot see and a reader should not have to.
//
// check() is a pure function from the files of a tree to findings, so that its tests plant
// violations in a small tree and expect exactly these (tests/lint). A line may excuse itself with
// `lint-allow(rule): reason`, on it or on the line above; the reason is not optional.
//
// Rules: see tools/lint/README.md.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::lint {

struct finding {
    std::string path;
    std::size_t line = 0;  ///< From 1; 0 speaks of the whole file.
    std::string rule;
    std::string message;  ///< What is wrong and what to do instead.

    friend auto operator<=>(const finding&, const finding&) = default;
};

/// Path relative to the root, with forward slashes, to contents.
using file_tree = std::map<std::string, std::string>;

/// Everything below `root` except version control, build trees and planted violations.
file_tree read_tree(const std::filesystem::path& root);

/// All findings, sorted by path and line.
std::vector<finding> check(const file_tree& tree);

}  // namespace sluice::lint
