#include "gateway/request_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sluice::gateway {

namespace {

bool is_visible(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    });
}

std::unexpected<openai::bad_request> bad(std::string_view field, std::string_view allowed) {
    return std::unexpected(openai::bad_request{
        fmt::format("the header {} must be {}", field, allowed), std::string(field)
    });
}

std::optional<core::priority> class_named(std::string_view name) {
    for (const auto one : {core::priority::high, core::priority::normal, core::priority::low}) {
        if (net::iequals(name, core::to_string(one))) {
            return one;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string_view> usable_request_id(const net::request_head& head) {
    const auto given = head.field("x-request-id");
    if (!given || given->empty() || given->size() > max_request_id || !is_visible(*given)) {
        return std::nullopt;
    }
    return given;
}

std::expected<request_labels, openai::bad_request> read_labels(
    const net::request_head& head, bool names_tenants
) {
    request_labels labels;
    for (const net::header_field& field : head.fields) {
        // The common prefix decides for nearly every field of nearly every request.
        if (field.name.size() < 15 || !net::iequals(field.name.substr(0, 9), "x-sluice-")) {
            continue;
        }
        const std::string_view name = field.name.substr(9);
        if (net::iequals(name, "priority")) {
            const auto cls = class_named(field.value);
            if (!cls) {
                return bad("x-sluice-priority", "high, normal or low");
            }
            labels.cls = *cls;
            labels.class_given = true;
        } else if (net::iequals(name, "tenant")) {
            if (!names_tenants) {
                continue;
            }
            if (field.value.size() > max_tenant || !is_visible(field.value)) {
                return bad("x-sluice-tenant", "at most 64 visible ASCII characters");
            }
            labels.tenant = field.value;
        } else if (net::iequals(name, "timeout-ms")) {
            std::int64_t millis = 0;
            const char* const end = field.value.data() + field.value.size();
            const auto [stop, failed] = std::from_chars(field.value.data(), end, millis);
            if (failed != std::errc() || stop != end || millis < 1) {
                return bad("x-sluice-timeout-ms", "a whole number of milliseconds, at least 1");
            }
            labels.patience = std::min<duration>(
                std::chrono::milliseconds(std::min<std::int64_t>(millis, 1'000'000'000)),
                max_patience
            );
        }
    }
    return labels;
}

core::priority class_of(std::int64_t priority, config::body_priority_mode mode) {
    if (mode == config::body_priority_mode::off || priority == 0) {
        return core::priority::normal;
    }
    const bool first = (priority > 0) == (mode == config::body_priority_mode::higher_first);
    return first ? core::priority::high : core::priority::low;
}

void take_body_priority(
    request_labels& labels, std::int64_t priority, config::body_priority_mode mode
) {
    if (labels.class_given || priority == 0 || mode == config::body_priority_mode::off) {
        return;
    }
    labels.cls = class_of(priority, mode);
    lower_to_most(labels);
}

void lower_to_most(request_labels& labels) {
    if (labels.cls < labels.most) {
        labels.cls = labels.most;
        labels.lowered = true;
    }
}

bool is_traceparent(std::string_view value) {
    // 00-<32 hex>-<16 hex>-<2 hex>
    constexpr std::size_t length = 55;
    if (value.size() < length || value[2] != '-' || value[35] != '-' || value[52] != '-') {
        return false;
    }
    const std::string_view version = value.substr(0, 2);
    const std::string_view trace = value.substr(3, 32);
    const std::string_view span = value.substr(36, 16);
    if (!is_hex(version) || version == "ff" || !is_hex(trace) || !is_hex(span) ||
        !is_hex(value.substr(53, 2))) {
        return false;
    }
    if (value.size() > length && (version == "00" || value[length] != '-')) {
        return false;
    }
    return trace.find_first_not_of('0') != trace.npos && span.find_first_not_of('0') != span.npos;
}

std::string make_request_id(std::uint64_t high, std::uint64_t low) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string id(32, '0');
    for (std::size_t i = 0; i < 16; ++i) {
        id[15 - i] = digits[(high >> (4 * i)) & 0xF];
        id[31 - i] = digits[(low >> (4 * i)) & 0xF];
    }
    return id;
}

}  // namespace sluice::gateway
