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
        {"https://h", "h", "443"},
        {"HTTPS://[::1]:9000/v1?server_name=engine%2Eexample", "::1", "9000"},
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
          "https://",
          "https://h:1?what=1",
          "https://h:1?ca=",
          "https://h:1?cert=only.pem",
          "ftp://h",
          "u@h:1",
          "a b:1",
          "h:1\r\n"}) {
        const auto got = parse_endpoint(url);
        ASSERT_FALSE(got) << url;
        EXPECT_EQ(got.error().code, errc::invalid_argument) << url;
    }
}

TEST(parse_endpoint, knows_how_a_connection_is_secured) {
    EXPECT_EQ(parse_endpoint("http://h:1")->tls, nullptr);
    const auto plain = parse_endpoint("https://h:1");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->server_name, "h");
    EXPECT_EQ(plain->scheme(), "https");
    EXPECT_EQ(parse_endpoint("https://h:1/v1"), plain) << "connections are pooled together";
    const auto named = parse_endpoint("https://127.0.0.1:1?server_name=engine%2Eexample");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->server_name, "engine.example");
    const auto missing = parse_endpoint("https://h:1?ca=/no/such/file.pem");
    ASSERT_FALSE(missing);
    EXPECT_NE(
        missing.error().message.find("/no/such/file.pem cannot be read: No such file"),
        std::string::npos
    ) << missing.error().message;
}

}  // namespace
}  // namespace sluice::net
