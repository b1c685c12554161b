#include "obs/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "base/utf8.hpp"

namespace sluice::obs {
namespace {

using namespace std::chrono_literals;

/// A pipe whose read end is read when the test says so.
class tube {
public:
    tube() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        x_out = ends[0];
        x_in = ends[1];
    }
    ~tube() {
        close_in();
        close_out();
    }
    tube(const tube&) = delete;
    tube& operator=(const tube&) = delete;

    int in() const { return x_in; }
    void shrink() const { EXPECT_GE(::fcntl(x_in, F_SETPIPE_SZ, 4096), 4096); }
    void close_in() {
        if (x_in >= 0) {
            ::close(std::exchange(x_in, -1));
        }
    }
    void close_out() {
        if (x_out >= 0) {
            ::close(std::exchange(x_out, -1));
        }
    }
    /// Everything up to the end of the writer.
    std::string read_all() {
        close_in();
        return read();
    }
    std::string read() const {
        std::string all;
        std::array<char, 4096> piece{};
        for (;;) {
            const ssize_t got = ::read(x_out, piece.data(), piece.size());
            if (got <= 0) {
                return all;
            }
            all.append(piece.data(), static_cast<std::size_t>(got));
        }
    }

private:
    int x_in = -1;
    int x_out = -1;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    EXPECT_EQ(begin, text.size()) << "the last line has its end";
    return lines;
}

/// Whether `line` is a flat JSON object: strings, numbers, true and false.
bool is_flat_object(const std::string& line) {
    std::size_t at = 0;
    const auto take = [&](char c) { return at < line.size() && line[at] == c && ++at > 0; };
    const auto string = [&] {
        if (!take('"')) {
            return false;
        }
        while (at < line.size() && line[at] != '"') {
            const auto byte = static_cast<unsigned char>(line[at]);
            if (byte < 0x20) {
                return false;
            }
            if (line[at] == '\\') {
                const char kind = line[++at];
                if (std::string_view("\"\\/bfnrtu").find(kind) == std::string_view::npos) {
                    return false;
                }
                at += kind == 'u' ? 4 : 0;
            }
            ++at;
        }
        return take('"');
    };
    const auto value = [&] {
        if (at < line.size() && line[at] == '"') {
            return string();
        }
        const std::size_t end = line.find_first_of(",}", at);
        const std::string word = line.substr(at, end - at);
        at = end;
        return word == "true" || word == "false" ||
               (!word.empty() && word.find_first_not_of("-.0123456789") == word.npos);
    };
    if (!is_utf8(line) || !take('{')) {
        return false;
    }
    do {
        if (!string() || !take(':') || !value()) {
            return false;
        }
    } while (take(','));
    return take('}') && at == line.size();
}

TEST(log, b40_every_line_is_json_whatever_the_bytes) {
    tube sink;
    std::vector<std::string> hostile{
        "\xff\xc3",
        "\"\\\n\r\t\b\x01\x1f\x7f",
        std::string("a\0b", 3),
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xe2\x80\xa8 \xc2\x85",
        "plain",
        "",
        "\xe6\x97\xa5\xe6\x9c\xac",
        "\xc0\x80",
        "cut \xe6\x97",
        "}{\",:"
    };
    for (int byte = 0; byte < 256; ++byte) {
        hostile.emplace_back(1, static_cast<char>(byte));
    }
    {
        logger log({.descriptor = sink.in()});
        for (const std::string& text : hostile) {
            log.write(log_line(level::info, text).text("value", text).number("n", -7).real("r", 0.5)
            );
        }
        log.write(log_line(level::warn, "numbers")
                      .real("big", 1e300)
                      .real("none", std::numeric_limits<double>::quiet_NaN())
                      .flag("yes", true));
    }
    const auto lines = lines_of(sink.read_all());
    ASSERT_EQ(lines.size(), hostile.size() + 1);
    for (const std::string& line : lines) {
        EXPECT_TRUE(is_flat_object(line)) << line;
    }
    EXPECT_NE(
        lines[6].find("\"msg\":\"plain\",\"value\":\"plain\",\"n\":-7,\"r\":0.500}"),
        std::string::npos
    ) << lines[6];
    EXPECT_NE(lines[0].find("\"msg\":\"\xEF\xBF\xBD\xEF\xBF\xBD\""), std::string::npos) << lines[0];
    EXPECT_NE(lines[8].find("\xe6\x97\xa5\xe6\x9c\xac"), std::string::npos) << "good UTF-8 stays";
}

TEST(log, the_validator_of_this_test_can_say_no) {
    EXPECT_TRUE(is_flat_object(R"({"a":"b","c":1})"));
    EXPECT_FALSE(is_flat_object("{\"a\":\"\xff\"}"));
    EXPECT_FALSE(is_flat_object("{\"a\":\"\n\"}"));
    EXPECT_FALSE(is_flat_object(R"({"a":nan})"));
    EXPECT_FALSE(is_flat_object(R"({"a":"b"}})"));
}

TEST(log, text_lines_keep_hostile_bytes_in_one_line) {
    tube sink;
    {
        logger log({.format = log_format::text, .descriptor = sink.in()});
        log.write(log_line(level::warn, "one\ntwo\x1b[31m").text("k", "\r"));
    }
    const auto lines = lines_of(sink.read_all());
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(
        lines[0].find("warn \"msg\":\"one\\ntwo\\u001b[31m\",\"k\":\"\\r\""), std::string::npos
    ) << lines[0];
}

TEST(log, lines_below_the_level_are_not_written) {
    tube sink;
    {
        logger log({.least = level::warn, .descriptor = sink.in()});
        EXPECT_FALSE(log.wants(level::info));
        log.write(log_line(level::info, "no"));
        log.write(log_line(level::error, "yes"));
    }
    EXPECT_EQ(lines_of(sink.read_all()).size(), 1u);
}

TEST(log, b37_a_blocked_sink_costs_lines_and_no_time) {
    tube sink;
    sink.shrink();
    constexpr int count = 20'000;
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t dropped = 0;
    {
        logger log({.descriptor = sink.in(), .buffer_bytes = 64 * 1024, .farewell = 100ms});
        for (int i = 0; i < count; ++i) {
            log.write(log_line(level::info, "nobody reads this").number("i", i));
        }
        dropped = log.dropped();
        EXPECT_FALSE(log.flush(1ms));
    }
    // Nobody ever read: had one write waited for the sink, this line would not be reached.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    EXPECT_GT(dropped, 0u);
    EXPECT_LT(dropped, static_cast<std::uint64_t>(count));
    EXPECT_GT(sink.read_all().size(), 0u);
}

TEST(log, a_sink_that_recovers_gets_whole_lines) {
    tube sink;
    sink.shrink();
    constexpr std::size_t count = 3000;
    std::string got;
    std::jthread reader;
    std::uint64_t dropped = 0;
    {
        logger log({.descriptor = sink.in(), .buffer_bytes = 16 * 1024, .farewell = 10s});
        for (std::size_t i = 0; i < count; ++i) {
            log.write(log_line(level::info, "line").number("i", static_cast<std::int64_t>(i)));
        }
        dropped = log.dropped();
        reader = std::jthread([&] { got = sink.read(); });
        EXPECT_TRUE(log.flush(10s));
    }
    sink.close_in();
    reader.join();
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(lines_of(got).size() + dropped, count) << "written or counted";
}

TEST(log, b40_a_sink_without_a_reader_does_not_end_the_process) {
    tube sink;
    sink.close_out();
    logger log({.descriptor = sink.in()});
    log.write(log_line(level::info, "nobody is there"));
    EXPECT_TRUE(log.flush(10s));
    EXPECT_EQ(log.dropped(), 1u);
}

TEST(log, threads_do_not_mix_their_lines) {
    tube sink;
    constexpr int each = 100;
    {
        logger log({.descriptor = sink.in()});
        std::vector<std::jthread> writers;
        for (int t = 0; t < 4; ++t) {
            writers.emplace_back([&log, t] {
                for (int i = 0; i < each; ++i) {
                    log.write(log_line(level::info, "m").number("t", t).number("i", i));
                }
            });
        }
    }
    const auto lines = lines_of(sink.read_all());
    ASSERT_EQ(lines.size(), 4u * each);
    std::array<int, 4> next{};
    for (const std::string& line : lines) {
        ASSERT_TRUE(is_flat_object(line)) << line;
        const auto t = static_cast<std::size_t>(line[line.find("\"t\":") + 4] - '0');
        EXPECT_NE(line.find("\"i\":" + std::to_string(next[t]++) + "}"), std::string::npos) << line;
    }
}

}  // namespace
}  // namespace sluice::obs
