#include "app/model_config.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "app/cli_options.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

namespace json = boost::json;

constexpr std::size_t largest_file = std::size_t{16} * 1024 * 1024;
constexpr int deepest_nesting = 4;

const json::value* find(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

/// The language model's part. Vision and audio towers use the same names for their own numbers, so
/// a nested text part, where there is one, is the only one that counts.
const json::object& text_part(const json::object& whole, std::string& part, int depth = 0) {
    constexpr std::array names{"text_config", "llm_config", "language_config", "thinker_config"};
    for (const std::string_view name : names) {
        const json::value* nested = find(whole, name);
        if (depth < deepest_nesting && nested != nullptr && nested->is_object()) {
            part += part.empty() ? std::string(name) : fmt::format(".{}", name);
            return text_part(nested->as_object(), part, depth + 1);
        }
    }
    return whole;
}

/// Sets `beyond` when `key` is there but is no integer: a list by layer, for instance.
std::optional<std::int64_t> integer(
    const json::object& part, std::string_view key, std::optional<std::string>& beyond
) {
    const json::value* value = find(part, key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (value->is_int64()) {
        return value->as_int64();
    }
    beyond = fmt::format("{} is not a whole number", key);
    return std::nullopt;
}

bool is_true(const json::object& part, std::string_view key) {
    const json::value* value = find(part, key);
    return value != nullptr && value->is_bool() && value->as_bool();
}

struct trait {
    std::string_view key;
    std::string_view words;
};

/// Traits whose cache the plain formula does not describe. Their formulas come later; until then
/// such a model is unknown.
constexpr std::array traits{
    trait{"kv_lora_rank", "it caches a latent (multi-head latent attention)"},
    trait{"full_attention_interval", "only some of its layers have full attention"},
    trait{"sliding_window_pattern", "some of its layers have a sliding window"},
    trait{"_sliding_window_pattern", "some of its layers have a sliding window"},
    trait{"attention_window_size", "its layers have a sliding window"},
    trait{"attention_chunk_size", "some of its layers attend in chunks"},
    trait{"layers_block_type", "it mixes kinds of layers"},
    trait{"layer_block_type", "it mixes kinds of layers"},
    trait{"block_types", "it mixes kinds of layers"},
    trait{"hybrid_override_pattern", "it mixes kinds of layers"},
    trait{"attn_layer_period", "only some of its layers have attention"},
    trait{"attn_layer_indices", "only some of its layers have attention"},
    trait{"attn_type_list", "only some of its layers have full attention"},
    trait{"linear_num_key_heads", "some of its layers have linear attention"},
    trait{"linear_attn_config", "some of its layers have linear attention"},
    trait{"mamba_d_state", "it has state-space layers"},
    trait{"mamba_expand", "it has state-space layers"},
    trait{"mamba_num_heads", "it has state-space layers"},
    trait{"ssm_cfg", "it has state-space layers"},
    trait{"ssm_state_size", "it has state-space layers"},
    trait{"state_size", "it has state-space layers"},
    trait{"lru_width", "it has recurrent layers"},
    trait{"cross_attention_layers", "it has cross-attention layers"},
    trait{"block_configs", "its layers differ"},
    trait{"cla_share_factor", "its layers share caches"},
    trait{"kv_sharing_target_layers", "its layers share caches"},
    trait{"index_topk", "it keeps an index beside the cache"},
};

std::optional<std::string> window_trait(const json::object& part) {
    const json::value* types = find(part, "layer_types");
    if (types != nullptr && types->is_array()) {
        for (const json::value& type : types->as_array()) {
            if (!type.is_string() || type.as_string() != "full_attention") {
                return "layer_types names layers without full attention";
            }
        }
    }
    // A list that says "all full" settles the question whatever sliding_window says.
    const bool all_full = types != nullptr && types->is_array();
    const json::value* window = find(part, "sliding_window");
    const json::value* used = find(part, "use_sliding_window");
    const bool switched_off = used != nullptr && used->is_bool() && !used->as_bool();
    if (window != nullptr && !switched_off && !all_full) {
        return "its layers have a sliding window (sliding_window)";
    }
    return std::nullopt;
}

std::optional<std::string> find_trait(const json::object& part) {
    for (const trait& one : traits) {
        if (find(part, one.key) != nullptr) {
            return fmt::format("{} ({})", one.words, one.key);
        }
    }
    const json::value* shared = find(part, "num_kv_shared_layers");
    if (shared != nullptr && !(shared->is_int64() && shared->as_int64() == 0)) {
        return "its layers share caches (num_kv_shared_layers)";
    }
    if (is_true(part, "is_encoder_decoder")) {
        return "it has an encoder (is_encoder_decoder)";
    }
    if (is_true(part, "new_decoder_architecture") || is_true(part, "multi_query_attention")) {
        return "it names its KV heads in a way of its own";
    }
    return window_trait(part);
}

}  // namespace

result<model_config> parse_model_config(std::string_view json_text) {
    json::error_code problem;
    const json::value value =
        json::parse(json::string_view(json_text.data(), json_text.size()), problem);
    if (problem || !value.is_object()) {
        return fail(
            errc::corrupt_input,
            fmt::format(
                "the model configuration is no JSON object{}{}; name the model's config.json",
                problem ? ": " : "",
                problem ? problem.message() : std::string()
            )
        );
    }
    model_config out;
    const json::object& part = text_part(value.as_object(), out.part);
    core::model_shape& shape = out.shape;
    std::optional<std::string>& beyond = shape.beyond_plain;
    shape.layers = integer(part, "num_hidden_layers", beyond);
    shape.hidden_size = integer(part, "hidden_size", beyond);
    shape.attention_heads = integer(part, "num_attention_heads", beyond);
    shape.kv_heads = integer(part, "num_key_value_heads", beyond);
    shape.head_dim = integer(part, "head_dim", beyond);
    shape.value_dim = integer(part, "v_head_dim", beyond);
    if (!shape.kv_heads && is_true(part, "multi_query")) {
        shape.kv_heads = 1;
    }
    if (const auto found = find_trait(part)) {
        beyond = found;
    }
    std::optional<std::string> ignored;
    out.context = integer(part, "max_position_embeddings", ignored);
    return out;
}

result<model_config> load_model_config(const std::string& path) {
    const file_text read = read_whole_file(path, largest_file);
    if (!read.text) {
        return fail(errc::not_found, read.problem);
    }
    auto config = parse_model_config(*read.text);
    if (!config) {
        return fail(config.error().code, printable(path) + ": " + config.error().message);
    }
    return config;
}

}  // namespace sluice::app
