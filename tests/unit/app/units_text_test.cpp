#include "app/units_text.hpp"

#include <gtest/gtest.h>

#include "app/text_table.hpp"

namespace sluice::app {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(units_text, durations) {
    EXPECT_EQ(parse_duration("30s"), seconds(30));
    EXPECT_EQ(parse_duration("250ms"), milliseconds(250));
    EXPECT_EQ(parse_duration("7us"), duration(7));
    EXPECT_EQ(parse_duration("2m"), seconds(120));
    EXPECT_EQ(parse_duration("1.5s"), milliseconds(1500));
    EXPECT_EQ(parse_duration("1m30s"), seconds(90));
    EXPECT_EQ(parse_duration("1d"), hours(24));
    EXPECT_EQ(parse_duration("0"), duration::zero());
    for (const char* bad :
         {"",
          "30",
          "s",
          "-1s",
          "+1s",
          "1 s",
          "soon",
          "1s1",
          "1.s",
          ".5s",
          "1e3s",
          "999999999999999999999s",
          "1S",
          "1s ",
          "none",
          "nan",
          "infs"}) {
        EXPECT_FALSE(parse_duration(bad)) << bad;
    }
}

TEST(units_text, sizes) {
    EXPECT_EQ(parse_bytes("64KiB"), bytes(65'536));
    EXPECT_EQ(parse_bytes("32MiB"), bytes(32 * 1024 * 1024));
    EXPECT_EQ(parse_bytes("1GB"), bytes(1'000'000'000));
    EXPECT_EQ(parse_bytes("1.5kib"), bytes(1536));
    EXPECT_EQ(parse_bytes("17"), bytes(17));
    EXPECT_EQ(parse_bytes("17B"), bytes(17));
    for (const char* bad : {"", "KiB", "-1", "1 KiB", "1XB", "1KiBs", "99999999TiB"}) {
        EXPECT_FALSE(parse_bytes(bad)) << bad;
    }
}

TEST(units_text, what_is_printed_reads_back) {
    for (const std::int64_t n :
         {0LL,
          1LL,
          999LL,
          1000LL,
          1500LL,
          1'000'000LL,
          60'000'000LL,
          90'000'000LL,
          120'000'000LL,
          3'600'000'000LL,
          86'400'000'000LL,
          86'400'000'001LL}) {
        EXPECT_EQ(parse_duration(format_duration(duration(n))), duration(n));
    }
    EXPECT_EQ(format_duration(seconds(60)), "60s");
    EXPECT_EQ(format_duration(seconds(120)), "2m");
    EXPECT_EQ(format_duration(milliseconds(250)), "250ms");
    for (const std::int64_t n : {0LL, 1LL, 1000LL, 1024LL, 65'536LL, 33'554'432LL, 1LL << 40}) {
        EXPECT_EQ(parse_bytes(format_bytes(bytes(n))), bytes(n));
    }
    EXPECT_EQ(format_bytes(bytes(33'554'432)), "32MiB");
}

TEST(units_text, foreign_text_is_made_printable) {
    EXPECT_EQ(printable("日本"), "日本");
    EXPECT_EQ(printable("a\nb\x1b[0m\xff"), "a\\x0ab\\x1b[0m\\xff");
    EXPECT_EQ(printable("\xe6\x97"), "\\xe6\\x97");
    EXPECT_LT(printable(std::string(1'000'000, 'x')).size(), 100);
}

TEST(text_table, columns_line_up) {
    text_table table({"A", "LONGER", "C"});
    table.add({"日本日本", "1", "x"});
    EXPECT_EQ(table.text(), "A     LONGER  C\n日本日本  1       x\n");
}

}  // namespace
}  // namespace sluice::app
