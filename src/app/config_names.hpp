// The words of the configuration's choices, in the order of the enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/config.hpp"

namespace sluice::app {

using namespace std::string_view_literals;

template <class Enum>
struct enum_names;

template <>
struct enum_names<config::half_close_policy> {
    static constexpr std::array value{"abort"sv, "tolerate"sv};
};
template <>
struct enum_names<config::request_class> {
    static constexpr std::array value{"high"sv, "normal"sv, "low"sv};
};
template <>
struct enum_names<config::admission_mode> {
    static constexpr std::array value{"shared"sv, "local_queue"sv};
};
template <>
struct enum_names<config::backend_loss> {
    static constexpr std::array value{"refuse"sv, "local"sv};
};
template <>
struct enum_names<config::permit_loss> {
    static constexpr std::array value{"cut"sv, "keep"sv};
};
template <>
struct enum_names<config::body_priority_mode> {
    static constexpr std::array value{"off"sv, "higher_first"sv, "lower_first"sv};
};
template <>
struct enum_names<config::log_level> {
    static constexpr std::array value{"trace"sv, "debug"sv, "info"sv, "warn"sv, "error"sv};
};
template <>
struct enum_names<config::log_format> {
    static constexpr std::array value{"json"sv, "text"sv};
};
template <>
struct enum_names<config::kv_dtype> {
    static constexpr std::array value{
        "fp16"sv, "bf16"sv, "fp8"sv, "int8"sv, "fp8_ds_mla"sv, "int8_per_head"sv
    };
};
template <>
struct enum_names<config::kv_layout> {
    static constexpr std::array value{"uniform"sv, "window_capped"sv};
};
template <>
struct enum_names<config::probe_kind> {
    static constexpr std::array value{
        "auto"sv, "vllm"sv, "sglang"sv, "llamacpp"sv, "tgi"sv, "triton"sv, "nvml"sv, "static"sv
    };
};
template <>
struct enum_names<config::queue_order> {
    static constexpr std::array value{"fair"sv, "deadline"sv, "fifo"sv};
};
template <>
struct enum_names<config::timeout_action> {
    static constexpr std::array value{"reject"sv, "fallback"sv, "answer"sv};
};
template <>
struct enum_names<config::usage_mode> {
    static constexpr std::array value{"count"sv, "inject"sv};
};
template <>
struct enum_names<config::routing_rule> {
    static constexpr std::array value{
        "predicted_ttft"sv, "least_loaded"sv, "prefix"sv, "round_robin"sv
    };
};

template <class Enum>
constexpr std::string_view name_of(Enum value) {
    return enum_names<Enum>::value[static_cast<std::size_t>(value)];
}

}  // namespace sluice::app
