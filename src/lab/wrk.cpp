#include "lab/wrk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <regex>

namespace sluice::lab {

namespace {

/// The number that `text` begins with; zero when there is none.
double number(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// "1.23ms", "456.00us", "2.00s" → milliseconds.
double wrk_time(const std::string& text) {
    const double value = number(text);
    if (text.ends_with("us")) {
        return value / 1000;
    }
    return text.ends_with("ms") ? value : value * 1000;
}

struct measured {
    double rps = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double cpu_us = 0;
    long errors = 0;
};

std::optional<std::string> match(const std::string& text, const char* pattern) {
    std::smatch found;
    // lint-allow(call): the text is wrk's own report, a page long
    return std::regex_search(text, found, std::regex(pattern))
               ? std::optional<std::string>(found[1])
               : std::nullopt;
}

long errors_in(const std::string& said) {
    long errors = 0;
    if (const auto refused = match(said, R"(Non-2xx or 3xx responses:\s+(\d+))")) {
        errors += static_cast<long>(number(*refused));
    }
    for (const char* kind : {"connect", "read", "write", "timeout"}) {
        const std::string pattern = std::string(kind) + R"( (\d+))";
        errors += static_cast<long>(number(match(said, pattern.c_str()).value_or("0")));
    }
    return errors;
}

result<measured> measure(const scratch& folder, const peer& with, const wrk_run& what) {
    const std::string url = fmt::format(
        "http://127.0.0.1:{}/v1/chat/completions",
        what.unbuffered ? with.unbuffered_port : with.port
    );
    const auto cpu_before =
        with.process != nullptr ? with.process->cpu_time() : std::chrono::microseconds(0);
    auto wrk = child::start(
        {"wrk",
         "-t1",
         fmt::format("-c{}", what.connections),
         fmt::format("-d{}s", what.seconds),
         "--latency",
         "-s",
         what.script,
         url},
        (folder.path / "wrk.out").string()
    );
    if (!wrk) {
        return std::unexpected(wrk.error());
    }
    if (const int code = wrk->wait(); code != 0) {
        return fail(errc::system_error, fmt::format("wrk against {} ended with {}", url, code));
    }
    const std::string said = folder.read("wrk.out");
    const auto rps = match(said, R"(Requests/sec:\s+([\d.]+))");
    const auto total = match(said, R"((\d+) requests in)");
    const auto p50 = match(said, R"(50%\s+([\d.]+[a-z]+))");
    const auto p99 = match(said, R"(99%\s+([\d.]+[a-z]+))");
    if (!rps || !total || !p50 || !p99) {
        return fail(errc::protocol_error, "wrk said something unexpected: " + said);
    }
    measured made{number(*rps), wrk_time(*p50), wrk_time(*p99)};
    if (with.process != nullptr && number(*total) > 0) {
        const auto used = with.process->cpu_time() - cpu_before;
        made.cpu_us = static_cast<double>(used.count()) / number(*total);
    }
    made.errors = errors_in(said);
    return made;
}

gateway_bench_row summary(std::vector<measured> rounds) {
    gateway_bench_row row;
    for (const measured& one : rounds) {
        row.errors += one.errors;
    }
    std::ranges::sort(rounds, {}, &measured::p50_ms);
    row.p50_ms = rounds[rounds.size() / 2].p50_ms;
    row.p50_low = rounds.front().p50_ms;
    row.p50_high = rounds.back().p50_ms;
    std::ranges::sort(rounds, {}, &measured::rps);
    const measured& middle = rounds[rounds.size() / 2];
    row.rps = middle.rps;
    row.rps_low = rounds.front().rps;
    row.rps_high = rounds.back().rps;
    row.p99_ms = middle.p99_ms;
    row.cpu_us_per_request = middle.cpu_us;
    return row;
}

}  // namespace

std::string wrk_script(
    const scratch& folder, const std::string& name, std::size_t prompt_bytes, bool stream
) {
    static constexpr std::string_view words =
        "the slow brown cat looks over a lazy dog and sleeps ";
    std::string body = R"({"model":"m","max_tokens":50,)";
    body += stream ? R"("stream":true,)" : "";
    body += R"("messages":[{"role":"user","content":")";
    const std::size_t prompt_at = body.size();
    while (body.size() < prompt_at + prompt_bytes) {
        body += words.substr(0, prompt_at + prompt_bytes - body.size());
    }
    body += R"("}]})";
    return folder.write(
        name + ".lua",
        "wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\nwrk.body = '" +
            body + "'\n"
    );
}

result<std::vector<gateway_bench_row>> take_turns(
    const scratch& folder, const std::vector<const peer*>& peers, const wrk_run& what
) {
    std::map<std::string, std::vector<measured>> rounds;
    for (int round = 0; round < what.rounds; ++round) {
        for (const peer* one : peers) {
            auto made = measure(folder, *one, what);
            if (!made) {
                return std::unexpected(made.error());
            }
            rounds[one->name].push_back(*made);
        }
    }
    std::vector<gateway_bench_row> rows;
    for (const peer* one : peers) {
        rows.push_back(summary(rounds[one->name]));
        rows.back().peer = one->name;
        rows.back().path = what.path;
        rows.back().connections = what.connections;
    }
    return rows;
}

}  // namespace sluice::lab
