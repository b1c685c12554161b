// A lint that finds nothing proves nothing: every rule has a planted violation here or in data/.
#include "lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "text.hpp"

namespace {

using sluice::lint::check;
using sluice::lint::file_tree;
using sluice::lint::finding;

/// A tree that satisfies every rule; tests add one fault each.
file_tree clean_tree() {
    return {
        {"src/CMakeLists.txt",
         "sluice_room(base)\nsluice_room(core DEPS base)\nsluice_room(net DEPS base LIBS x)\n"
         "sluice_room(coord DEPS core base)\n"
         "sluice_room(coord_embedded FOLDER coord/embedded DEPS coord net)\n"
         "sluice_room(gateway DEPS coord net base)\n"},
        {"src/core/README.md", "# core\n\none\ntwo\nthree\n"},
        {"src/core/types.hpp", "#pragma once\nint f();\n"},
        {"src/core/types.cpp", "#include \"core/types.hpp\"\nint f() {\n    return 1;\n}\n"},
        {"src/core/user.cpp", "#include \"core/types.hpp\"\n"},
    };
}

std::string describe(const std::vector<finding>& findings) {
    std::string text;
    for (const finding& what : findings) {
        text += what.path + ':' + std::to_string(what.line) + " [" + what.rule + "] " +
                what.message + '\n';
    }
    return text;
}

std::string lines_of(const std::set<std::string>& items) {
    std::string text;
    for (const std::string& item : items) {
        text += item + '\n';
    }
    return text;
}

/// The rules that `content`, added as `path`, breaks.
std::set<std::string> rules_broken_by(const std::string& path, const std::string& content) {
    file_tree tree = clean_tree();
    tree[path] = content;
    std::set<std::string> rules;
    for (const finding& what : check(tree)) {
        if (what.path == path) {
            rules.insert(what.rule);
        }
    }
    return rules;
}

using rule_set = std::set<std::string>;
const std::string core_head = "#include \"core/types.hpp\"\n";

TEST(Lint, CleanTreeHasNoFindings) {
    EXPECT_EQ("", describe(check(clean_tree())));
}

// data/planted is a tree whose faulty lines end in `// expect: rule` (whole files: expected.txt).
TEST(Lint, FindsExactlyWhatIsPlanted) {
    const std::string root = std::string(SLUICE_PLANTED) + "/planted";
    const file_tree tree = sluice::lint::read_tree(root);
    std::set<std::string> expected;
    for (const std::string& line : sluice::lint::split_lines(tree.at("expected.txt"))) {
        expected.insert(line);
    }
    for (const auto& [path, content] : tree) {
        const auto lines = sluice::lint::split_lines(content);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::size_t mark = lines[i].find("// expect: ");
            if (mark != std::string::npos) {
                expected.insert(
                    path + ':' + std::to_string(i + 1) + ' ' + lines[i].substr(mark + 11)
                );
            }
        }
    }
    std::set<std::string> found;
    for (const finding& what : check(tree)) {
        found.insert(what.path + ':' + std::to_string(what.line) + ' ' + what.rule);
    }
    EXPECT_GE(expected.size(), 30U);
    EXPECT_EQ(lines_of(expected), lines_of(found));
}

TEST(Lint, MachinePathsAndRegistriesAreWords) {
    const std::string path =
        "/wo"
        "rk/main";
    const std::string host =
        "https://pypi"
        ".org/simple";
    EXPECT_EQ(rule_set{"word"}, rules_broken_by("docs/a.md", "see " + path + "\n"));
    EXPECT_EQ(rule_set{"word"}, rules_broken_by("docs/a.md", path + "\n"));
    EXPECT_EQ(rule_set{"word"}, rules_broken_by("docs/a.md", "from " + host + "\n"));
    EXPECT_EQ(
        rule_set{},
        rules_broken_by(
            "docs/a.md",
            "the frame"
            "wo"
            "rk/library\n"
        )
    );
}

TEST(Lint, SpaceAtTheEndsOfLinesAndFiles) {
    EXPECT_EQ(rule_set{"space"}, rules_broken_by("docs/a.md", "one \n"));
    EXPECT_EQ(rule_set{"space"}, rules_broken_by("docs/a.md", "one\r\n"));
    EXPECT_EQ(rule_set{"space"}, rules_broken_by("docs/a.md", "\tone\n"));
    EXPECT_EQ(rule_set{"space"}, rules_broken_by("docs/a.md", "one"));
    EXPECT_EQ(rule_set{}, rules_broken_by("Makefile", "a:\n\techo\n"));
}

TEST(Lint, LongFilesLinesAndFunctions) {
    const std::string long_line = core_head + "// " + std::string(100, 'x') + '\n';
    EXPECT_EQ(rule_set{"length"}, rules_broken_by("src/core/a.cpp", long_line));
    std::string wide = core_head + "// ";
    for (int i = 0; i < 90; ++i) {
        wide += "\xE2\x89\xA4";  // one column, three bytes
    }
    EXPECT_EQ(rule_set{}, rules_broken_by("src/core/a.cpp", wide + '\n'));

    const std::string data = core_head + "auto s = R\"(" + std::string(100, 'x') + ")\";\n";
    EXPECT_EQ(rule_set{}, rules_broken_by("src/core/a.cpp", data));

    std::string blank;
    for (int i = 0; i < 199; ++i) {
        blank += "//\n";
    }
    EXPECT_EQ((rule_set{"dead"}), rules_broken_by("src/core/a.hpp", "#pragma once\n" + blank));
    EXPECT_EQ(
        (rule_set{"dead", "length"}),
        rules_broken_by("src/core/a.hpp", "#pragma once\n//\n" + blank)
    );
}

std::string function_of(std::size_t lines, const std::string& head) {
    std::string text = core_head + head + " {\n";
    for (std::size_t i = 2; i < lines; ++i) {
        text += "    f();\n";
    }
    return text + "}\n";
}

TEST(Lint, CountsTheLinesOfEveryShapeOfFunction) {
    for (const std::string head :
         {"int f(int x)",
          "auto f() -> std::map<int, int>",
          "thing::thing(int x) : x_a(x), x_b{x}",
          "template <class T>\nvoid g(T t) requires true",
          "TEST(a, b)",
          "const std::string& thing::name() const noexcept",
          "namespace n {\nstruct s {\n    enum class e { a, b };\n    void f() override"}) {
        const std::string close = head.starts_with("namespace") ? "};\n}\n" : "";
        EXPECT_EQ(rule_set{}, rules_broken_by("src/core/a.cpp", function_of(70, head) + close))
            << head;
        EXPECT_EQ(
            rule_set{"length"}, rules_broken_by("src/core/a.cpp", function_of(71, head) + close)
        ) << head;
    }
    // A long type or namespace is not a long function.
    EXPECT_EQ(rule_set{}, rules_broken_by("src/core/a.cpp", function_of(90, "namespace n")));
    EXPECT_EQ(
        rule_set{}, rules_broken_by("src/core/a.cpp", function_of(90, "constexpr int a[] ="))
    );
}

TEST(Lint, CommentsAndLiteralsAreNotCode) {
    EXPECT_EQ(rule_set{}, rules_broken_by("src/core/a.cpp", core_head + "// rand() is banned\n"));
    EXPECT_EQ(
        rule_set{},
        rules_broken_by("src/core/a.cpp", core_head + "auto s = \"rand() \\\" rand()\";\n")
    );
    EXPECT_EQ(
        rule_set{},
        rules_broken_by("src/core/a.cpp", core_head + "auto s = R\"x(rand() \" rand())x\";\n")
    );
    EXPECT_EQ(
        rule_set{"call"},
        rules_broken_by("src/core/a.cpp", core_head + "auto n = 1'000; auto c = '\"'; rand();\n")
    );
    EXPECT_EQ(
        rule_set{}, rules_broken_by("src/core/a.cpp", core_head + "/* rand();\n rand(); */\n")
    );
}

TEST(Lint, AnExcuseNeedsItsReason) {
    const std::string call = "int a = rand();";
    EXPECT_EQ(rule_set{"call"}, rules_broken_by("src/core/a.cpp", core_head + call + '\n'));
    EXPECT_EQ(
        rule_set{"call"},
        rules_broken_by("src/core/a.cpp", core_head + call + "  // lint-allow(call): why\n")
    );
    EXPECT_EQ(
        rule_set{"call"},
        rules_broken_by(
            "src/core/a.cpp", core_head + call + "  // lint-allow(layer): some reason\n"
        )
    );
    EXPECT_EQ(
        rule_set{},
        rules_broken_by(
            "src/core/a.cpp", core_head + call + "  // lint-allow(call): shown as bad\n"
        )
    );
    EXPECT_EQ(
        rule_set{},
        rules_broken_by(
            "src/core/a.cpp", core_head + "// lint-allow(call): shown as bad\n" + call + '\n'
        )
    );
}

TEST(Lint, ArrowsPointDownAndBackendsStayHidden) {
    const auto with_rooms = [](const std::string& rooms) {
        file_tree tree = clean_tree();
        tree["src/CMakeLists.txt"] += rooms;
        std::set<std::string> rules;
        for (const finding& what : check(tree)) {
            rules.insert(what.rule);
        }
        return rules;
    };
    EXPECT_EQ(
        rule_set{},
        with_rooms("sluice_room(coord_factory FOLDER coord/factory DEPS coord_embedded)\n")
    );
    EXPECT_EQ(rule_set{"layer"}, with_rooms("sluice_room(sim DEPS net)\n"));
    EXPECT_EQ(rule_set{"layer"}, with_rooms("sluice_room(engine DEPS gateway)\n"));
    EXPECT_EQ(rule_set{"layer"}, with_rooms("sluice_room(admin DEPS coord_embedded)\n"));
    EXPECT_EQ(rule_set{"layer"}, with_rooms("sluice_room(attic DEPS base)\n"));
}

}  // namespace
