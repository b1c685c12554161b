#include "openai/inspect.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "openai/body_walker.hpp"
#include "openai/json_structure.hpp"
#include "openai/text_weight.hpp"

namespace sluice::openai {

namespace {

/// Members of the body that admission reads. Each may stand only once.
enum class field : unsigned {
    none,
    model,
    stream,
    stream_options,
    max_tokens,
    max_completion_tokens,
    max_output_tokens,
    n,
    best_of,
    priority,
    sluice_sim_output,
    messages,
    prompt,
    input,
    documents,
    instructions,
    system,
    suffix,
    query,
    tools,
    functions,
};

constexpr std::array<std::pair<std::string_view, field>, 20> field_names{{
    {"model", field::model},
    {"stream", field::stream},
    {"stream_options", field::stream_options},
    {"max_tokens", field::max_tokens},
    {"max_completion_tokens", field::max_completion_tokens},
    {"max_output_tokens", field::max_output_tokens},
    {"n", field::n},
    {"best_of", field::best_of},
    {"priority", field::priority},
    {"sluice_sim_output", field::sluice_sim_output},
    {"messages", field::messages},
    {"prompt", field::prompt},
    {"input", field::input},
    {"documents", field::documents},
    {"instructions", field::instructions},
    {"system", field::system},
    {"suffix", field::suffix},
    {"query", field::query},
    {"tools", field::tools},
    {"functions", field::functions},
}};

field field_of(std::string_view key) {
    for (const auto& [name, value] : field_names) {
        if (name == key) {
            return value;
        }
    }
    return field::none;
}

/// A number without fraction or exponent in [low, high], else nothing.
std::optional<std::int64_t> read_whole(std::string_view text, std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (failed != std::errc() || stop != end || value < low || value > high) {
        return std::nullopt;
    }
    return value;
}

/// One body on its way to facts.
class body_reader {
public:
    body_reader(endpoint_kind kind, const json_structure& structure, const inspect_options& options)
        : x_kind(kind), x_options(options), x_walker(structure, options) {}

    std::expected<request_facts, bad_request> read() {
        if (x_walker.kind() != '{') {
            return std::unexpected(bad_request{"body must be one JSON object", ""});
        }
        const bool ok =
            x_walker.each_member([this](std::string_view key) { return take_member(key); });
        if (!ok) {
            return std::unexpected(x_walker.error());
        }
        if (!x_walker.at_end()) {
            x_walker.refuse("something follows the object");
            return std::unexpected(x_walker.error());
        }
        if (!seen(field::model)) {
            return std::unexpected(bad_request{"model is missing; name one", "model"});
        }
        return finish();
    }

private:
    static constexpr std::int64_t one = 1;

    bool seen(field which) const { return (x_seen >> static_cast<unsigned>(which) & 1U) != 0; }
    bool is_other() const { return x_kind == endpoint_kind::other; }
    bool skip() { return x_walker.walk(weigh::nothing, 1); }

    bool take_member(std::string_view key) {
        const field which = field_of(key);
        if (which == field::none) {
            return skip();
        }
        if (seen(which)) {
            return x_walker.refuse(key, std::string(key) + " is given twice; give it once");
        }
        x_seen |= 1U << static_cast<unsigned>(which);
        switch (which) {
            case field::model:
                return take_model();
            case field::stream:
                return take_flag("stream", x_facts.stream);
            case field::stream_options:
                return take_stream_options();
            case field::max_tokens:
            case field::max_completion_tokens:
            case field::max_output_tokens:
                return take_limit(key);
            case field::n:
            case field::best_of:
                return take_copies(key);
            case field::priority:
                x_facts.priority = read_whole(
                    x_walker.at_end() ? std::string_view() : x_walker.token(),
                    -quantity_limit,
                    quantity_limit
                );
                return skip();
            case field::sluice_sim_output: {
                std::optional<std::int64_t> length;
                const bool ok = take_whole(key, quantity_limit, length);
                x_facts.simulated_output = length ? std::optional(tokens(*length)) : std::nullopt;
                return ok;
            }
            default:
                return take_text(which);
        }
    }

    bool take_text(field which) {
        using enum endpoint_kind;
        const bool lists = x_kind == embeddings || is_other();
        switch (which) {
            case field::messages:
                return x_kind == completions ? skip() : take_messages();
            case field::prompt:
                if (x_kind == completions || is_other()) {
                    return take_prompts();
                }
                return x_walker.walk(x_kind == responses ? weigh::parts : weigh::nothing, 1);
            case field::input:
                if (lists) {
                    return take_prompts();
                }
                return x_kind == responses ? take_messages() : skip();
            case field::documents:
                if (lists) {
                    return take_prompts();
                }
                return x_walker.walk(x_kind == chat ? weigh::json : weigh::nothing, 1);
            case field::tools:
            case field::functions:
                return x_walker.walk(
                    x_kind == completions || x_kind == embeddings ? weigh::nothing : weigh::json, 1
                );
            default:
                return x_walker.walk(weigh::parts, 1);  // instructions, system, suffix, query
        }
    }

    bool take_model() {
        if (x_walker.kind() != '"') {
            return x_walker.refuse("model", "model must be a string");
        }
        const std::string_view text = x_walker.token();
        x_facts.model_begin = x_walker.position();
        x_facts.model_end = x_facts.model_begin + text.size();
        if (!skip()) {
            return false;
        }
        if (text.size() > 6 * max_model_bytes + 2 ||
            !unescape(text.substr(1, text.size() - 2), x_facts.model) ||
            x_facts.model.size() > max_model_bytes) {
            return x_walker.refuse("model", "model is longer than 512 bytes; shorten the name");
        }
        if (x_facts.model.empty()) {
            return x_walker.refuse("model", "model is empty; name one");
        }
        return true;
    }

    bool take_flag(std::string_view param, bool& flag) {
        const char kind = x_walker.kind();
        if (kind != 't' && kind != 'f' && kind != 'n') {
            return is_other() || x_walker.at_end()
                       ? skip()
                       : x_walker.refuse(param, std::string(param) + " must be true or false");
        }
        flag = kind == 't';
        return skip();
    }

    bool take_stream_options() {
        const char kind = x_walker.kind();
        x_facts.stream_options_begin = x_walker.position();
        if (kind == '{') {
            const bool ok = x_walker.each_member([this](std::string_view key) {
                if (key != "include_usage") {
                    return x_walker.walk(weigh::nothing, 2);
                }
                if (std::exchange(x_facts.include_usage_given, true)) {
                    return x_walker.refuse("stream_options", "include_usage is given twice");
                }
                return take_flag("include_usage", x_facts.include_usage);
            });
            x_facts.stream_options_end = ok ? x_walker.end_of_last() : 0;
            return ok;
        }
        if (kind != 'n' && !is_other() && !x_walker.at_end()) {
            return x_walker.refuse("stream_options", "stream_options must be an object or null");
        }
        const bool ok = skip();
        x_facts.stream_options_end = ok ? x_walker.end_of_last() : 0;
        return ok;
    }

    /// A whole number from 1 to `high`, or null. `other` endpoints may mean something else by it.
    bool take_whole(std::string_view param, std::int64_t high, std::optional<std::int64_t>& out) {
        if (x_walker.at_end()) {
            return skip();
        }
        const std::string_view text = x_walker.token();
        out = read_whole(text, one, high);
        if (!out && text != "null" && !is_other()) {
            return x_walker.refuse(
                param,
                std::string(param) + " must be a whole number from 1 to " + std::to_string(high)
            );
        }
        return skip();
    }

    bool take_limit(std::string_view param) {
        if (x_kind == endpoint_kind::embeddings) {
            return skip();
        }
        std::optional<std::int64_t> limit;
        if (!take_whole(param, quantity_limit, limit)) {
            return false;
        }
        if (limit) {
            x_facts.output_limit =
                std::max(x_facts.output_limit.value_or(tokens::zero()), tokens(*limit));
        }
        return true;
    }

    bool take_copies(std::string_view param) {
        using enum endpoint_kind;
        if (x_kind != chat && x_kind != completions && !is_other()) {
            return skip();
        }
        std::optional<std::int64_t> copies;
        if (!take_whole(param, max_sequences_asked, copies)) {
            return false;
        }
        x_copies = std::max(x_copies, copies.value_or(one));
        return true;
    }

    /// Chat messages, or the items of a responses input; a plain string is one of them.
    bool take_messages() {
        if (x_walker.kind() != '[') {
            ++x_messages;
            return x_walker.walk(weigh::parts, 1);
        }
        return x_walker.each_element([this] {
            ++x_messages;
            if (x_walker.kind() != '{' || x_kind == endpoint_kind::responses) {
                return x_walker.walk(weigh::parts, 2);
            }
            return x_walker.each_member([this](std::string_view key) { return take_part(key); });
        });
    }

    /// A member of a chat message. A message is never a medium itself, whatever its members say.
    bool take_part(std::string_view key) {
        if (key == "tool_calls" || key == "function_call") {
            return x_walker.walk(weigh::json, 3);
        }
        const bool silent = key == "role" || key == "type" || key == "id" ||
                            key == "tool_call_id" || key == "audio";
        return x_walker.walk(silent ? weigh::nothing : weigh::parts, 3);
    }

    /// One prompt or a list of them: strings, lists of token ids, objects with text; or one prompt
    /// as a list of token ids.
    bool take_prompts() {
        if (x_walker.kind() != '[') {
            return x_walker.kind() == 'n' ? skip() : take_prompt_text(1);
        }
        std::int64_t ids = 0;
        const bool ok = x_walker.each_element([&] {
            const char kind = x_walker.kind();
            if (kind == '[') {
                std::int64_t inner = 0;
                const bool good = x_walker.each_element([&] { return take_id(inner, 3); });
                add_prompt(tokens(inner));
                return good;
            }
            return kind == '"' || kind == '{' ? take_prompt_text(2) : take_id(ids, 2);
        });
        if (ids > 0) {
            add_prompt(tokens(ids));
        }
        return ok;
    }

    bool take_id(std::int64_t& ids, std::size_t depth) {
        ++ids;
        return x_walker.walk(weigh::nothing, depth);
    }

    bool take_prompt_text(std::size_t depth) {
        const std::int64_t weight = x_walker.weight();
        const std::int64_t images = x_walker.images();
        if (!x_walker.walk(weigh::parts, depth)) {
            return false;
        }
        const std::int64_t own_weight = x_walker.weight() - weight;
        const std::int64_t own_images = x_walker.images() - images;
        x_listed_weight += own_weight;
        x_listed_images += own_images;
        add_prompt(to_tokens(own_weight) + x_options.per_image * own_images);
        return true;
    }

    void add_prompt(tokens size) {
        ++x_prompts;
        x_listed += size;
        x_longest = std::max(x_longest, size);
    }

    tokens to_tokens(std::int64_t weight) const {
        const std::int64_t unit = std::max(x_options.bytes_per_token, one);
        return tokens((weight + unit - 1) / unit);
    }

    request_facts finish() {
        using enum endpoint_kind;
        // What every prompt of the list shares: a query, a suffix, or everything when there is
        // none.
        const tokens shared = to_tokens(x_walker.weight() - x_listed_weight) +
                              x_options.per_image * (x_walker.images() - x_listed_images) +
                              x_options.per_message * x_messages;
        const tokens least{1};
        x_facts.prompts = std::max(x_prompts, one);
        x_facts.sequences = (tokens(x_facts.prompts) * x_copies).count();
        x_facts.prompt = std::max(x_listed + shared * x_facts.prompts, least);
        x_facts.longest_prompt = std::max(x_longest + shared, least);
        x_facts.has_output = x_kind != embeddings;
        if (is_other()) {
            x_facts.has_output = x_facts.output_limit || x_facts.stream || seen(field::messages) ||
                                 seen(field::prompt);
        }
        return std::move(x_facts);
    }

    endpoint_kind x_kind;
    const inspect_options& x_options;
    body_walker x_walker;
    request_facts x_facts;
    std::uint32_t x_seen = 0;  // one bit a field
    std::int64_t x_copies = 1;
    std::int64_t x_messages = 0;
    std::int64_t x_prompts = 0;
    std::int64_t x_listed_weight = 0;  // of the walker's sums, what stood in listed prompts
    std::int64_t x_listed_images = 0;
    tokens x_listed;
    tokens x_longest;
};

}  // namespace

std::string_view to_string(endpoint_kind kind) {
    switch (kind) {
        case endpoint_kind::chat:
            return "chat";
        case endpoint_kind::completions:
            return "completions";
        case endpoint_kind::embeddings:
            return "embeddings";
        case endpoint_kind::responses:
            return "responses";
        case endpoint_kind::messages:
            return "messages";
        case endpoint_kind::other:
            break;
    }
    return "other";
}

endpoint_kind endpoint_of(std::string_view path) {
    path = path.substr(0, path.find('?'));
    if (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    if (path == "/v1/chat/completions") {
        return endpoint_kind::chat;
    }
    if (path == "/v1/completions") {
        return endpoint_kind::completions;
    }
    if (path == "/v1/embeddings") {
        return endpoint_kind::embeddings;
    }
    if (path == "/v1/responses") {
        return endpoint_kind::responses;
    }
    return path == "/v1/messages" ? endpoint_kind::messages : endpoint_kind::other;
}

std::expected<request_facts, bad_request> inspect(
    endpoint_kind kind, std::string_view body, const inspect_options& options
) {
    const json_structure structure(body);
    if (!structure.problem().empty()) {
        return std::unexpected(bad_request{std::string(structure.problem()), ""});
    }
    return body_reader(kind, structure, options).read();
}

tokens reserved_output(
    const request_facts& facts, std::optional<tokens> context, tokens default_output
) {
    if (!facts.has_output) {
        return tokens::zero();
    }
    const tokens least(facts.sequences);
    const tokens limit = std::max(facts.output_limit.value_or(default_output), tokens(1));
    const tokens asked = limit * facts.sequences;
    if (!context) {
        return asked;
    }
    const std::int64_t copies = facts.sequences / facts.prompts;
    const tokens left = (*context * facts.prompts - facts.prompt) * copies;
    return std::max(std::min(asked, left), least);
}

}  // namespace sluice::openai
