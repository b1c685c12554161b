#include <array>

#include "rules.hpp"

namespace sluice::lint {

namespace {

/// Written in halves, so that this file may exist. Paths of somebody's machine and hosts of package
/// registries say where a thing was made, not what it is, and they rot.
constexpr std::array<std::string_view, 11> places{
    "/wo"
    "rk/",
    "/fa"
    "rm/",
    "/ro"
    "ot/",
    "/ho"
    "me/",
    "deb.debian"
    ".org",
    "pypi"
    ".org",
    "crates"
    ".io",
    "registry.npm"
    "js.org",
    "proxy.go"
    "lang.org",
    "repo1.ma"
    "ven.org",
    "repo.ma"
    "ven.apache.org",
};
constexpr std::array<std::string_view, 4> unfinished{"TODO", "FIXME", "XXX", "HACK"};

/// Binary files are not read as text.
bool is_text(std::string_view content) {
    return content.substr(0, 4096).find('\0') == std::string_view::npos;
}

void check_line(std::string_view path, std::size_t number, std::string_view line, report& out) {
    if (line.ends_with(' ') || line.ends_with('\t') || line.ends_with('\r')) {
        out.add(path, number, "space", "space at the end of the line");
    }
    if (line.contains('\t') && !path.ends_with("Makefile")) {
        out.add(path, number, "space", "a tab; four spaces");
    }
    for (const std::string_view word : places) {
        const std::size_t at = line.find(word);
        // `a/home/b` is a relative path of somebody else's making, `/home/b` is a machine's.
        if (at != std::string_view::npos &&
            (word[0] != '/' || at == 0 ||
             (!is_identifier_char(line[at - 1]) && line[at - 1] != '}' && line[at - 1] != '.'))) {
            out.add(
                path,
                number,
                "word",
                "'" + std::string(word) + "' names a machine or a registry; leave it out"
            );
        }
    }
}

}  // namespace

void check_words(const file_tree& tree, const source_map& sources, report& out) {
    for (const auto& [path, content] : tree) {
        const bool bytes =
            path.starts_with("tests/data/") || path.starts_with("tests/fuzz/corpus/");
        if (bytes || !is_text(content)) {
            continue;
        }
        const std::vector<std::string> lines = split_lines(content);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            check_line(path, i + 1, lines[i], out);
        }
        if (!content.empty() && !content.ends_with('\n')) {
            out.add(path, lines.size(), "space", "no newline at the end of the file");
        }
    }
    for (const auto& [path, text] : sources) {
        if (is_header(path) &&
            std::string_view(tree.at(path)).find("#pragma once") == std::string_view::npos) {
            out.add(path, 0, "pragma", "a header starts with its contract and #pragma once");
        }
        for (std::size_t i = 0; i < text.raw.size(); ++i) {
            for (const std::string_view word : unfinished) {
                if (path.starts_with("src/") && find_word(text.raw[i], word) != std::string::npos) {
                    out.add(
                        path, i + 1, "todo", "finish it, or write an issue and remove the note"
                    );
                }
            }
        }
    }
}

}  // namespace sluice::lint
