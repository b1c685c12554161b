#include "core/kv_model.hpp"

namespace sluice::core {

namespace {

/// Far above every real model, far below what could overflow in a product of two.
constexpr std::int64_t largest_dimension = 10'000'000;
constexpr std::int64_t largest_parallel = 65'536;

struct checked_shape {
    std::int64_t layers = 0;
    std::int64_t kv_heads = 0;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
};

std::unexpected<error> unknown(std::string why) {
    return fail(
        errc::not_found,
        "the KV cache of this model is unknown: " + std::move(why) +
            "; configure bytes_per_token yourself"
    );
}

bool plausible(const std::optional<std::int64_t>& value) {
    return !value || (*value >= 1 && *value <= largest_dimension);
}

result<std::int64_t> find_head_dim(const model_shape& shape) {
    if (shape.head_dim) {
        return *shape.head_dim;
    }
    if (!shape.hidden_size || !shape.attention_heads) {
        return unknown("neither head_dim nor hidden_size with num_attention_heads is given");
    }
    if (*shape.hidden_size % *shape.attention_heads != 0) {
        return unknown("head_dim is not given and hidden_size / num_attention_heads is no integer");
    }
    return *shape.hidden_size / *shape.attention_heads;
}

result<checked_shape> check(const model_shape& shape) {
    if (shape.beyond_plain) {
        return unknown(*shape.beyond_plain);
    }
    for (const auto* value :
         {&shape.layers,
          &shape.hidden_size,
          &shape.attention_heads,
          &shape.kv_heads,
          &shape.head_dim,
          &shape.value_dim}) {
        if (!plausible(*value)) {
            return unknown("the number " + std::to_string(**value) + " makes no sense in it");
        }
    }
    if (!shape.layers) {
        return unknown("num_hidden_layers is not given");
    }
    if (!shape.kv_heads && !shape.attention_heads) {
        return unknown("neither num_key_value_heads nor num_attention_heads is given");
    }
    const std::int64_t kv_heads = shape.kv_heads.value_or(shape.attention_heads.value_or(0));
    if (shape.attention_heads && *shape.attention_heads % kv_heads != 0) {
        return unknown("num_attention_heads is no multiple of num_key_value_heads");
    }
    const auto head_dim = find_head_dim(shape);
    if (!head_dim) {
        return std::unexpected(head_dim.error());
    }
    return checked_shape{*shape.layers, kv_heads, *head_dim, shape.value_dim.value_or(*head_dim)};
}

kv_family family_of(const model_shape& shape, std::int64_t kv_heads) {
    if (kv_heads == shape.attention_heads) {
        return kv_family::mha;
    }
    return kv_heads == 1 ? kv_family::mqa : kv_family::gqa;
}

}  // namespace

std::int64_t bytes_of(kv_element element) {
    return element == kv_element::fp16 || element == kv_element::bf16 ? 2 : 1;
}

std::string_view to_string(kv_family family) {
    switch (family) {
        case kv_family::mha:
            return "mha";
        case kv_family::gqa:
            return "gqa";
        case kv_family::mqa:
            return "mqa";
    }
    return "unknown";
}

result<kv_model> make_kv_model(
    const model_shape& shape, kv_element element, std::int64_t tensor_parallel
) {
    const auto known = check(shape);
    if (!known) {
        return std::unexpected(known.error());
    }
    const std::int64_t ranks = tensor_parallel;
    if (ranks < 1 || ranks > largest_parallel) {
        return fail(
            errc::invalid_argument,
            "a tensor parallel size of " + std::to_string(ranks) + " makes no sense; use 1 or more"
        );
    }
    const bool divides = known->kv_heads % ranks == 0;
    const bool copies = ranks % known->kv_heads == 0;
    const bool queries_split = !shape.attention_heads || *shape.attention_heads % ranks == 0;
    if (!(divides || copies) || !queries_split) {
        return fail(
            errc::invalid_argument,
            "tensor parallel " + std::to_string(ranks) + " does not divide the model's " +
                std::to_string(known->kv_heads) + " KV heads" +
                (queries_split ? std::string()
                               : " and " + std::to_string(*shape.attention_heads) + " heads") +
                "; use a size that does"
        );
    }
    const std::int64_t heads = divides ? known->kv_heads / ranks : 1;
    const auto total = static_cast<__int128>(known->layers) * heads *
                       (known->key_dim + known->value_dim) * bytes_of(element);
    if (total > (__int128{1} << 40)) {
        return unknown("a token would take more than a tebibyte");
    }
    kv_model out;
    out.family = family_of(shape, known->kv_heads);
    out.bytes_per_token = bytes(static_cast<std::int64_t>(total));
    out.tensor_parallel = ranks;
    return out;
}

}  // namespace sluice::core
