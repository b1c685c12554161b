#include "load/request_body.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"

namespace sluice::load {

namespace {

/// Plain words, no byte of which JSON escapes.
constexpr std::string_view filler =
    "the lock keeper opens one gate and waits until the water stands level before the next boat "
    "moves into the chamber while those behind it tie up along the bank in the order they came and "
    "ask how long it will take to reach the sea from here ";

constexpr std::int64_t bytes_per_token = 4;

}  // namespace

std::string chat_body(const body_shape& shape) {
    const auto size = static_cast<std::size_t>(
        std::clamp<std::int64_t>(shape.input.count(), 1, 1 << 26) * bytes_per_token
    );
    std::string body;
    body.reserve(size + 256);
    body += "{\"model\":";
    append_json_text(body, shape.model);
    body += ",\"messages\":[{\"role\":\"user\",\"content\":\"";
    const std::size_t end = body.size() + size;
    body += fmt::format("{} ", shape.number);
    while (body.size() < end) {
        body += filler.substr(0, end - body.size());
    }
    body.resize(end);
    fmt::format_to(
        std::back_inserter(body),
        "\"}}],\"max_tokens\":{},\"sluice_sim_output\":{}",
        shape.max_tokens.count(),
        shape.output.count()
    );
    body += shape.stream ? ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}" : "}";
    return body;
}

}  // namespace sluice::load
