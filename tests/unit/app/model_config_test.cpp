#include "app/model_config.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::app {
namespace {

namespace json = boost::json;

result<core::kv_model> model_of(std::string_view text, std::int64_t ranks = 1) {
    const auto config = parse_model_config(text);
    if (!config) {
        return std::unexpected(config.error());
    }
    return core::make_kv_model(config->shape, core::kv_element::bf16, ranks);
}

// B26
TEST(model_config, the_text_part_counts_and_the_vision_part_does_not) {
    const std::string text =
        R"({"num_hidden_layers":48,"hidden_size":3840,"num_attention_heads":16,)"
        R"("num_key_value_heads":8,"head_dim":256})";
    const std::string vision =
        R"("num_hidden_layers":27,"hidden_size":1152,"num_attention_heads":16)";
    for (const std::string& nested :
         {R"("text_config":)" + text,
          R"("thinker_config":{"text_config":)" + text + "}",
          R"("llm_config":)" + text,
          R"("language_config":)" + text}) {
        const auto model = model_of("{" + vision + "," + nested + "}");
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ(model->bytes_per_token.count(), 393'216);
    }
    EXPECT_EQ(
        parse_model_config(R"({"thinker_config":{"text_config":{}}})")->part,
        "thinker_config.text_config"
    );
    for (const char* unknown : {"{}", R"({"model_type":"zzz"})"}) {
        const auto model = model_of(unknown);
        ASSERT_FALSE(model);
        EXPECT_EQ(model.error().code, errc::not_found);
    }
    // A text part that says nothing does not fall back to the tower's numbers.
    EXPECT_FALSE(model_of("{" + vision + R"(,"text_config":{"model_type":"llama"}})"));
}

const std::string plain = R"("num_hidden_layers":32,"hidden_size":4096,"num_attention_heads":32,)"
                          R"("num_key_value_heads":8,"head_dim":128)";

TEST(model_config, traits_beyond_the_plain_formula_are_unknown) {
    for (const char* trait :
         {R"("kv_lora_rank":512)",
          R"("sliding_window":4096)",
          R"("sliding_window":4096,"use_sliding_window":true)",
          R"("layer_types":["full_attention","sliding_attention"])",
          R"("layer_types":["linear_attention"])",
          R"("layer_types":[5])",
          R"("full_attention_interval":4)",
          R"("sliding_window_pattern":6)",
          R"("mamba_d_state":16)",
          R"("ssm_state_size":16)",
          R"("state_size":16)",
          R"("attn_layer_period":8)",
          R"("layers_block_type":["mamba"])",
          R"("hybrid_override_pattern":"M-*")",
          R"("num_kv_shared_layers":10)",
          R"("is_encoder_decoder":true)",
          R"("attention_chunk_size":8192)",
          R"("num_key_value_heads":[8,8])",
          R"("head_dim":128.5)",
          R"("head_dim":"128")"}) {
        const auto model = model_of("{" + plain + "," + trait + "}");
        ASSERT_FALSE(model) << trait;
        EXPECT_EQ(model.error().code, errc::not_found);
    }
}

TEST(model_config, traits_that_are_switched_off_are_none) {
    for (const char* off :
         {R"("kv_lora_rank":null)",
          R"("sliding_window":null)",
          R"("sliding_window":4096,"use_sliding_window":false)",
          R"("layer_types":["full_attention","full_attention"],"sliding_window":128)",
          R"("num_kv_shared_layers":0)",
          R"("is_encoder_decoder":false)",
          R"("full_attention_interval":null)",
          R"("vision_config":{"sliding_window":7})"}) {
        const auto model = model_of("{" + plain + "," + off + "}");
        ASSERT_TRUE(model) << off << model.error().message;
        EXPECT_EQ(model->bytes_per_token.count(), 131'072);
    }
}

TEST(model_config, multi_query_by_its_flag) {
    const auto model = model_of(
        R"({"num_hidden_layers":32,"hidden_size":4544,"num_attention_heads":71,"multi_query":true})"
    );
    ASSERT_TRUE(model);
    EXPECT_EQ(model->family, core::kv_family::mqa);
    EXPECT_EQ(model->bytes_per_token.count(), 8192);
}

TEST(model_config, hostile_input) {
    const std::string deep(100'000, '[');
    std::string nested;
    for (int i = 0; i < 20; ++i) {
        nested += R"({"text_config":)";
    }
    nested += "{}" + std::string(20, '}');
    for (const std::string& text :
         {std::string(),
          deep,
          std::string("[]"),
          std::string("{"),
          std::string("\xff"),
          std::string("5"),
          nested,
          std::string(R"({"num_hidden_layers":-1})"),
          std::string(R"({"num_hidden_layers":1e300})")}) {
        EXPECT_FALSE(model_of(text)) << text.substr(0, 20);
    }
    EXPECT_FALSE(load_model_config("/nonexistent/config.json"));
}

TEST(model_config, published_vectors_bit_by_bit) {
    const std::string path = std::string(SLUICE_SHARED_DATA) + "/kv_vectors.json";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << "the published vectors are not here";
    }
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    int plain_models = 0;
    for (const json::value& value : json::parse(text.str()).as_array()) {
        const json::object& one = value.as_object();
        SCOPED_TRACE(one.at("model").as_string().c_str());
        const auto config = parse_model_config(json::serialize(one.at("config")));
        ASSERT_TRUE(config);
        const std::string_view kind = one.at("kind").as_string();
        const bool is_plain =
            (kind == "MHA" || kind == "GQA" || kind == "MQA") && !config->shape.beyond_plain;
        for (const auto element : {core::kv_element::fp16, core::kv_element::fp8}) {
            const auto model = core::make_kv_model(config->shape, element);
            ASSERT_EQ(model.has_value(), is_plain);
            if (!is_plain) {
                continue;
            }
            const json::object& wanted = one.at("vectors")
                                             .as_object()
                                             .at(element == core::kv_element::fp16 ? "fp16" : "fp8")
                                             .as_object();
            const auto number = [&wanted](std::string_view key) {
                return wanted.at(key).as_int64();
            };
            EXPECT_EQ(model->bytes_per_token.count(), number("bytes_per_token_all_layers"));
            EXPECT_EQ(model->kv_need(tokens(4096), 16).count(), number("bytes_4096"));
            EXPECT_EQ(model->kv_need(tokens(8192), 16).count(), number("bytes_8192"));
            EXPECT_EQ(model->kv_need(tokens(32'768), 16).count(), number("bytes_32768"));
            EXPECT_EQ(model->kv_need(tokens(4097), 16).count(), number("bytes_4097_block16"));
            ++plain_models;
        }
    }
    EXPECT_GE(plain_models, 14);
}

}  // namespace
}  // namespace sluice::app
