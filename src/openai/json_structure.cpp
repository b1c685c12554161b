#include "openai/json_structure.hpp"

#include <bit>

#include "openai/inspect.hpp"

namespace sluice::openai {

namespace {

constexpr std::size_t smallest_capacity = std::size_t{64} << 10;

std::string_view explain(simdjson::error_code code) {
    switch (code) {
        case simdjson::SUCCESS:
            return {};
        case simdjson::EMPTY:
            return "body is empty, send a JSON object";
        case simdjson::UTF8_ERROR:
            return "body is not valid UTF-8";
        case simdjson::UNCLOSED_STRING:
            return "body is not valid JSON: a string has no end; is it cut off?";
        case simdjson::UNESCAPED_CHARS:
            return "body is not valid JSON: a string holds a raw control character; escape it";
        case simdjson::CAPACITY:
            return "body is too large to read as JSON";
        case simdjson::MEMALLOC:
            return "no memory left to read the body";
        default:
            return "body is not valid JSON";
    }
}

simdjson::error_code reserve(
    std::unique_ptr<simdjson::internal::dom_parser_implementation>& parser, std::size_t bytes
) {
    if (parser != nullptr && parser->capacity() >= bytes) {
        return simdjson::SUCCESS;
    }
    // Powers of two: a thread settles after a few bodies.
    const std::size_t capacity = std::bit_ceil(std::max(bytes, smallest_capacity));
    if (parser != nullptr) {
        return parser->allocate(capacity, 1);
    }
    return simdjson::get_active_implementation()->create_dom_parser_implementation(
        capacity, 1, parser
    );
}

}  // namespace

json_structure::json_structure(std::string_view body) : x_body(body) {
    thread_local std::unique_ptr<parser> retained;
    auto& chosen = body.size() <= retained_body_bytes ? retained : x_large;
    simdjson::error_code code = body.empty() ? simdjson::EMPTY : reserve(chosen, body.size());
    if (code == simdjson::SUCCESS) {
        // simdjson's interface is in bytes of its own type.
        code = chosen->stage1(
            reinterpret_cast<const std::uint8_t*>(body.data()),
            body.size(),
            simdjson::stage1_mode::regular
        );
    } else {
        chosen.reset();
    }
    x_problem = explain(code);
    if (code == simdjson::SUCCESS) {
        x_starts = {chosen->structural_indexes.get(), chosen->n_structural_indexes};
    }
}

}  // namespace sluice::openai
