#include <gtest/gtest.h>

#include "net/client.hpp"

namespace sluice::net {
namespace {

TEST(parse_endpoint, reads_the_usual_forms) {
    const struct {
        const char* url;
        const char* host;
        const char* port;
    } cases[] = {
        {"http://h:9000", "h", "9000"},
        {"http://h:9000/v1/models?x", "h", "9000"},
        {"HTTP://h", "h", "80"},
        {"h:1", "h", "1"},
        {"127.0.0.1:65535", "127.0.0.1", "65535"},
        {"http://[::1]:9000", "::1", "9000"},
        {"[::1]", "::1", "80"},
    };
    for (const auto& one : cases) {
        const auto got = parse_endpoint(one.url);
        ASSERT_TRUE(got) << one.url << ": " << got.error().message;
        EXPECT_EQ(got->host, one.host) << one.url;
        EXPECT_EQ(got->port, one.port) << one.url;
    }
    EXPECT_EQ(parse_endpoint("http://[::1]:9000")->to_string(), "[::1]:9000");
}

TEST(parse_endpoint, refuses_what_it_cannot_reach) {
    for (const char* url :
         {"",
          "http://",
          ":80",
          "h:",
          "h:x",
          "h:70000",
          "h:0",
          "h:-1",
          "::1:80",
          "[::1",
          "[h]:1",
          "[::1]x",
          "https://h:1",
          "ftp://h",
          "u@h:1",
          "a b:1",
          "h:1\r\n"}) {
        const auto got = parse_endpoint(url);
        ASSERT_FALSE(got) << url;
        EXPECT_EQ(got.error().code, errc::invalid_argument) << url;
    }
}

}  // namespace
}  // namespace sluice::net
