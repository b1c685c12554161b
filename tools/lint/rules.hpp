// The groups of rules; each looks at the whole tree and adds what it finds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lint.hpp"
#include "text.hpp"

namespace sluice::lint {

/// The C++ files of a tree, parsed once.
using source_map = std::map<std::string, source_text>;

class report {
public:
    void add(std::string_view path, std::size_t line, std::string_view rule, std::string message) {
        x_findings.push_back({std::string(path), line, std::string(rule), std::move(message)});
    }
    std::vector<finding> take() { return std::move(x_findings); }

private:
    std::vector<finding> x_findings;
};

/// layer, purity, include: the rooms of src/ and the arrows between them.
void check_layers(const file_tree& tree, const source_map& sources, report& out);
/// call: functions and types that have a better replacement here.
void check_calls(const source_map& sources, report& out);
/// ternary: a co_await inside `?:`.
void check_ternaries(const source_map& sources, report& out);
/// length: lines, files and functions.
void check_lengths(const file_tree& tree, const source_map& sources, report& out);
/// space, word, todo, pragma: what any text file may not contain.
void check_words(const file_tree& tree, const source_map& sources, report& out);
/// dead, readme, link: files that nobody needs, and files that somebody misses.
void check_tree(const file_tree& tree, const source_map& sources, report& out);

inline bool is_header(std::string_view path) {
    return path.ends_with(".hpp");
}
inline bool is_source(std::string_view path) {
    return path.ends_with(".cpp");
}
inline bool is_test(std::string_view path) {
    return path.starts_with("tests/") || path.starts_with("bench/");
}

}  // namespace sluice::lint
