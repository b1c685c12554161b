#include <array>

#include "rules.hpp"

namespace sluice::lint {

namespace {

/// Where a banned name is banned.
enum class place { anywhere, src, src_outside_app, src_outside_net, pure };

struct banned {
    std::string_view name;
    bool call;  ///< Only when an opening parenthesis follows.
    place where;
    std::string_view instead;
};

constexpr std::string_view timer =
    "it stops the whole thread; await a net::steady_timer, and in a test the event itself";
constexpr std::string_view own_random =
    "chance comes from base/random.hpp with a seed, so that a history can be repeated";
constexpr std::string_view fed_time = "pure rooms are fed `now` in every input";
constexpr std::string_view parse = "use std::from_chars: it reports errors and knows no locale";
constexpr std::string_view output = "only app writes to the terminal; return text or log via obs";
constexpr std::string_view leave = "only app ends the process; return an error";

constexpr std::array rules{
    banned{"sleep_for", true, place::anywhere, timer},
    banned{"sleep_until", true, place::anywhere, timer},
    banned{"usleep", true, place::anywhere, timer},
    banned{"nanosleep", true, place::anywhere, timer},
    banned{
        "asio::detached",
        false,
        place::src,
        "it swallows exceptions; pass a completion handler that handles or rethrows"
    },
    banned{"system_clock", false, place::pure, fed_time},
    banned{"steady_clock", false, place::pure, fed_time},
    banned{"high_resolution_clock", false, place::pure, fed_time},
    banned{"clock_gettime", true, place::pure, fed_time},
    banned{"random_device", false, place::pure, own_random},
    banned{"rand", true, place::anywhere, own_random},
    banned{"srand", true, place::anywhere, own_random},
    banned{"mt19937", false, place::anywhere, own_random},
    banned{"mt19937_64", false, place::anywhere, own_random},
    banned{"minstd_rand", false, place::anywhere, own_random},
    banned{"default_random_engine", false, place::anywhere, own_random},
    banned{
        "getenv",
        true,
        place::src_outside_app,
        "the environment is read by app alone and arrives as configuration"
    },
    banned{"setenv", true, place::src_outside_app, "nobody changes the environment of the process"},
    banned{"std::cout", false, place::src_outside_app, output},
    banned{"std::cerr", false, place::src_outside_app, output},
    banned{"std::clog", false, place::src_outside_app, output},
    banned{"printf", true, place::src_outside_app, output},
    banned{"puts", true, place::src_outside_app, output},
    banned{"std::exit", true, place::src_outside_app, leave},
    banned{"std::quick_exit", true, place::src_outside_app, leave},
    banned{"assert", true, place::src, "use SLUICE_ASSERT (base/assert.hpp): it stays on"},
    banned{"atoi", true, place::src, parse},
    banned{"atol", true, place::src, parse},
    banned{"atof", true, place::src, parse},
    banned{"stoi", true, place::src, parse},
    banned{"stol", true, place::src, parse},
    banned{"stoll", true, place::src, parse},
    banned{"stoul", true, place::src, parse},
    banned{"stoull", true, place::src, parse},
    banned{"stod", true, place::src, parse},
    banned{"strtol", true, place::src, parse},
    banned{"strtoll", true, place::src, parse},
    banned{"strtoul", true, place::src, parse},
    banned{"strtoull", true, place::src, parse},
    banned{"strtod", true, place::src, parse},
    banned{"sscanf", true, place::src, parse},
    banned{"sprintf", true, place::anywhere, "unbounded; use fmt or std::to_chars"},
    banned{"strcpy", true, place::anywhere, "unbounded; use std::string"},
    banned{"strcat", true, place::anywhere, "unbounded; use std::string"},
    banned{"std::regex", false, place::src, "slow and recursive on hostile input; parse by hand"},
    banned{"std::async", true, place::src, "post to a context of net::io_pool"},
    banned{"std::thread", false, place::src_outside_net, "threads belong to net::io_pool"},
    banned{"std::jthread", false, place::src_outside_net, "threads belong to net::io_pool"},
};

bool is_pure(std::string_view path) {
    return path.starts_with("src/base/") || path.starts_with("src/core/") ||
           path.starts_with("src/sim/") || folder_of(path) == "src/coord";
}

bool applies(place where, std::string_view path) {
    const bool src = path.starts_with("src/");
    switch (where) {
        case place::anywhere:
            return true;
        case place::src:
            return src;
        case place::src_outside_app:
            return src && !path.starts_with("src/app/");
        case place::src_outside_net:
            // The log's writer has a thread of its own, so that a slow disk stops nobody; the lab
            // brings its own peers.
            return src && !path.starts_with("src/net/") && !path.starts_with("src/obs/") &&
                   !path.starts_with("src/lab/");
        case place::pure:
            return is_pure(path);
    }
    return false;
}

/// A word that ends in _distribution, as those of <random> do.
bool names_distribution(std::string_view line) {
    constexpr std::string_view ending = "_distribution";
    const std::size_t at = line.find(ending);
    if (at == std::string_view::npos) {
        return false;
    }
    std::size_t begin = at;
    while (begin > 0 && is_identifier_char(line[begin - 1])) {
        --begin;
    }
    return begin >= 5 && line.substr(begin - 5, 5) == "std::";
}

/// From just behind a '?': whether a co_await comes before the conditional expression ends.
bool awaits_inside(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '(' || c == '[' || c == '{') {
            ++depth;
        } else if (c == ')' || c == ']' || c == '}') {
            --depth;
        }
        if (depth < 0 || c == ';' || (c == ',' && depth == 0)) {
            return false;
        }
        if (text.substr(i).starts_with("co_await") && find_word(text.substr(i), "co_await") == 0 &&
            (i == 0 || !is_identifier_char(text[i - 1]))) {
            return true;
        }
    }
    return false;
}

}  // namespace

void check_calls(const source_map& sources, report& out) {
    for (const auto& [path, text] : sources) {
        for (std::size_t i = 0; i < text.code.size(); ++i) {
            const std::string& line = text.code[i];
            for (const banned& rule : rules) {
                const std::size_t at =
                    rule.call ? find_call(line, rule.name) : find_word(line, rule.name);
                if (at != std::string::npos && applies(rule.where, path) &&
                    !line.substr(at + rule.name.size()).starts_with("::hardware_concurrency")) {
                    out.add(
                        path,
                        i + 1,
                        "call",
                        std::string(rule.name) + ": " + std::string(rule.instead)
                    );
                }
            }
            if (names_distribution(line)) {
                out.add(
                    path,
                    i + 1,
                    "call",
                    "std distributions differ between libraries; " + std::string(own_random)
                );
            }
        }
    }
}

void check_ternaries(const source_map& sources, report& out) {
    for (const auto& [path, text] : sources) {
        // The shapes that once broke a compiler are kept there on purpose.
        if (path.starts_with("tests/toolchain/")) {
            continue;
        }
        std::string all;
        for (const std::string& line : text.code) {
            all += line;
            all += '\n';
        }
        std::size_t number = 1;
        for (std::size_t i = 0; i < all.size(); ++i) {
            number += all[i] == '\n' ? 1 : 0;
            if (all[i] == '?' && awaits_inside(std::string_view(all).substr(i + 1))) {
                out.add(
                    path,
                    number,
                    "ternary",
                    "co_await inside ?: is miscompiled by some compilers; use if"
                );
            }
        }
    }
}

}  // namespace sluice::lint
