#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "rules.hpp"

namespace sluice::lint {

namespace {

/// The include as its path ends: "core/types.hpp" for both "core/types.hpp" and <core/types.hpp>.
/// Standard headers (in angles, without a folder) are left out.
std::set<std::string> includes_of(const source_text& text) {
    std::set<std::string> names;
    for (const std::string& line : text.raw) {
        const std::string_view name = included(line);
        if (!name.empty() && (name[0] == '"' || name.contains('/'))) {
            names.emplace(name.substr(1, name.size() - 2));
        }
    }
    return names;
}

bool same_file(std::string_view path, std::string_view name, std::string_view includer) {
    if (path == name || path.ends_with('/' + std::string(name))) {
        // "types.hpp" alone means the neighbour, not any file of that name.
        return name.contains('/') || folder_of(path) == folder_of(includer);
    }
    return false;
}

std::string without_extension(std::string_view path) {
    return std::string(path.substr(0, path.rfind('.')));
}

void check_dead_headers(
    const source_map& sources,
    const std::map<std::string, std::set<std::string>>& includes,
    report& out
) {
    for (const auto& [path, text] : sources) {
        if (!is_header(path)) {
            continue;
        }
        const bool used = std::ranges::any_of(includes, [&](const auto& entry) {
            const auto& [includer, names] = entry;
            return includer != path && without_extension(includer) != without_extension(path) &&
                   std::ranges::any_of(names, [&](const std::string& name) {
                       return same_file(path, name, includer);
                   });
        });
        if (!used) {
            out.add(path, 0, "dead", "nobody but its own source includes it; use it or remove it");
        }
    }
}

/// A source of a room that includes no header of its room defines what nobody can reach, unless it
/// compiles a library (<boost/asio/impl/src.hpp>).
void check_dead_sources(const std::map<std::string, std::set<std::string>>& includes, report& out) {
    for (const auto& [path, names] : includes) {
        if (!is_source(path) || !path.starts_with("src/") || path.ends_with("/main.cpp")) {
            continue;
        }
        const std::string folder = std::string(folder_of(path)).substr(4) + '/';
        const bool reachable = std::ranges::any_of(names, [&](const std::string& name) {
            return name.starts_with(folder) || !name.contains('/') || name.contains("/impl/");
        });
        if (!reachable) {
            out.add(path, 0, "dead", "includes no header of its own room; who could call it?");
        }
    }
}

void check_readmes(const file_tree& tree, const source_map& sources, report& out) {
    std::set<std::string> folders;
    for (const auto& [path, text] : sources) {
        if (path.starts_with("src/")) {
            folders.emplace(folder_of(path));
        }
    }
    for (const std::string& folder : folders) {
        const auto readme = tree.find(folder + "/README.md");
        if (readme == tree.end() || split_lines(readme->second).size() < 4) {
            out.add(
                folder + "/README.md",
                0,
                "readme",
                "about ten lines: what the room isolates, its entry header, its invariants, "
                "its tests"
            );
        }
    }
}

bool exists(const file_tree& tree, const std::string& path) {
    if (tree.contains(path)) {
        return true;
    }
    const std::string below = path.ends_with('/') ? path : path + '/';
    const auto next = tree.lower_bound(below);
    return next != tree.end() && next->first.starts_with(below);
}

void check_links(
    std::string_view path, std::string_view content, const file_tree& tree, report& out
) {
    const std::vector<std::string> lines = split_lines(content);
    bool fenced = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        fenced = trim(lines[i]).starts_with("```") ? !fenced : fenced;
        for (std::size_t at = lines[i].find("]("); at != std::string::npos && !fenced;
             at = lines[i].find("](", at + 1)) {
            std::string target = lines[i].substr(at + 2, lines[i].find(')', at) - at - 2);
            target = target.substr(0, target.find('#'));
            if (target.empty() || target.contains("://") || target.starts_with("mailto:")) {
                continue;
            }
            const std::filesystem::path full = std::filesystem::path(folder_of(path)) / target;
            if (!exists(tree, full.lexically_normal().generic_string())) {
                out.add(path, i + 1, "link", "'" + target + "' does not exist");
            }
        }
    }
}

/// Whether the line, or the one above, excuses `rule` with a reason.
bool excused(const file_tree& tree, const finding& what) {
    const auto file = tree.find(what.path);
    if (file == tree.end() || what.line == 0) {
        return false;
    }
    const std::vector<std::string> lines = split_lines(file->second);
    const std::string mark = "lint-allow(" + what.rule + "): ";
    for (const std::size_t number : {what.line, what.line - 1}) {
        if (number == 0 || number > lines.size()) {
            continue;
        }
        const std::size_t at = lines[number - 1].find(mark);
        if (at != std::string::npos &&
            trim(lines[number - 1].substr(at + mark.size())).size() >= 10) {
            return true;
        }
    }
    return false;
}

}  // namespace

void check_tree(const file_tree& tree, const source_map& sources, report& out) {
    std::map<std::string, std::set<std::string>> includes;
    for (const auto& [path, text] : sources) {
        includes.emplace(path, includes_of(text));
    }
    check_dead_headers(sources, includes, out);
    check_dead_sources(includes, out);
    check_readmes(tree, sources, out);
    for (const auto& [path, content] : tree) {
        if (path.ends_with(".md")) {
            check_links(path, content, tree, out);
        }
    }
}

file_tree read_tree(const std::filesystem::path& root) {
    file_tree tree;
    auto walk = std::filesystem::recursive_directory_iterator(root);
    for (const auto& entry : walk) {
        const std::string path = entry.path().lexically_relative(root).generic_string();
        if (path == ".git" || path == "build" || path == "tests/lint/data") {
            walk.disable_recursion_pending();
        } else if (entry.is_regular_file() && !path.ends_with(".pyc")) {
            std::ifstream file(entry.path(), std::ios::binary);
            tree.emplace(path, std::string(std::istreambuf_iterator<char>(file), {}));
        }
    }
    return tree;
}

std::vector<finding> check(const file_tree& tree) {
    source_map sources;
    for (const auto& [path, content] : tree) {
        if (is_header(path) || is_source(path)) {
            sources.emplace(path, parse_source(content));
        }
    }
    report out;
    check_layers(tree, sources, out);
    check_calls(sources, out);
    check_ternaries(sources, out);
    check_lengths(tree, sources, out);
    check_words(tree, sources, out);
    check_tree(tree, sources, out);
    std::vector<finding> findings = out.take();
    std::erase_if(findings, [&](const finding& what) { return excused(tree, what); });
    std::ranges::sort(findings);
    const auto repeated = std::ranges::unique(findings);
    findings.erase(repeated.begin(), repeated.end());
    return findings;
}

}  // namespace sluice::lint
