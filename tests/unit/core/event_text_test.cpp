// The recording format: what is written can be read again, and what is broken is named.
#include <gtest/gtest.h>

#include <string>

#include "core/event_text.hpp"
#include "unit/core/world.hpp"

namespace sluice::core {

namespace {

std::string why_unreadable(std::string_view line) {
    const auto parsed = parse_line(line);
    if (parsed) {
        return "";
    }
    EXPECT_EQ(parsed.error().code, errc::corrupt_input);
    return parsed.error().message;
}

/// The line as this build would write what it read.
std::string rewritten(std::string_view line) {
    const auto parsed = parse_line(line);
    return parsed ? to_line(parsed->now, parsed->what) : parsed.error().message;
}

TEST(event_text, names_survive_with_any_bytes) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += static_cast<char>(byte);
    }
    const std::string text = escape_name(all);
    for (const char c : text) {
        EXPECT_TRUE(c > ' ' && c < '\x7f');
    }
    EXPECT_EQ(unescape_name(text), all);
    EXPECT_EQ(escape_name("a b%c=d,e:f/g"), "a%20b%25c%3Dd%2Ce%3Af%2Fg");
    EXPECT_EQ(unescape_name("%c3%bc"), "\xc3\xbc");
}

TEST(event_text, broken_escapes_are_refused) {
    for (const char* broken : {"%", "%4", "a%", "%g0", "%0g", "x%2"}) {
        const auto raw = unescape_name(broken);
        ASSERT_FALSE(raw.has_value()) << broken;
        EXPECT_EQ(raw.error().code, errc::corrupt_input);
    }
}

TEST(event_text, every_kind_of_line_is_its_own_canonical_form) {
    for (const char* line :
         {"0 tick",
          "-5 tick",
          "10 join w1 epoch=1 slots=4 kv=1000 reports=1 max_token=9",
          "10 join w%201 epoch=2 kv=unknown",
          "10 join % kv=5",
          "11 report w1 epoch=1 number=7 age=5 running=1 waiting=2 kv=1000 used=10 "
          "headroom=900,890,880,870,860,850,840 max_token=5 listed=4,5",
          "12 probe w1 epoch=1",
          "12 drain w1 epoch=1",
          "12 lost w1 epoch=1",
          "13 submit 1/2",
          "13 submit 1/2 class=high tenant=a%20b prompt=10 peak=30 predicted=20 wait=5 body=3 "
          "hints=w1:128,w2:64",
          "13 submit 18446744073709551615/18446744073709551615 class=low",
          "14 cancel 1/2",
          "15 renew 1/2 token=3 ttl=7",
          "16 release 1/2 token=3 outcome=hung prompt=10 output=20",
          "16 release 1/2 token=3 r.worker=w1 r.epoch=1 r.number=8 r.listed=3",
          "16 release 1/2 token=3 r.worker=%",
          "17 requeue 1/2 token=3 why=failed r.worker=w1 r.headroom=1,1,1,1,1,1,0",
          "18 adopt 1/2 class=low peak=4 worker=w1 epoch=1 slot=2 token=3 key=7 ttl=9",
          "19 gone 4"}) {
        EXPECT_EQ(rewritten(line), line);
    }
}

TEST(event_text, defaults_and_one_figure_for_every_row_may_be_written_out) {
    EXPECT_EQ(rewritten("1 submit 1/2 class=normal wait=30000000 body=0"), "1 submit 1/2");
    EXPECT_EQ(rewritten("1  renew   1/2 ttl=30000000"), "1 renew 1/2");
    EXPECT_EQ(rewritten("1 report w headroom=5"), "1 report w headroom=5,5,5,5,5,5,5");
    EXPECT_EQ(rewritten("1 join w slots=1 reports=0 kv=unknown"), "1 join w kv=unknown");
}

TEST(event_text, what_cannot_be_read_is_named) {
    EXPECT_NE(why_unreadable("").find("time"), std::string::npos);
    EXPECT_NE(why_unreadable("soon tick").find("time"), std::string::npos);
    EXPECT_NE(why_unreadable("1").find("input"), std::string::npos);
    EXPECT_NE(why_unreadable("1 dance").find("input"), std::string::npos);
    EXPECT_NE(why_unreadable("1 tick tock").find("tock"), std::string::npos);
    EXPECT_NE(why_unreadable("1 tick a=b").find("'a'"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join").find("worker"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join w slots=4294967296").find("slots"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join w slots=-1").find("slots"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join w kv=much").find("kv"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join w reports=2").find("reports"), std::string::npos);
    EXPECT_NE(why_unreadable("1 join w epoch=1 epoch=1").find("twice"), std::string::npos);
    EXPECT_NE(why_unreadable("1 submit 1").find("ticket"), std::string::npos);
    EXPECT_NE(why_unreadable("1 submit 1/2/3").find("ticket"), std::string::npos);
    EXPECT_NE(why_unreadable("1 submit 1/2 class=urgent").find("class"), std::string::npos);
    EXPECT_NE(why_unreadable("1 submit 1/2 hints=w1").find("hints"), std::string::npos);
    EXPECT_NE(why_unreadable("1 submit 1/2 tenant=%zz").find("tenant"), std::string::npos);
    EXPECT_NE(why_unreadable("1 report w headroom=1,2").find("headroom"), std::string::npos);
    EXPECT_NE(why_unreadable("1 report w listed=1,x").find("listed"), std::string::npos);
    EXPECT_NE(why_unreadable("1 release 1/2 outcome=great").find("outcome"), std::string::npos);
    EXPECT_NE(why_unreadable("1 gone away").find("session"), std::string::npos);
}

TEST(event_text, lines_of_random_histories_are_read_as_they_were_written) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        random_source random(seed);
        const auto options = reference::draw_options(random);
        reference::world around(options, random.next());
        scheduler subject(options.config);
        instant wakeup = never;
        for (int event = 0; event < 500; ++event) {
            const auto& next = around.next(wakeup);
            const std::string line = to_line(next.now, next.what);
            ASSERT_EQ(rewritten(line), line) << "seed " << seed;
            std::vector<decision> decided;
            wakeup = subject.step(next.now, next.what, decided);
            around.observe(decided);
        }
    }
}

/// Bytes that no writer made must neither crash nor be taken for something else.
TEST(event_text, damaged_lines_are_refused_or_read_as_something_whole) {
    const std::string good =
        "16 release 1/2 token=3 outcome=ok prompt=10 output=20 r.worker=w1 r.number=8 r.listed=3";
    random_source random(7);
    for (int round = 0; round < 20'000; ++round) {
        std::string line = good;
        for (std::uint64_t changes = random.below(4) + 1; changes > 0; --changes) {
            const std::size_t at = random.below(line.size());
            switch (random.below(3)) {
                case 0:
                    line[at] = static_cast<char>(random.below(256));
                    break;
                case 1:
                    line.erase(at, 1);
                    break;
                default:
                    line.insert(at, 1, " =/,.%1"[random.below(7)]);
            }
        }
        const auto parsed = parse_line(line);
        if (parsed) {
            const std::string again = to_line(parsed->now, parsed->what);
            ASSERT_EQ(rewritten(again), again) << line;
        }
    }
}

}  // namespace

}  // namespace sluice::core
