// B22: metrics that were renamed, are gone or cannot be read must not be taken as no load.
#include "worker/vllm_probe.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "worker/metric_page.hpp"

namespace sluice::worker {
namespace {

TEST(vllm_probe, b22_1_a_page_without_the_figures_is_unknown) {
    const auto found = read_vllm_page(
        "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n"
        "llamacpp:prompt_tokens_total 0\nllamacpp:requests_processing 0\n"
    );
    EXPECT_FALSE(found.known());
    EXPECT_FALSE(found.kv_use);
    EXPECT_FALSE(found.running);
    EXPECT_FALSE(found.kv_tokens());
}

TEST(vllm_probe, b22_2_the_old_name_is_read) {
    const auto found = read_vllm_page("vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.83\n");
    ASSERT_TRUE(found.kv_use);
    EXPECT_DOUBLE_EQ(*found.kv_use, 0.83);
}

TEST(vllm_probe, b22_3_exponents_time_stamps_and_last_commas) {
    const auto found = read_vllm_page(
        "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\",} 9.75010481363281E-06 1733750089\n"
    );
    ASSERT_TRUE(found.kv_use);
    EXPECT_DOUBLE_EQ(*found.kv_use, 9.75010481363281E-06);
}

TEST(vllm_probe, b22_4_the_new_name_wins_in_any_order) {
    const std::string fresh = "vllm:kv_cache_usage_perc 0.83\n";
    const std::string old = "vllm:gpu_cache_usage_perc 0.10\n";
    EXPECT_DOUBLE_EQ(read_vllm_page(fresh + old).kv_use.value_or(-1), 0.83);
    EXPECT_DOUBLE_EQ(read_vllm_page(old + fresh).kv_use.value_or(-1), 0.83);
}

TEST(vllm_probe, b22_6_braces_commas_and_quotes_in_label_values) {
    const auto found = read_vllm_page(
        "vllm:num_requests_running{model_name=\"a}b,\\\"c\\\\\",engine=\"0\"} 3\n"
        "vllm:num_requests_waiting{model_name=\"a}b,\\\"c\\\\\"} 4.0\n"
    );
    EXPECT_EQ(found.running, 3);
    EXPECT_EQ(found.waiting, 4);
    metric_page page("x{ a = \"}\" , b=\"q\\\"\\\\\\n\" , } 1");
    const auto sample = page.next();
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->label("a"), "}");
    EXPECT_EQ(sample->label("b"), "q\"\\\n");
    EXPECT_EQ(sample->label("c"), std::nullopt);
}

TEST(vllm_probe, b22_7_not_a_number_and_infinite_are_unknown) {
    for (const std::string value : {"NaN", "+Inf", "-Inf", "Inf", "nan"}) {
        const auto found = read_vllm_page(
            "vllm:kv_cache_usage_perc " + value + "\nvllm:num_requests_running " + value + "\n"
        );
        EXPECT_FALSE(found.kv_use) << value;
        EXPECT_FALSE(found.running) << value;
    }
}

TEST(vllm_probe, b22_9_an_empty_page_is_no_engine) {
    EXPECT_FALSE(read_vllm_page("").known());
    EXPECT_FALSE(read_vllm_page("\n\n# only comments\n").known());
}

TEST(vllm_probe, capacity_is_blocks_times_their_size) {
    const auto found = read_vllm_page(
        "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",num_gpu_blocks=\"2588\","
        "num_gpu_blocks_override=\"None\"} 1.0\n"
    );
    EXPECT_EQ(found.kv_tokens(), tokens(41408));
    EXPECT_FALSE(found.max_num_seqs);
    EXPECT_FALSE(
        read_vllm_page("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1")
            .kv_tokens()
    );
    EXPECT_FALSE(read_vllm_page("vllm:cache_config_info{num_gpu_blocks=\"9\"} 1").kv_tokens());
}

TEST(vllm_probe, the_largest_batch_where_an_engine_says_it) {
    EXPECT_EQ(read_vllm_page("sluice_engine_slots 4\n").max_num_seqs, 4);
    const std::string info = "vllm:cache_config_info{block_size=\"16\",max_num_seqs=\"256\"} 1\n";
    EXPECT_EQ(read_vllm_page(info).max_num_seqs, 256);
    EXPECT_FALSE(read_vllm_page("sluice_engine_slots NaN\n").max_num_seqs);
}

TEST(vllm_probe, engines_behind_one_page_add_up) {
    const auto found = read_vllm_page(
        "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\n"
    );
    EXPECT_EQ(found.running, 7);
}

TEST(metric_page, broken_lines_are_passed_over) {
    metric_page page(
        "no_value\n{} 1\nopen{a=\"b\" 1\nopen{a=\"b} 1\nbad{a=b} 1\nx 1 2 3\r\ny abc\nz{} 2\n"
        "  w\t3\nhex 0x10\nend 4"
    );
    std::string seen;
    while (const auto sample = page.next()) {
        seen += std::string(sample->name) + "=" + std::to_string(std::lround(sample->value)) + " ";
    }
    EXPECT_EQ(seen, "x=1 z=2 w=3 end=4 ");
}

}  // namespace
}  // namespace sluice::worker
