#include <array>

#include "rules.hpp"

namespace sluice::lint {

namespace {

constexpr std::size_t max_width = 100;
constexpr std::size_t max_header = 200;
constexpr std::size_t max_source = 500;
constexpr std::size_t max_function = 70;

/// Finds function bodies by their braces. Works on blanked text; macros that hide braces and
/// K&R-style code are beyond it, neither exists here.
class function_finder {
public:
    struct body {
        std::size_t first;
        std::size_t last;
    };

    explicit function_finder(const std::vector<std::string>& code) : x_code(code) {}

    std::vector<body> run() {
        for (std::size_t line = 0; line < x_code.size(); ++line) {
            if (trim(x_code[line]).starts_with('#')) {
                continue;
            }
            for (const char c : x_code[line]) {
                step(c, line);
            }
            x_head += ' ';
        }
        return std::move(x_bodies);
    }

private:
    enum class kind { container, function, inside, initializer };
    struct open_brace {
        kind what;
        std::size_t line;
    };

    bool in_function() const {
        for (const open_brace& brace : x_open) {
            if (brace.what == kind::function) {
                return true;
            }
        }
        return false;
    }

    void step(char c, std::size_t line) {
        if (c == '{') {
            const kind what = in_function() ? kind::inside : classify();
            x_open.push_back({what, line});
            if (what != kind::initializer) {
                x_head.clear();
            }
        } else if (c == '}') {
            if (!x_open.empty()) {
                const open_brace closed = x_open.back();
                x_open.pop_back();
                if (closed.what == kind::function) {
                    x_bodies.push_back({closed.line, line});
                }
                if (closed.what == kind::initializer) {
                    x_head += '}';
                    return;
                }
            }
            x_head.clear();
        } else if (c == ';') {
            x_head.clear();
        } else {
            x_head += c;
        }
    }

    /// What the brace after x_head opens, at namespace or class scope.
    kind classify() const {
        const std::string_view head = trim(x_head);
        constexpr std::array<std::string_view, 6> containers{
            "namespace", "class", "struct", "union", "enum", "extern"
        };
        const std::size_t parameters = head.find('(');
        for (const std::string_view word : containers) {
            const std::size_t at = find_word(head, word);
            if (at != std::string_view::npos && !in_angles(head.substr(0, at)) &&
                (parameters == std::string_view::npos || !head.ends_with(')'))) {
                return kind::container;
            }
        }
        if (parameters == std::string_view::npos) {
            return head.ends_with('}') ? kind::function : kind::initializer;
        }
        // `f() : member{1} {`: the brace behind a member's name belongs to the list.
        const std::size_t list = constructor_list(head);
        if (list != std::string_view::npos && !head.ends_with(')') && !head.ends_with('}')) {
            return kind::initializer;
        }
        return head.ends_with('=') || head.ends_with(',') || head.ends_with('(') ? kind::initializer
                                                                                 : kind::function;
    }

    static bool in_angles(std::string_view before) {
        int depth = 0;
        for (const char c : before) {
            depth += c == '<' ? 1 : (c == '>' ? -1 : 0);
        }
        return depth > 0;
    }

    static std::size_t constructor_list(std::string_view head) {
        for (std::size_t i = 1; i + 1 < head.size(); ++i) {
            if (head[i] == ':' && head[i - 1] != ':' && head[i + 1] != ':' &&
                trim(head.substr(0, i)).ends_with(')')) {
                return i;
            }
        }
        return std::string_view::npos;
    }

    const std::vector<std::string>& x_code;
    std::string x_head;
    std::vector<open_brace> x_open;
    std::vector<body> x_bodies;
};

bool is_narrow(std::string_view path) {
    return is_header(path) || is_source(path) || path.ends_with(".cmake") ||
           path.ends_with("CMakeLists.txt") || path.starts_with(".ci/") ||
           (path.starts_with("tools/") && !path.ends_with(".md"));
}

void check_functions(std::string_view path, const source_text& text, report& out) {
    for (const auto& body : function_finder(text.code).run()) {
        const std::size_t length = body.last - body.first + 1;
        if (length > max_function) {
            out.add(
                path,
                body.first + 1,
                "length",
                "a function of " + std::to_string(length) + " lines, the limit is " +
                    std::to_string(max_function) + "; give its parts names"
            );
        }
    }
}

}  // namespace

void check_lengths(const file_tree& tree, const source_map& sources, report& out) {
    for (const auto& [path, content] : tree) {
        if (!is_narrow(path)) {
            continue;
        }
        const std::vector<std::string> lines = split_lines(content);
        const auto parsed = sources.find(path);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            // What a raw string holds (bytes of the wire, a page) keeps its lines.
            const bool data = parsed != sources.end() && i < parsed->second.code.size() &&
                              parsed->second.code[i].contains(raw_string_mark);
            if (!data && width(lines[i]) > max_width) {
                out.add(
                    path, i + 1, "length", "more than 100 columns; 'make format' or a shorter name"
                );
            }
        }
    }
    for (const auto& [path, text] : sources) {
        const std::size_t limit = is_header(path) ? max_header : max_source;
        if (text.raw.size() > limit) {
            out.add(
                path,
                0,
                "length",
                std::to_string(text.raw.size()) + " lines, the limit is " + std::to_string(limit) +
                    "; a second type wants a second file"
            );
        }
        check_functions(path, text, out);
    }
}

}  // namespace sluice::lint
