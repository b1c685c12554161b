#include "openai/rewrite.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/json_text.hpp"

namespace sluice::openai {

namespace {

constexpr std::string_view usage_asked = R"({"include_usage":true})";

}  // namespace

body_rewrite::body_rewrite(std::string_view body, const request_facts& facts)
    : x_body(body), x_facts(facts) {
    SLUICE_ASSERT(facts.model_begin < facts.model_end && facts.model_end <= body.size());
    SLUICE_ASSERT(facts.stream_options_end <= body.size());
}

void body_rewrite::set_model(std::string_view name) {
    put({x_facts.model_begin, x_facts.model_end, json_quote(name)});
}

bool body_rewrite::ask_for_usage() {
    if (!x_facts.stream || x_facts.include_usage_given) {
        return false;
    }
    const std::size_t begin = x_facts.stream_options_begin;
    const std::size_t end = x_facts.stream_options_end;
    if (end == 0) {
        // The model is a member, so a comma may follow the opening brace.
        const std::size_t brace = x_body.find('{') + 1;
        put({brace, brace, R"("stream_options":)" + std::string(usage_asked) + ','});
        return true;
    }
    const std::string_view given = x_body.substr(begin, end - begin);
    if (given.front() != '{') {
        if (given != "null") {  // what a foreign API means by it is not ours to change
            return false;
        }
        put({begin, end, std::string(usage_asked)});
        return true;
    }
    // inspect saw no include_usage in it, so a new member cannot make a second one.
    const bool empty = given.find_first_not_of(" \t\r\n", 1) == given.size() - 1;
    put({begin + 1, begin + 1, std::string(R"("include_usage":true)") + (empty ? "" : ",")});
    return true;
}

void body_rewrite::put(edit change) {
    std::erase_if(x_edits, [&](const edit& old) {
        return old.begin == change.begin && old.end == change.end;
    });
    x_edits.push_back(std::move(change));
    std::ranges::sort(x_edits, {}, &edit::begin);
    x_pieces.clear();
}

std::span<const std::string_view> body_rewrite::pieces() {
    if (x_pieces.empty()) {
        std::size_t at = 0;
        for (const edit& change : x_edits) {
            x_pieces.push_back(x_body.substr(at, change.begin - at));
            x_pieces.push_back(change.text);
            at = change.end;
        }
        x_pieces.push_back(x_body.substr(at));
    }
    return x_pieces;
}

std::size_t body_rewrite::size() {
    std::size_t sum = 0;
    for (const std::string_view piece : pieces()) {
        sum += piece.size();
    }
    return sum;
}

std::string body_rewrite::joined() {
    std::string out;
    out.reserve(size());
    for (const std::string_view piece : pieces()) {
        out += piece;
    }
    return out;
}

}  // namespace sluice::openai
