// What a request body says, as far as admission needs it: model, size, how many answers, how long.
//
// Called by the gateway's pipeline and by the simulated engine, once a request, on any thread
// (the scratch memory is per thread). Reads nothing but the body and keeps no view into it.
//
//  1. The whole body is validated: what inspect accepts is one JSON object in valid UTF-8, its
//     escapes valid, no nesting below max_depth. No part is skipped unread.
//  2. Every number in request_facts is ≥ 0 and ≤ quantity_limit; sequences and prompts are ≥ 1.
//  3. Keys are compared unescaped, and a key that admission reads may stand only once: a body that
//     the worker could understand differently from us is refused.
//  4. Neither the body's depth nor its size sets the depth of the call stack. Scratch memory kept
//     between calls covers bodies of retained_body_bytes; larger ones get theirs for one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace sluice::openai {

/// Which API a request speaks. `other` is any further /v1/ path whose body names a model.
enum class endpoint_kind { chat, completions, embeddings, responses, messages, other };

std::string_view to_string(endpoint_kind kind);
/// The kind of `path`; a query ("?…") and one trailing slash are ignored.
endpoint_kind endpoint_of(std::string_view path);

inline constexpr std::size_t max_depth = 512;             ///< Containers inside each other.
inline constexpr std::int64_t max_sequences_asked = 128;  ///< Largest n or best_of.
inline constexpr std::size_t max_model_bytes = 512;       ///< Longest model name, unescaped.
inline constexpr std::size_t retained_body_bytes = 4 << 20;

/// How text becomes a number of tokens. The rule: code points from U+3000 on (CJK, kana, hangul,
/// emoji) are one token each, every other text is `bytes_per_token` bytes of UTF-8 a token; the
/// sum is rounded up. Token ids count exactly. JSON escapes count as what they stand for. Tool
/// schemas and calls count as their JSON text. A content part that is a picture, recording or file
/// is a constant, so its data URL is not counted as text.
struct inspect_options {
    std::int64_t bytes_per_token = 4;  ///< ≥ 1
    tokens per_message{4};             ///< Role and separators of one chat message.
    tokens per_image{1024};            ///< One picture, recording or attached file.
};

/// What admission knows of a request.
struct request_facts {
    std::string model;            ///< Unescaped.
    std::size_t model_begin = 0;  ///< Its JSON string in the body, quotes included: [begin, end).
    std::size_t model_end = 0;

    bool stream = false;
    bool include_usage = false;        ///< stream_options.include_usage is true.
    bool include_usage_given = false;  ///< … is stated: true, false or null (B11 case 3).
    /// The value of stream_options, [begin, end); both 0 without the key.
    std::size_t stream_options_begin = 0;
    std::size_t stream_options_end = 0;

    tokens prompt;               ///< All prompts of the request together; ≥ 1.
    tokens longest_prompt;       ///< The largest single prompt: what must fit the context.
    std::int64_t prompts = 1;    ///< Prompts in the request (a list of prompts has several).
    std::int64_t sequences = 1;  ///< Answers that are generated: prompts × max(n, best_of).

    /// Larger of max_tokens, max_completion_tokens, max_output_tokens, for one sequence; ≥ 1.
    std::optional<tokens> output_limit;
    /// False for embeddings. For `other`: whether a limit, stream, messages or prompt was given.
    bool has_output = true;

    std::optional<std::int64_t> priority;    ///< Body field `priority`, when a whole number.
    std::optional<tokens> simulated_output;  ///< Body field `sluice_sim_output`; ≥ 1.

    friend bool operator==(const request_facts&, const request_facts&) = default;
};

/// A body that can never work: what is wrong, and the parameter that is (empty: the body itself).
struct bad_request {
    std::string message;
    std::string param;
};

/// Reads `body`, which needs no padding. For `other` only `model` is strict: parameters of a
/// foreign API that do not look like ours are passed over.
std::expected<request_facts, bad_request> inspect(
    endpoint_kind kind, std::string_view body, const inspect_options& options = {}
);

/// Output to reserve for all sequences together: the limit asked for (or `default_output` when
/// none is) a sequence, never more than the context leaves behind its prompt, at least one token a
/// sequence; zero when there is no output. With several prompts the context's rest is taken over
/// all of them, which is never less than what they can generate. No `context`: not clamped.
tokens reserved_output(
    const request_facts& facts, std::optional<tokens> context, tokens default_output
);

}  // namespace sluice::openai
