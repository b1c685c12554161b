// Request inspection and rewriting against Boost.JSON's tree of the same body.
//
//  1. What inspect accepts is an object for Boost.JSON, and says the same model, stream and limit.
//  2. What it calls invalid JSON is invalid there too (nesting apart: the bounds differ).
//  3. A rewritten body differs in `model` and `include_usage` alone, and is accepted again.
#include <boost/json.hpp>
#include <optional>

#include "fuzz/fuzz.hpp"
#include "openai/inspect.hpp"
#include "openai/rewrite.hpp"

namespace {

namespace json = boost::json;
using namespace sluice;
using namespace sluice::openai;
using fuzz::require;

/// `undecided`: well formed for all we know, but beyond a bound that only Boost.JSON has.
struct reference {
    std::optional<json::value> tree;
    bool undecided = false;
};

reference tree_of(std::string_view text) {
    json::parse_options options;
    options.max_depth = max_depth + 8;
    boost::system::error_code failure;
    json::value tree = json::parse({text.data(), text.size()}, failure, {}, options);
    if (!failure) {
        return {std::move(tree)};
    }
    return {{}, failure == json::error::too_deep || failure == json::error::exponent_overflow};
}

const json::value* member(const json::object& tree, std::string_view key) {
    return tree.if_contains({key.data(), key.size()});
}

bool is_true(const json::value* value) {
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<std::int64_t> largest_limit(const json::object& tree) {
    std::optional<std::int64_t> largest;
    for (const char* key : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
        const json::value* value = member(tree, key);
        if (value != nullptr && value->is_int64() && value->get_int64() >= 1 &&
            value->get_int64() <= quantity_limit) {
            largest = std::max(largest.value_or(0), value->get_int64());
        }
    }
    return largest;
}

void compare(
    endpoint_kind kind, std::string_view body, const json::object& tree, const request_facts& facts
) {
    const json::value* model = member(tree, "model");
    require(model != nullptr && model->is_string(), "an accepted body names its model");
    const json::string& name = model->get_string();
    require(std::string_view(name.data(), name.size()) == facts.model, "the model is the tree's");
    const auto raw = tree_of(body.substr(facts.model_begin, facts.model_end - facts.model_begin));
    require(raw.tree == *model, "model_begin and model_end hold the model's JSON");
    if (kind != endpoint_kind::other) {
        require(facts.stream == is_true(member(tree, "stream")), "stream is the tree's");
    }
    if (kind != endpoint_kind::embeddings) {
        const auto limit = largest_limit(tree);
        require(
            facts.output_limit == (limit ? std::optional(tokens(*limit)) : std::nullopt),
            "the output limit is the tree's largest"
        );
    }
    require(facts.prompt >= tokens(1) && facts.longest_prompt >= tokens(1), "prompts count");
    require(facts.longest_prompt <= facts.prompt, "one prompt is part of all of them");
    require(facts.prompts >= 1 && facts.sequences >= facts.prompts, "each prompt has an answer");
    const tokens reserved = reserved_output(facts, tokens(4096), tokens(256));
    require(!facts.has_output || reserved >= tokens(facts.sequences), "each answer has a token");
}

void rewrite(
    endpoint_kind kind, std::string_view body, const json::object& tree, const request_facts& facts
) {
    body_rewrite change(body, facts);
    require(change.joined() == body, "no edit, no difference");
    const std::string_view name = "a \"name\"\n\x01 \xF0\x9F\x98\x80";
    change.set_model(name);
    const bool asked = change.ask_for_usage();
    const std::string changed = change.joined();
    require(changed.size() == change.size(), "the size is that of the pieces");

    json::object expected = tree;
    expected["model"] = json::string_view(name.data(), name.size());
    if (asked) {
        json::value& options = expected["stream_options"];
        (options.is_object() ? options.get_object() : options.emplace_object())["include_usage"] =
            true;
    }
    require(tree_of(changed).tree == json::value(expected), "only what was edited differs");
    const auto facts_again = inspect(kind, changed);
    require(facts_again.has_value(), "a rewritten body is accepted");
    require(facts_again->model == name && facts_again->prompt == facts.prompt, "with its facts");
    require(!asked || facts_again->include_usage, "usage was asked for");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::exact_text input(fuzz::text_of(data, size));
    const std::string_view body = input.view();
    const auto [tree, undecided] = tree_of(body);
    using enum endpoint_kind;
    for (const auto kind : {chat, completions, embeddings, responses, messages, other}) {
        const auto facts = inspect(kind, body);
        if (undecided) {
            continue;
        }
        if (facts) {
            require(tree && tree->is_object(), "an accepted body is a JSON object");
            compare(kind, body, tree->get_object(), *facts);
            rewrite(kind, body, tree->get_object(), *facts);
        } else {
            require(!facts.error().message.empty(), "a refusal says why");
            const bool syntax = facts.error().message.starts_with("body is not valid");
            require(!syntax || !tree, "what is refused as JSON is no JSON");
        }
    }
    return 0;
}
