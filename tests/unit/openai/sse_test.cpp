#include "openai/sse.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/random.hpp"
#include "unit/openai/bodies.hpp"

namespace sluice::openai {
namespace {

struct seen_event {
    std::string name;
    std::string data;
    friend bool operator==(const seen_event&, const seen_event&) = default;
};

void PrintTo(const seen_event& event, std::ostream* out) {
    *out << '(' << event.name << "|" << event.data << ')';
}

struct listener {
    sse_reader reader;
    std::vector<seen_event> events;

    explicit listener(std::size_t limit = sse_reader::default_limit) : reader(limit) {}
    void feed(std::string_view bytes) {
        const exact_copy read(bytes);  // every read dies before the next
        reader.feed(read.view(), [&](const sse_event& event) {
            events.push_back({std::string(event.name), std::string(event.data)});
        });
    }
};

std::vector<seen_event> read_whole(std::string_view stream) {
    listener one;
    one.feed(stream);
    return one.events;
}

std::string with_line_ends(std::string_view stream, std::string_view end) {
    std::string out;
    for (const char c : stream) {
        c == '\n' ? out.append(end) : out.append(1, c);
    }
    return out;
}

using events = std::vector<seen_event>;

TEST(sse, joins_data_lines_and_ignores_the_rest) {
    EXPECT_EQ(read_whole("data: a\n\ndata:b\n\n"), (events{{"", "a"}, {"", "b"}}));
    EXPECT_EQ(read_whole("data: a\ndata: b\ndata:\n\n"), (events{{"", "a\nb\n"}}));
    EXPECT_EQ(
        read_whole(": comment\nevent: x\nid: 5\nretry: 9\ndata: a\n\n"), (events{{"x", "a"}})
    );
    EXPECT_EQ(read_whole("data:  two\n\n"), (events{{"", " two"}}));
    EXPECT_EQ(read_whole("\n\n: only\n\nevent: x\n\ndata\n\ndata: a\n\n"), (events{{"", "a"}}));
    EXPECT_EQ(read_whole("datas: a\nda: b\n\n"), events{});
    EXPECT_EQ(
        read_whole("\xEF\xBB\xBF"
                   "data: a\n\n"),
        (events{{"", "a"}})
    );
    EXPECT_EQ(read_whole("data: \u2028\u0085\v\f\n\n"), (events{{"", "\u2028\u0085\v\f"}}));
    EXPECT_EQ(read_whole("data: a\rdata: b\r\ndata: c\n\r\n"), (events{{"", "a\nb\nc"}}));
    EXPECT_EQ(read_whole("data: a\n"), events{});
}

TEST(sse, B15_every_two_way_split_and_byte_by_byte) {
    const std::string plain =
        "\xEF\xBB\xBF: hello\n\nevent: x\ndata: 日本✅\nid: 1\n\ndata:\u2028\u0085\n\n\n"
        "data: one\ndata: two\ndata:\n\n: ping\n\nevent: y\ndata: [DONE]\n\n";
    const events expected = read_whole(plain);
    ASSERT_EQ(expected.size(), 4U);
    for (const char* end : {"\n", "\r\n", "\r"}) {
        const std::string stream = with_line_ends(plain, end);
        EXPECT_EQ(read_whole(stream), expected);
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            listener two;
            two.feed(std::string_view(stream).substr(0, cut));
            two.feed(std::string_view(stream).substr(cut));
            ASSERT_EQ(two.events, expected) << "cut at " << cut;
        }
        listener single;
        for (const char c : stream) {
            single.feed({&c, 1});
        }
        EXPECT_EQ(single.events, expected);
        EXPECT_FALSE(single.reader.inside_event());
    }
}

TEST(sse, random_streams_read_the_same_in_any_cut) {
    random_source random(15);
    const std::vector<std::string> bits{
        "data:",
        "data: ",
        "data",
        "event: e",
        ":",
        " ",
        "x",
        "日",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\r\r",
        "\r\n\r\n",
        std::string(30, 'l'),
        "id",
        "\xEF\xBB\xBF",
        std::string(1, '\0'),
        "\xff",
    };
    for (int round = 0; round < 20000; ++round) {
        std::string stream;
        for (std::uint64_t i = random.below(40); i > 0; --i) {
            stream += bits[random.below(bits.size())];
        }
        const std::size_t limit = random.chance(1, 2) ? 20 : 1000;
        listener whole(limit);
        whole.feed(stream);
        listener cut(limit);
        for (std::string_view rest = stream; !rest.empty();) {
            const std::size_t size = 1 + random.below(std::min<std::size_t>(rest.size(), 9));
            cut.feed(rest.substr(0, size));
            ASSERT_LE(cut.reader.buffered(), 2 * limit + 100);
            rest.remove_prefix(size);
        }
        ASSERT_EQ(cut.events, whole.events) << stream;
        ASSERT_EQ(cut.reader.overflows(), whole.reader.overflows()) << stream;
        ASSERT_EQ(cut.reader.inside_event(), whole.reader.inside_event()) << stream;
        ASSERT_EQ(cut.reader.unfinished_data(), whole.reader.unfinished_data()) << stream;
    }
}

TEST(sse, an_event_inside_one_read_is_not_copied) {
    const std::string stream = "event: x\ndata: {\"a\":1}\n\n";
    sse_reader reader;
    int count = 0;
    reader.feed(stream, [&](const sse_event& event) {
        ++count;
        EXPECT_EQ(event.data.data(), stream.data() + 15);
    });
    EXPECT_EQ(count, 1);
    EXPECT_EQ(reader.buffered(), 0U);
}

TEST(sse, says_where_events_lie) {
    const std::string stream = "data: a\n\n: c\ndata: b\r\n\r\ndata: c\n\n";
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
        sse_reader reader;
        const auto add = [&](const sse_event& event) {
            ranges.emplace_back(event.begin, event.end);
        };
        reader.feed(std::string_view(stream).substr(0, cut), add);
        reader.feed(std::string_view(stream).substr(cut), add);
        ASSERT_EQ(ranges.size(), 3U);
        EXPECT_EQ(ranges[0], std::make_pair(std::uint64_t{0}, std::uint64_t{9}));
        EXPECT_EQ(
            ranges[1], std::make_pair(std::uint64_t{9}, std::uint64_t{23})
        );  // its \n follows
        EXPECT_EQ(ranges[2], std::make_pair(std::uint64_t{23}, std::uint64_t{stream.size()}));
    }
}

TEST(sse, skips_what_is_too_large_and_stays_small) {
    listener one(100);
    for (int i = 0; i < 1000; ++i) {
        one.feed(i == 0 ? "data: x" : std::string(1000, 'x'));
        ASSERT_LE(one.reader.buffered(), 250U);
    }
    EXPECT_TRUE(one.reader.inside_event());
    one.feed("\n\ndata: next\n\n");
    EXPECT_EQ(one.events, (events{{"", "next"}}));
    EXPECT_EQ(one.reader.overflows(), 1U);
    for (int i = 0; i < 50; ++i) {
        one.feed("data: three\n");
    }
    one.feed("\ndata: last\n\n");
    EXPECT_EQ(one.reader.overflows(), 2U);
    EXPECT_EQ(one.events.back().data, "last");
    one.feed("data: " + std::string(99, 'y') + "\n\ndata: " + std::string(100, 'y') + "\n\n");
    EXPECT_EQ(one.events.back().data.size(), 99U);
    EXPECT_EQ(one.reader.overflows(), 3U);
}

TEST(sse, hands_out_the_rest_at_the_end) {
    const auto rest = [](std::string_view first, std::string_view second) {
        sse_reader reader;
        reader.feed(first, [](const sse_event&) {});
        reader.feed(second, [](const sse_event&) {});
        return std::string(reader.unfinished_data());
    };
    EXPECT_EQ(rest("data: a\n\ndata: [DO", "NE]"), "[DONE]");
    EXPECT_EQ(rest("data: [DONE]", "\n"), "[DONE]");
    EXPECT_EQ(rest("data: [DONE]\n", ""), "[DONE]");
    EXPECT_EQ(rest("data: a\ndata: b", ""), "a\nb");
    EXPECT_EQ(rest("data: a\n\n", ": c"), "");
}

}  // namespace
}  // namespace sluice::openai
