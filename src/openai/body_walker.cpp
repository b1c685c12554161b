#include "openai/body_walker.hpp"

#include <algorithm>

#include "openai/text_weight.hpp"

namespace sluice::openai {

namespace {

bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && is_digit(text[at])) {
        ++at;
    }
    return at;
}

bool is_number(std::string_view text) {
    std::size_t at = text.starts_with('-') ? 1 : 0;
    const std::size_t whole = at;
    at = skip_digits(text, at);
    if (at == whole || (text[whole] == '0' && at > whole + 1)) {
        return false;
    }
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = at + 1;
        at = skip_digits(text, fraction);
        if (at == fraction) {
            return false;
        }
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1 : 0;
        const std::size_t exponent = at;
        at = skip_digits(text, exponent);
        if (at == exponent) {
            return false;
        }
    }
    return at == text.size();
}

template <std::size_t Size>
bool is_one_of(std::string_view word, const std::array<std::string_view, Size>& words) {
    return std::ranges::find(words, word) != words.end();
}

// Values of `type` that stand for media in the chat, responses and messages APIs; base64 is the
// source of an attached document.
constexpr std::array<std::string_view, 10> media_types{
    "image_url",
    "input_image",
    "image",
    "input_audio",
    "audio_url",
    "video_url",
    "file",
    "input_file",
    "image_embeds",
    "base64"
};
// Members that make a part without a `type` a medium.
constexpr std::array<std::string_view, 6> media_members{
    "image_url", "image", "input_audio", "audio_url", "video_url", "file"
};
// Members of messages and parts that do not reach the model as text of their own.
constexpr std::array<std::string_view, 11> silent_members{
    "role",
    "type",
    "id",
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "item_id",
    "status",
    "detail",
    "cache_control",
    "audio"
};
// Members that carry JSON for the model: what stands in them is no message content.
constexpr std::array<std::string_view, 3> json_members{"tool_calls", "function_call", "input"};

}  // namespace

body_walker::body_walker(const json_structure& tokens, const inspect_options& options)
    : x_tokens(tokens),
      x_options(options),
      x_end(tokens.size() == 0 ? 0 : tokens.next(tokens.size() - 1)) {}

bool body_walker::refuse(std::string_view what) {
    x_error.param.clear();
    x_error.message = "body is not valid JSON at byte " + std::to_string(position()) + ": ";
    x_error.message += at_end() ? std::string_view("it ends too early") : what;
    return false;
}

bool body_walker::refuse(std::string_view param, std::string message) {
    x_error.param = param;
    x_error.message = std::move(message);
    return false;
}

// White space counts too: pretty-printed schemas reach the prompt about as they are.
void body_walker::weigh_token(weigh mode) {
    if (mode == weigh::json) {
        x_weight += static_cast<std::int64_t>(x_tokens.next(x_at) - x_tokens.begin(x_at));
    }
}

bool body_walker::take_string(weigh mode) {
    const std::string_view text = x_tokens.text(x_at);
    if (text.size() < 2 || text.back() != '"') {
        return refuse("a string is broken");
    }
    const std::string_view raw = text.substr(1, text.size() - 2);
    text_count count;
    if (!count_text(raw, count)) {
        return refuse("an escape in this string is invalid");
    }
    if (mode != weigh::nothing) {
        x_weight += count.weight(x_options.bytes_per_token);
    }
    if (mode == weigh::json) {
        x_weight +=
            static_cast<std::int64_t>(x_tokens.next(x_at) - x_tokens.begin(x_at) - raw.size());
    }
    ++x_at;
    return true;
}

bool body_walker::take_bare(weigh mode) {
    if (at_end()) {
        return refuse("");
    }
    const std::string_view text = x_tokens.text(x_at);
    if (text != "null" && text != "true" && text != "false" && !is_number(text)) {
        return refuse("a value is expected here");
    }
    weigh_token(mode);
    if (mode == weigh::parts && text != "null") {
        x_weight += static_cast<std::int64_t>(text.size());
    }
    ++x_at;
    return true;
}

bool body_walker::take_key(std::string_view& key, std::string& buffer) {
    if (kind() != '"') {
        return refuse("a member's name in quotes is expected here");
    }
    const std::string_view text = x_tokens.text(x_at);
    key = text.substr(1, text.size() < 2 ? 0 : text.size() - 2);
    if (!take_string(weigh::nothing)) {
        return false;
    }
    if (kind() != ':') {
        return refuse("a colon is missing");
    }
    ++x_at;
    if (key.find('\\') != std::string_view::npos) {
        unescape(key, buffer);  // take_string has seen that it can be
        key = buffer;
    }
    return true;
}

weigh body_walker::choose(frame& owner, std::string_view key) {
    if (key == "type" && kind() == '"') {
        const std::string_view text = token();
        owner.typed = true;
        owner.media = is_one_of(text.substr(1, text.size() - 2), media_types);
        return weigh::nothing;
    }
    if (is_one_of(key, media_members)) {
        owner.linked = true;
        return weigh::parts;
    }
    if (is_one_of(key, silent_members)) {
        return weigh::nothing;
    }
    return is_one_of(key, json_members) ? weigh::json : weigh::parts;
}

bool body_walker::take_member(frame& owner, weigh& mode) {
    if (owner.mode == weigh::parts) {
        std::string_view key;
        if (!take_key(key, x_buffer)) {
            return false;
        }
        mode = choose(owner, key);
        return true;
    }
    if (kind() != '"') {
        return refuse("a member's name in quotes is expected here");
    }
    if (!take_string(owner.mode)) {
        return false;
    }
    if (kind() != ':') {
        return refuse("a colon is missing");
    }
    weigh_token(owner.mode);
    ++x_at;
    mode = owner.mode;
    return true;
}

bool body_walker::open(weigh mode, std::size_t depth) {
    if (depth + x_level >= max_depth) {
        refuse("more than 512 objects and lists inside each other");
        static_assert(max_depth == 512);
        return false;
    }
    x_frames[x_level] = {kind() == '{', mode, false, false, false, x_weight, x_images};
    ++x_level;
    weigh_token(mode);
    ++x_at;
    return true;
}

void body_walker::close() {
    const frame& top = x_frames[x_level - 1];
    weigh_token(top.mode);
    ++x_at;
    --x_level;
    if (top.mode == weigh::parts && top.object && (top.typed ? top.media : top.linked)) {
        // Whatever stood in it was the medium or its address.
        x_weight = top.weight;
        x_images = top.images + 1;
    }
}

// Takes commas and closing brackets up to the next value (true, `mode` is how it counts) or the
// end of the outermost container (true, no level is left).
bool body_walker::after_value(weigh& mode) {
    while (x_level > 0) {
        frame& top = x_frames[x_level - 1];
        if (kind() == ',') {
            weigh_token(top.mode);
            ++x_at;
            mode = top.mode;
            return !top.object || take_member(top, mode);
        }
        if (kind() != (top.object ? '}' : ']')) {
            return refuse(top.object ? "a comma or } is missing" : "a comma or ] is missing");
        }
        close();
    }
    return true;
}

bool body_walker::walk(weigh mode, std::size_t depth) {
    x_level = 0;
    while (true) {
        const char found = kind();
        bool empty = false;
        if (found == '{' || found == '[') {
            if (!open(mode, depth)) {
                return false;
            }
            frame& top = x_frames[x_level - 1];
            empty = kind() == (top.object ? '}' : ']');
            if (!empty) {
                if (top.object && !take_member(top, mode)) {
                    return false;
                }
                continue;
            }
        } else if (!(found == '"' ? take_string(mode) : take_bare(mode))) {
            return false;
        }
        if (!after_value(mode)) {
            return false;
        }
        if (x_level == 0) {
            return true;
        }
    }
}

}  // namespace sluice::openai
