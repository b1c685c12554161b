#include "core/kv_model.hpp"

#include <gtest/gtest.h>

namespace sluice::core {
namespace {

model_shape shape(
    std::int64_t layers,
    std::optional<std::int64_t> heads,
    std::optional<std::int64_t> kv_heads,
    std::optional<std::int64_t> head_dim,
    std::optional<std::int64_t> hidden = std::nullopt
) {
    model_shape out;
    out.layers = layers;
    out.attention_heads = heads;
    out.kv_heads = kv_heads;
    out.head_dim = head_dim;
    out.hidden_size = hidden;
    return out;
}

struct vector {
    const char* name;
    model_shape what;
    kv_family family;
    std::int64_t fp16;
    std::int64_t fp8;
    std::int64_t fp16_of_4097;  // block 16
};

TEST(kv_model, known_models) {
    const std::vector<vector> vectors{
        {"Llama-2-7B", shape(32, 32, 32, 128, 4096), kv_family::mha, 524'288, 262'144, 2'155'872'256
        },
        {"Llama-3-8B", shape(32, 32, 8, 128, 4096), kv_family::gqa, 131'072, 65'536, 538'968'064},
        {"Llama-3-70B", shape(80, 64, 8, 128, 8192), kv_family::gqa, 327'680, 163'840, 1'347'420'160
        },
        {"Qwen2.5-7B", shape(28, 28, 4, {}, 3584), kv_family::gqa, 57'344, 28'672, 235'798'528},
        {"Qwen3-32B", shape(64, 64, 8, 128, 5120), kv_family::gqa, 262'144, 131'072, 1'077'936'128},
        {"Falcon-7B", shape(32, 71, 1, {}, 4544), kv_family::mqa, 8192, 4096, 33'685'504},
    };
    for (const vector& one : vectors) {
        SCOPED_TRACE(one.name);
        const auto model = make_kv_model(one.what, kv_element::fp16);
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ(model->family, one.family);
        EXPECT_EQ(model->bytes_per_token.count(), one.fp16);
        EXPECT_EQ(model->fixed_bytes.count(), 0);
        EXPECT_EQ(model->kv_need(tokens(4096), 16).count(), one.fp16 * 4096);
        EXPECT_EQ(model->kv_need(tokens(4097), 16).count(), one.fp16_of_4097);
        EXPECT_EQ(model->kv_need(tokens(4097), 1).count(), one.fp16 * 4097);
        EXPECT_EQ(model->kv_need(tokens(0), 16).count(), 0);
        EXPECT_EQ(make_kv_model(one.what, kv_element::bf16)->bytes_per_token.count(), one.fp16);
        EXPECT_EQ(make_kv_model(one.what, kv_element::fp8)->bytes_per_token.count(), one.fp8);
        EXPECT_EQ(make_kv_model(one.what, kv_element::int8)->bytes_per_token.count(), one.fp8);
    }
}

TEST(kv_model, head_dim_beats_the_quotient) {
    EXPECT_EQ(
        make_kv_model(shape(1, 64, 8, 128, 5120), kv_element::fp8)->bytes_per_token.count(),
        2 * 8 * 128
    );
    EXPECT_EQ(
        make_kv_model(shape(1, 64, 8, {}, 5120), kv_element::fp8)->bytes_per_token.count(),
        2 * 8 * 80
    );
}

TEST(kv_model, missing_kv_heads_means_every_head_its_own) {
    const auto model = make_kv_model(shape(2, 4, {}, 64), kv_element::fp16);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->family, kv_family::mha);
    EXPECT_EQ(model->bytes_per_token.count(), 2 * 2 * 4 * 64 * 2);
}

TEST(kv_model, keys_and_values_of_different_size) {
    model_shape what = shape(3, 8, 2, 192);
    what.value_dim = 128;
    EXPECT_EQ(
        make_kv_model(what, kv_element::fp16)->bytes_per_token.count(), 3 * 2 * (192 + 128) * 2
    );
}

// B25: bytes on one GPU, heads copied when ranks outnumber them.
TEST(kv_model, tensor_parallel_is_per_gpu) {
    const model_shape what = shape(80, {}, 8, 128);
    const auto per_gpu = [&what](std::int64_t ranks) {
        const auto model = make_kv_model(what, kv_element::bf16, ranks);
        return model ? model->bytes_per_token.count() : -1;
    };
    EXPECT_EQ(per_gpu(1), 327'680);
    EXPECT_EQ(per_gpu(4), 81'920);
    EXPECT_EQ(per_gpu(8), 40'960);
    EXPECT_EQ(per_gpu(16), 40'960);
    for (const std::int64_t ranks : {3, 6, 12, 0, -1}) {
        const auto refused = make_kv_model(what, kv_element::bf16, ranks);
        ASSERT_FALSE(refused) << ranks;
        EXPECT_EQ(refused.error().code, errc::invalid_argument);
        EXPECT_NE(refused.error().message.find(std::to_string(ranks)), std::string::npos);
    }
    // 71 query heads cannot be split over two GPUs although the one KV head could be copied.
    EXPECT_FALSE(make_kv_model(shape(32, 71, 1, 64), kv_element::bf16, 2));
}

TEST(kv_model, unknown_is_never_a_number) {
    model_shape latent = shape(61, 128, 128, 56);
    latent.beyond_plain = "it caches a latent";
    const std::vector<model_shape> all{
        model_shape{},
        latent,
        shape(0, 32, 8, 128),
        shape(32, 32, 0, 128),
        shape(32, 32, -8, 128),
        shape(32, 32, 8, {}),        // no hidden size to divide
        shape(32, 32, 8, {}, 4097),  // does not divide
        shape(32, 32, 7, 128),       // heads do not group
        shape(32, {}, {}, 128),      // no heads at all
        shape(std::int64_t{1} << 62, 32, 8, 128),
        shape(10'000'000, 10'000'000, 10'000'000, 10'000'000),
    };
    for (const model_shape& what : all) {
        const auto model = make_kv_model(what, kv_element::fp16);
        ASSERT_FALSE(model);
        EXPECT_EQ(model.error().code, errc::not_found) << model.error().message;
        EXPECT_NE(model.error().message.find("unknown"), std::string::npos);
    }
}

}  // namespace
}  // namespace sluice::core
