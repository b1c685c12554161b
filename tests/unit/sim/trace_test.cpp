#include "sim/trace.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

TEST(trace, azure_counts_from_the_first_arrival) {
    const auto read = read_trace(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-12-31 23:59:59.9799600,4808,10\r\n"
        "2024-01-01 00:00:00.0319601,3180,8\r\n"
        "\r\n"
        "2024-01-01 00:00:02,1,0\r\n"
    );
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->requests.size(), 3);
    EXPECT_EQ(read->tenants, std::vector<std::string>{""});
    EXPECT_EQ(read->requests[0].arrival, duration::zero());
    EXPECT_EQ(read->requests[0].input, tokens(4808));
    EXPECT_EQ(read->requests[0].output, tokens(10));
    EXPECT_EQ(read->requests[1].arrival, microseconds(52'000));
    EXPECT_EQ(read->requests[2].arrival, microseconds(2'020'040));
}

TEST(trace, azure_with_an_offset_and_over_a_leap_day) {
    const auto read = read_azure(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-02-28 23:00:00.5+00:00,1,1\n"
        "2024-03-01T01:00:00+00:00,1,1\n"
    );
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->requests[1].arrival, std::chrono::hours(26) - std::chrono::milliseconds(500));
}

TEST(trace, csv_with_tenants_and_classes_in_any_column_order) {
    const auto read = read_trace(
        "\xef\xbb\xbf"
        "class, tenant,output_tokens,input_tokens,arrival_s,extra\n"
        "high,acme,5,10,1.5,x\n"
        ",beta,6,0,1.25,\n"
        "low,acme,7,12,3\n"
    );
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->requests.size(), 3);
    EXPECT_EQ(read->tenants, (std::vector<std::string>{"acme", "beta"}));
    // Sorted: the second line came first.
    EXPECT_EQ(read->requests[0].tenant, 1);
    EXPECT_EQ(read->requests[0].input, tokens(1));  // a prompt has at least one token
    EXPECT_EQ(read->requests[0].cls, core::priority::normal);
    EXPECT_EQ(read->requests[1].arrival, microseconds(250'000));
    EXPECT_EQ(read->requests[1].cls, core::priority::high);
    EXPECT_EQ(read->requests[2].cls, core::priority::low);
}

TEST(trace, equal_arrivals_keep_the_order_of_the_file) {
    std::string text = "arrival_s,input_tokens,output_tokens\n9,1,1\n";
    for (int i = 0; i < 100; ++i) {
        text += "5," + std::to_string(i + 1) + ",1\n";
    }
    const auto read = read_csv(text);
    ASSERT_TRUE(read);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(read->requests[static_cast<std::size_t>(i)].input, tokens(i + 1));
    }
    EXPECT_EQ(read->requests.back().arrival, seconds(4));
}

TEST(trace, errors_name_the_line) {
    struct bad {
        const char* text;
        const char* words;
    };
    const std::vector<bad> all{
        {"", "line 1"},
        {"a,b,c\n1,2,3\n", "line 1"},
        {"arrival_s,input_tokens,output_tokens\n", "no request"},
        {"arrival_s,input_tokens,output_tokens\n1,2,3\n\nx,2,3\n", "line 4"},
        {"arrival_s,input_tokens,output_tokens\n1,-2,3\n", "line 2"},
        {"arrival_s,input_tokens,output_tokens\n1,2\n", "line 2"},
        {"arrival_s,input_tokens,output_tokens\n1,2,99999999999999999999\n", "line 2"},
        {"arrival_s,input_tokens,output_tokens\n99999999999999999,2,3\n", "line 2"},
        {"arrival_s,input_tokens,output_tokens,class\n1,2,3,urgent\n", "line 2"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-13-01 00:00:00,1,1\n", "line 2"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n", "line 2"},
        {"TIMESTAMP,ContextTokens\n2023-11-01 00:00:00,1\n", "line 1"},
    };
    for (const bad& one : all) {
        const auto read = read_trace(one.text);
        ASSERT_FALSE(read) << one.text;
        EXPECT_EQ(read.error().code, errc::corrupt_input);
        EXPECT_NE(read.error().message.find(one.words), std::string::npos) << read.error().message;
    }
}

TEST(trace, published_azure_traces) {
    struct known {
        const char* name;
        std::size_t requests;
    };
    for (const known& one : {known{"code", 8819}, known{"conv", 19'366}}) {
        const std::string path = std::string(SLUICE_SHARED_DATA) +
                                 "/azure2023/AzureLLMInferenceTrace_" + one.name + ".csv";
        if (!std::filesystem::exists(path)) {
            GTEST_SKIP() << "the Azure traces are not here";
        }
        std::stringstream text;
        text << std::ifstream(path, std::ios::binary).rdbuf();
        const auto read = read_trace(text.str());
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->requests.size(), one.requests);
        EXPECT_GT(read->requests.back().arrival, seconds(3400));
        EXPECT_LT(read->requests.back().arrival, seconds(3600));
    }
}

}  // namespace
}  // namespace sluice::sim
