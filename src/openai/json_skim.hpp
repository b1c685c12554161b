// A resumable look over JSON text: tells scalars and container starts with the keys they stand
// under, keeps nothing, accepts anything.
//
// Called by answer_reader only. Not a validator: broken JSON yields some values or none.
//  1. The calls do not depend on the cut of the text into reads.
//  2. Memory is constant: a string's first max_text bytes and the keys of the outer max_path
//     containers. Deeper values are skipped.
//  3. Never throws; any bytes are allowed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::openai {

/// The keys that answers are read for; every other one is `other`, `none` is no key (top, array).
enum class skim_key : std::uint8_t {
    none,
    other,
    arguments,
    cache_creation_input_tokens,
    cache_read_input_tokens,
    choices,
    code,
    completion_tokens,
    content,
    delta,
    error,
    finish_reason,
    function,
    function_call,
    input_tokens,
    message,
    name,
    output,
    output_tokens,
    partial_json,
    prompt_tokens,
    reasoning,
    reasoning_content,
    refusal,
    response,
    status,
    stop_reason,
    text,
    thinking,
    tool_calls,
    type,
    usage,
};

enum class skim_kind : std::uint8_t { object, array, string, bare };  // bare: number, true, null

struct skim_value {
    skim_kind kind;
    skim_key key;
    /// Keys of the containers around it, outermost first; the first is the document itself (none).
    std::span<const skim_key> path;
    std::string_view text;     ///< Raw text without quotes, first max_text bytes; empty: container.
    std::uint64_t length = 0;  ///< Raw bytes of all of it.
};

/// Receives the values in the order of the text.
class skim_sink {
public:
    virtual void take_value(const skim_value& value) = 0;

protected:
    ~skim_sink() = default;
};

class json_skim {
public:
    static constexpr std::size_t max_text = 48;
    static constexpr std::size_t max_path = 8;

    void feed(std::string_view text, skim_sink& sink);
    /// Back to the start of a document.
    void reset() { *this = json_skim(); }
    /// An object or array was opened and closed, and nothing was out of order around it.
    bool complete() const { return x_opened && x_depth == 0 && !x_broken; }

private:
    enum class place : std::uint8_t { between, string, escape, bare };

    std::size_t feed_string(std::string_view text, std::size_t at);
    std::size_t feed_bare(std::string_view text, std::size_t at);
    void take_structural(char byte, skim_sink& sink);
    void keep(std::string_view part);
    void flush(skim_sink& sink);
    void open(skim_kind kind, skim_sink& sink);
    void close();
    std::string_view kept() const;
    std::span<const skim_key> path() const;

    place x_place = place::between;
    bool x_pending = false;  // a scalar was read; the next structural tells key from value
    skim_kind x_kind = skim_kind::bare;
    skim_key x_key = skim_key::none;
    bool x_opened = false;
    bool x_broken = false;
    std::size_t x_depth = 0;
    std::uint64_t x_length = 0;
    std::array<skim_key, max_path> x_path{};
    std::array<char, max_text> x_text{};
};

}  // namespace sluice::openai
