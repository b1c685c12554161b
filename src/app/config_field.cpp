#include "app/config_field.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/units_text.hpp"

namespace sluice::app {

namespace {

bool all_of(std::string_view text, std::string_view allowed) {
    return text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";
constexpr std::string_view digits = "0123456789";
constexpr std::string_view name_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";

/// host:port, [v6]:port; port 0 to 65535.
bool is_host_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return false;
    }
    const std::string_view host = text.substr(0, colon);
    const std::string_view port_text = text.substr(colon + 1);
    const auto port = all_of(port_text, digits) ? parse_integer(port_text) : std::nullopt;
    if (!port || *port > 65'535) {
        return false;
    }
    if (host.front() == '[') {
        return host.size() > 2 && host.back() == ']' &&
               all_of(host.substr(1, host.size() - 2), "0123456789abcdefABCDEF:.");
    }
    return host.find_first_of("[]:/ @") == std::string_view::npos;
}

bool is_http_url(std::string_view text) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!text.starts_with(scheme)) {
            continue;
        }
        text.remove_prefix(scheme.size());
        const std::string_view authority = text.substr(0, text.find_first_of("/?"));
        const bool bare =
            !authority.empty() && authority.find_first_of(":[]@ ") == std::string_view::npos;
        return bare || is_host_port(authority);
    }
    return false;
}

bool is_backend(std::string_view text) {
    constexpr std::array schemes{
        "gateway://",
        "redis://",
        "rediss://",
        "redis-sentinel://",
        "redis-cluster://",
        "zookeeper://",
        "etcd://",
        "etcds://",
    };
    return text == "embedded" || std::ranges::any_of(schemes, [&](std::string_view scheme) {
               return text.starts_with(scheme) && text.size() > scheme.size();
           });
}

bool matches(text_format format, std::string_view text) {
    switch (format) {
        case text_format::any:
            return !text.empty();
        case text_format::host_port:
            return is_host_port(text);
        case text_format::http_url:
            return is_http_url(text);
        case text_format::backend:
            return is_backend(text);
        case text_format::sha256:
            return text.size() == 64 && all_of(text, hex_digits);
        case text_format::name:
            return !text.empty() && text.size() <= 256 && all_of(text, name_characters);
    }
    return false;
}

std::string_view describe(text_format format) {
    switch (format) {
        case text_format::any:
            return "a text that is not empty";
        case text_format::host_port:
            return "an address such as 127.0.0.1:8080";
        case text_format::http_url:
            return "a URL such as http://127.0.0.1:8001";
        case text_format::backend:
            return "embedded or a backend address such as redis://127.0.0.1:6379";
        case text_format::sha256:
            return "64 hexadecimal digits";
        case text_format::name:
            return "a name of letters, digits and . _ - / :";
    }
    return "a text";
}

bool in_range(const field_info& info, std::int64_t value) {
    return value >= info.min && value <= info.max;
}

/// " from A to B", " of at least A", " of at most B" or nothing, with numbers spelled by `spell`.
template <class Spell>
std::string range_words(const field_info& info, Spell spell) {
    const bool low = info.min > 0;
    const bool high = info.max < quantity_limit;
    if (low && high) {
        return fmt::format(" from {} to {}", spell(info.min), spell(info.max));
    }
    if (low) {
        return fmt::format(" of at least {}", spell(info.min));
    }
    return high ? fmt::format(" of at most {}", spell(info.max)) : std::string();
}

struct expectation_of {
    const field_info& info;
    std::string_view got;

    std::string integer() const {
        if (info.min == 0 && info.max == quantity_limit) {
            return "a whole number of at least 0";
        }
        if (info.min == 0) {
            return fmt::format("a whole number from 0 to {}", info.max);
        }
        return "a whole number" + range_words(info, [](std::int64_t n) { return n; });
    }
    std::string time() const {
        const auto spell = [](std::int64_t n) { return format_duration(duration(n)); };
        return parse_duration(got) ? "a duration" + range_words(info, spell)
                                   : "a duration such as 30s";
    }
    std::string size() const {
        const auto spell = [](std::int64_t n) { return format_bytes(bytes(n)); };
        return parse_bytes(got) ? "a size" + range_words(info, spell) : "a size such as 64KiB";
    }

    std::string operator()(std::string* /*text*/) const {
        return std::string(describe(info.format));
    }
    std::string operator()(std::optional<std::string>* /*text*/) const {
        return std::string(describe(info.format)) + " or null";
    }
    std::string operator()(std::int64_t* /*n*/) const { return integer(); }
    std::string operator()(std::optional<std::int64_t>* /*n*/) const {
        return integer() + ", or null";
    }
    std::string operator()(double* /*x*/) const {
        return fmt::format("a number from {} to {}", info.real_min, info.real_max);
    }
    std::string operator()(duration* /*d*/) const { return time(); }
    std::string operator()(std::optional<duration>* /*d*/) const { return time() + " or none"; }
    std::string operator()(bytes* /*b*/) const { return size(); }
    std::string operator()(std::optional<bytes>* /*b*/) const { return size() + " or null"; }
    std::string operator()(tokens* /*t*/) const { return integer(); }
    std::string operator()(std::optional<tokens>* /*t*/) const { return integer() + ", or null"; }
    std::string operator()(const bool_ref& flag) const {
        return flag.on_off ? "on or off" : "true or false";
    }
    std::string operator()(const enum_ref& choice) const {
        return fmt::format("one of {}", fmt::join(choice.names, ", "));
    }
    std::string operator()(const section_ref& section) const {
        return section.enabled != nullptr ? "a map of settings, or off" : "a map of settings";
    }
    std::string operator()(const list_ref& /*list*/) const { return "a list"; }
    std::string operator()(const map_ref& /*map*/) const { return "a map from names to values"; }
};

template <class Value>
bool store(Value* target, const std::optional<Value>& value, bool allowed) {
    if (!value || !allowed) {
        return false;
    }
    *target = *value;
    return true;
}

template <class Value>
bool store_optional(std::optional<Value>* target, const std::optional<Value>& value, bool allowed) {
    if (!value || !allowed) {
        return false;
    }
    *target = value;
    return true;
}

struct text_assigner {
    const field_info& info;
    std::string_view text;

    bool operator()(std::string* target) const {
        return store(target, std::optional(std::string(text)), matches(info.format, text));
    }
    bool operator()(std::optional<std::string>* target) const {
        return store_optional(target, std::optional(std::string(text)), matches(info.format, text));
    }
    bool operator()(std::int64_t* target) const {
        const auto value = parse_integer(text);
        return store(target, value, value && in_range(info, *value));
    }
    bool operator()(std::optional<std::int64_t>* target) const {
        const auto value = parse_integer(text);
        return store_optional(target, value, value && in_range(info, *value));
    }
    bool operator()(double* target) const {
        const auto value = parse_real(text);
        return store(target, value, value && *value >= info.real_min && *value <= info.real_max);
    }
    bool operator()(duration* target) const {
        const auto value = parse_duration(text);
        return store(target, value, value && in_range(info, value->count()));
    }
    bool operator()(std::optional<duration>* target) const {
        if (text == "none") {
            target->reset();
            return true;
        }
        const auto value = parse_duration(text);
        return store_optional(target, value, value && in_range(info, value->count()));
    }
    bool operator()(bytes* target) const {
        const auto value = parse_bytes(text);
        return store(target, value, value && in_range(info, value->count()));
    }
    bool operator()(std::optional<bytes>* target) const {
        const auto value = parse_bytes(text);
        return store_optional(target, value, value && in_range(info, value->count()));
    }
    bool operator()(tokens* target) const {
        const auto value = parse_integer(text);
        return store(
            target,
            value.transform([](auto n) { return tokens(n); }),
            value && in_range(info, *value)
        );
    }
    bool operator()(std::optional<tokens>* target) const {
        const auto value = parse_integer(text);
        return store_optional(
            target,
            value.transform([](auto n) { return tokens(n); }),
            value && in_range(info, *value)
        );
    }
    bool operator()(const bool_ref& flag) const {
        const bool yes = text == "true" || text == "on";
        const bool no = text == "false" || text == "off";
        if (yes || no) {
            *flag.value = yes;
        }
        return yes || no;
    }
    bool operator()(const enum_ref& choice) const {
        const auto found = std::ranges::find(choice.names, text);
        if (found == choice.names.end()) {
            return false;
        }
        *choice.value = static_cast<std::uint8_t>(found - choice.names.begin());
        return true;
    }
    bool operator()(const section_ref& section) const {
        if (section.enabled == nullptr || text != "off") {
            return false;
        }
        *section.enabled = false;
        return true;
    }
    bool operator()(const list_ref& /*list*/) const { return false; }
    bool operator()(const map_ref& /*map*/) const { return false; }
};

struct null_assigner {
    template <class Value>
    bool operator()(std::optional<Value>* target) const {
        target->reset();
        return true;
    }
    template <class Other>
    bool operator()(const Other& /*other*/) const {
        return false;
    }
};

}  // namespace

std::string expectation(const field_info& info, const value_ref& value, std::string_view got) {
    return std::visit(expectation_of{info, got}, value.kind);
}

bool assign_text(const field_info& info, const value_ref& value, std::string_view text) {
    return std::visit(text_assigner{info, text}, value.kind);
}

bool assign_null(const value_ref& value) {
    return std::visit(null_assigner{}, value.kind);
}

}  // namespace sluice::app
