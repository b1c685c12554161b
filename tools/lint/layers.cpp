#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "rules.hpp"

namespace sluice::lint {

namespace {

/// The drawing in ARCHITECTURE.md: an arrow may only point to a larger number; equals are siblings.
struct floor_of_room {
    std::string_view room;
    int floor;
};
constexpr std::array floors{
    floor_of_room{"app", 0},
    floor_of_room{"lab", 1},
    floor_of_room{"gateway", 2},
    floor_of_room{"admin", 2},
    floor_of_room{"agent", 2},
    floor_of_room{"engine", 2},
    floor_of_room{"load", 3},
    floor_of_room{"client", 3},
    floor_of_room{"coord_factory", 4},
    floor_of_room{"coord_redis", 5},
    floor_of_room{"coord_etcd", 5},
    floor_of_room{"coord_embedded", 5},
    floor_of_room{"coord_zookeeper", 5},
    floor_of_room{"coord_elected", 6},
    floor_of_room{"worker", 7},
    floor_of_room{"coord", 8},
    floor_of_room{"obs", 9},
    floor_of_room{"openai", 10},
    floor_of_room{"net", 11},
    floor_of_room{"sim", 12},
    floor_of_room{"core", 13},
    floor_of_room{"base", 14},
};
constexpr std::array<std::string_view, 4> pure_rooms{"base", "core", "sim", "coord"};
/// Standard headers that bring threads, clocks, chance, files or output into a pure room.
constexpr std::array<std::string_view, 16> impure_headers{
    "thread",
    "mutex",
    "shared_mutex",
    "atomic",
    "condition_variable",
    "future",
    "semaphore",
    "latch",
    "barrier",
    "random",
    "stop_token",
    "fstream",
    "iostream",
    "ctime",
    "filesystem",
    "csignal",
};

int floor_of(std::string_view room) {
    const auto found = std::ranges::find(floors, room, &floor_of_room::room);
    return found == floors.end() ? -1 : found->floor;
}

bool is_backend(std::string_view room) {
    return room.starts_with("coord_") && room != "coord_factory";
}

struct room {
    std::string name;
    std::string folder;  ///< Below src/.
    std::set<std::string, std::less<>> arrows;
    std::size_t line = 0;
};

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!(text = trim(text)).empty()) {
        const std::size_t end = text.find_first_of(" \t\r\n");
        words.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
    }
    return words;
}

/// CMake's comments as spaces.
std::string without_comments(std::string_view cmake) {
    std::string text(cmake);
    for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at)) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::fill(
            text.begin() + static_cast<std::ptrdiff_t>(at),
            text.begin() + static_cast<std::ptrdiff_t>(end),
            ' '
        );
    }
    return text;
}

/// Reads the `sluice_room(name FOLDER f DEPS a b LIBS …)` lines; app is added, it sees everything.
std::vector<room> read_rooms(std::string_view cmake) {
    std::vector<room> rooms;
    constexpr std::string_view call = "sluice_room(";
    for (std::size_t at = cmake.find(call); at != std::string_view::npos;
         at = cmake.find(call, at + 1)) {
        const std::size_t begin = at + call.size();
        const auto words = words_of(cmake.substr(begin, cmake.find(')', begin) - begin));
        if (words.empty()) {
            continue;
        }
        const auto line = std::ranges::count(cmake.substr(0, at), '\n');
        room next{.name = std::string(words[0]), .folder = std::string(words[0]), .arrows = {}};
        next.line = static_cast<std::size_t>(line) + 1;
        std::string_view part;
        for (const std::string_view word : words | std::views::drop(1)) {
            if (word == "FOLDER" || word == "DEPS" || word == "LIBS") {
                part = word;
            } else if (part == "FOLDER") {
                next.folder = word;
            } else if (part == "DEPS") {
                next.arrows.emplace(word);
            }
        }
        rooms.push_back(std::move(next));
    }
    room app{.name = "app", .folder = "app", .arrows = {}};
    for (const room& other : rooms) {
        if (!is_backend(other.name)) {
            app.arrows.insert(other.name);
        }
    }
    rooms.push_back(std::move(app));
    return rooms;
}

/// The room that owns `path` (below src/), by the longest folder.
const room* room_of(const std::vector<room>& rooms, std::string_view path) {
    const room* best = nullptr;
    for (const room& candidate : rooms) {
        if (path.starts_with(candidate.folder + '/') &&
            (best == nullptr || candidate.folder.size() > best->folder.size())) {
            best = &candidate;
        }
    }
    return best;
}

void check_arrows(const std::vector<room>& rooms, report& out) {
    constexpr std::string_view path = "src/CMakeLists.txt";
    for (const room& from : rooms) {
        const int own = floor_of(from.name);
        if (own < 0) {
            out.add(
                path,
                from.line,
                "layer",
                "room '" + from.name +
                    "' has no floor; add it to the drawing in "
                    "ARCHITECTURE.md and to tools/lint/layers.cpp"
            );
            continue;
        }
        for (const std::string& to : from.arrows) {
            if (floor_of(to) <= own) {
                out.add(
                    path,
                    from.line,
                    "layer",
                    "'" + from.name + "' may not see '" + to + "': arrows point down only"
                );
            } else if (is_backend(to) && from.name != "coord_factory" && !is_backend(from.name)) {
                out.add(
                    path,
                    from.line,
                    "layer",
                    "'" + from.name + "' names the backend '" + to +
                        "'; only coord/factory does, others see coord"
                );
            }
        }
    }
}

void check_purity(std::string_view path, std::size_t line, std::string_view name, report& out) {
    // Containers that behave the same everywhere are welcome.
    if (name.starts_with("boost/unordered/") || name.starts_with("boost/container/") ||
        name.starts_with("boost/intrusive/")) {
        return;
    }
    if (name.contains('/') || name.ends_with(".h") ||
        std::ranges::find(impure_headers, name) != impure_headers.end()) {
        out.add(
            path,
            line,
            "purity",
            "<" + std::string(name) +
                "> in a pure room: base, core, sim and coord take time, "
                "chance and bytes as arguments; put the shell into net or above"
        );
    }
}

/// Whether a quoted include resolves, from src/ or beside the file.
bool resolves(const file_tree& tree, std::string_view path, std::string_view name) {
    const std::string beside = std::string(folder_of(path)) + '/' + std::string(name);
    return tree.contains("src/" + std::string(name)) || tree.contains(beside);
}

void check_file(
    const file_tree& tree,
    const std::vector<room>& rooms,
    std::string_view path,
    const source_text& text,
    report& out
) {
    const room* own = room_of(rooms, path.substr(4));
    if (own == nullptr) {
        out.add(path, 0, "layer", "in no room; declare its folder in src/CMakeLists.txt");
        return;
    }
    const bool pure = std::ranges::find(pure_rooms, own->name) != pure_rooms.end();
    for (std::size_t i = 0; i < text.raw.size(); ++i) {
        const std::string_view quoted = included(text.raw[i]);
        if (quoted.empty() || included(text.code[i]).empty()) {
            continue;
        }
        const std::string_view name = quoted.substr(1, quoted.size() - 2);
        if (quoted[0] == '<') {
            if (pure) {
                check_purity(path, i + 1, name, out);
            }
            continue;
        }
        if (name.starts_with("../") || !resolves(tree, path, name)) {
            out.add(
                path,
                i + 1,
                "include",
                "\"" + std::string(name) + "\" does not exist below src/; write room/file.hpp"
            );
            continue;
        }
        const room* other = room_of(rooms, name);
        if (other != nullptr && other != own && !own->arrows.contains(other->name)) {
            out.add(
                path,
                i + 1,
                "layer",
                "'" + own->name + "' may not see '" + other->name +
                    "' (src/CMakeLists.txt names its arrows)"
            );
        }
    }
}

}  // namespace

void check_layers(const file_tree& tree, const source_map& sources, report& out) {
    const auto cmake = tree.find("src/CMakeLists.txt");
    if (cmake == tree.end()) {
        out.add("src/CMakeLists.txt", 0, "layer", "missing: the rooms are declared there");
        return;
    }
    const std::vector<room> rooms = read_rooms(without_comments(cmake->second));
    check_arrows(rooms, out);
    for (const auto& [path, text] : sources) {
        if (path.starts_with("src/")) {
            check_file(tree, rooms, path, text, out);
        }
    }
}

}  // namespace sluice::lint
