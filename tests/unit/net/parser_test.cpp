#include "net/http_parser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace sluice::net {
namespace {

constexpr std::size_t limit = 4096;

struct verdict {
    parse_step step;
    int status = 0;
};

verdict judge(const std::string& text) {
    request_parser parser;
    request_head head;
    parser.begin(head, limit);
    const parse_step step = parser.parse_head(text);
    return {step, step == parse_step::failed ? parser.fault().status : 0};
}

const std::string request =
    "POST /v1/x?y=%ff HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-One:  two words \r\n"
    "Connection: keep-alive\r\n\r\n";

TEST(request_parser, reads_a_head_into_views) {
    request_parser parser;
    request_head head;
    parser.begin(head, limit);
    ASSERT_EQ(parser.parse_head(request + "hello"), parse_step::done);
    EXPECT_EQ(parser.head_size(), request.size());
}

TEST(request_parser, follows_a_buffer_that_moves_with_every_byte) {
    request_parser parser;
    request_head head;
    parser.begin(head, limit);
    std::string last;
    for (std::size_t size = 1; size <= request.size(); ++size) {
        std::string elsewhere = request.substr(0, size);
        const parse_step step = parser.parse_head(elsewhere);
        ASSERT_EQ(step, size < request.size() ? parse_step::need_more : parse_step::done) << size;
        last.swap(elsewhere);
        if (size == request.size()) {
            EXPECT_EQ(head.method, "POST");
            EXPECT_EQ(head.target, "/v1/x?y=%ff");
            EXPECT_EQ(head.field("x-one"), "two words");
            EXPECT_EQ(head.content_length, 5u);
            EXPECT_TRUE(head.keep_alive);
            EXPECT_FALSE(head.chunked);
        }
    }
}

class malformed : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(malformed, gets_its_status) {
    const auto& [text, status] = GetParam();
    const verdict got = judge(text);
    EXPECT_EQ(got.step, parse_step::failed);
    EXPECT_EQ(got.status, status);
}

INSTANTIATE_TEST_SUITE_P(
    heads,
    malformed,
    ::testing::Values(
        std::tuple("\x16\x03\x01\x02\x01\x01 tls\r\n\r\n", 400),
        std::tuple("GET\r\n\r\n", 400),
        std::tuple("GET /\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\nHost: a\n\n", 400),
        std::tuple("GET / HTTX/1.1\r\nHost: a\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        std::tuple("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        std::tuple("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        std::tuple("GET / HTTP/1.1\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\nX: y\x01z\r\n\r\n", 400),
        std::tuple("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        std::tuple(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400
        ),
        std::tuple(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400
        ),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4\r\n\r\n", 400),
        std::tuple(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            400
        ),
        std::tuple(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
            400
        ),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
        std::tuple("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        std::tuple("POST / HTTP/1.1\r\nHost: a\r\nExpect: the-worst\r\n\r\n", 417)
    )
);

TEST(request_parser, bounds_the_whole_head_not_only_what_is_unparsed) {
    request_parser parser;
    request_head head;
    parser.begin(head, limit);
    std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
    parse_step step = parser.parse_head(text);
    while (step == parse_step::need_more && text.size() < 10 * limit) {
        text += "X-Field: some value\r\n";
        step = parser.parse_head(text);
    }
    EXPECT_EQ(step, parse_step::failed);
    EXPECT_EQ(parser.fault().status, 431);
    EXPECT_LT(text.size(), limit + 100);
}

TEST(request_parser, bounds_the_number_of_fields) {
    std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (std::size_t i = 0; i < max_fields; ++i) {
        text += "a:\r\n";
    }
    const verdict got = judge(text + "\r\n");
    EXPECT_EQ(got.step, parse_step::failed);
    EXPECT_EQ(got.status, 431);
}

TEST(request_parser, accepts_equal_lengths_given_twice) {
    EXPECT_EQ(
        judge("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n").step,
        parse_step::done
    );
}

TEST(request_parser, takes_bytes_above_ascii_in_values) {
    EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nX: \x80\xff\r\n\r\n").step, parse_step::done);
}

const std::string response_head_text =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Report\r\n\r\n";
const std::string chunked_body =
    "5\r\nhello\r\n1;ext=\"a\"\r\n \r\n0010\r\nworld, 0123456789\r\n0\r\nX-Report: done\r\n\r\n";
const std::string plain_body = "hello world, 012345678";

/// Feeds `pieces` as they come; returns body, outcome and trailer.
struct fed {
    std::string body;
    parse_step step = parse_step::need_more;
    std::string trailer;
    std::size_t left = 0;
};

fed feed(const std::vector<std::string>& pieces) {
    response_parser parser;
    response_head head;
    parser.begin(head, limit, false);
    fed out;
    std::string buffer;
    bool in_head = true;
    for (const std::string& piece : pieces) {
        buffer += piece;
        if (in_head) {
            if (parser.parse_head(buffer) != parse_step::done) {
                continue;
            }
            in_head = false;
            buffer.erase(0, parser.head_size());
        }
        const body_step step = parser.parse_body(buffer.data(), buffer.size());
        out.body += step.data;
        out.step = step.step;
        if (step.step == parse_step::done && !parser.trailers().empty()) {
            out.trailer = parser.trailers()[0].value;
        }
        buffer.erase(0, step.consumed);
        if (step.step != parse_step::need_more) {
            break;
        }
    }
    out.left = buffer.size();
    return out;
}

std::string valid_chunked() {
    // "world, 012345678" is 16 bytes: 0x10.
    std::string text = chunked_body;
    return text.replace(text.find("0123456789"), 10, "012345678");
}

TEST(response_parser, gives_the_same_body_for_every_two_way_split) {
    const std::string whole = response_head_text + valid_chunked();
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        const fed got = feed({whole.substr(0, cut), whole.substr(cut)});
        EXPECT_EQ(got.step, parse_step::done) << cut;
        EXPECT_EQ(got.body, plain_body) << cut;
        EXPECT_EQ(got.trailer, "done") << cut;
        EXPECT_EQ(got.left, 0u) << cut;
    }
}

TEST(response_parser, gives_the_same_body_byte_by_byte) {
    std::vector<std::string> pieces;
    for (const char c : response_head_text + valid_chunked()) {
        pieces.emplace_back(1, c);
    }
    const fed got = feed(pieces);
    EXPECT_EQ(got.step, parse_step::done);
    EXPECT_EQ(got.body, plain_body);
    EXPECT_EQ(got.trailer, "done");
}

TEST(response_parser, leaves_what_follows_the_end) {
    const fed got = feed({response_head_text + "0\r\n\r\nHTTP/1.1"});
    EXPECT_EQ(got.step, parse_step::done);
    EXPECT_EQ(got.left, 8u);
}

TEST(response_parser, refuses_bad_framing) {
    for (const char* body :
         {"x\r\n", "-1\r\n", "5\r\nhelloX\r\n", "ffffffffffffffffff\r\n", "5\nhello\n", "\r\n"}) {
        EXPECT_EQ(feed({response_head_text + body + "0\r\n\r\n"}).step, parse_step::failed) << body;
    }
}

TEST(response_parser, knows_a_proper_end_of_input) {
    response_parser parser;
    response_head head;
    parser.begin(head, limit, false);
    std::string text = "HTTP/1.0 200 OK\r\n\r\nabc";
    ASSERT_EQ(parser.parse_head(text), parse_step::done);
    const body_step step =
        parser.parse_body(text.data() + parser.head_size(), text.size() - parser.head_size());
    EXPECT_EQ(step.data, "abc");
    EXPECT_TRUE(parser.end_of_input());

    parser.begin(head, limit, false);
    text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
    ASSERT_EQ(parser.parse_head(text), parse_step::done);
    parser.parse_body(text.data() + parser.head_size(), text.size() - parser.head_size());
    EXPECT_FALSE(parser.end_of_input());
}

}  // namespace
}  // namespace sluice::net
