#include "gateway/forward_fields.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

#include "gateway/request_labels.hpp"

namespace sluice::gateway {

namespace {

/// Whether `name` is one of the comma-separated words of a Connection field.
bool is_named(std::string_view words, std::string_view name) {
    while (!words.empty()) {
        const std::size_t comma = words.find(',');
        std::string_view word = words.substr(0, comma);
        words = comma == words.npos ? std::string_view() : words.substr(comma + 1);
        while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) {
            word.remove_prefix(1);
        }
        while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) {
            word.remove_suffix(1);
        }
        if (net::iequals(word, name)) {
            return true;
        }
    }
    return false;
}

/// Fields that the new hop, or we, say ourselves. accept-encoding: a compressed answer could not be
/// read along.
bool is_replaced(std::string_view name) {
    switch (name.size()) {
        case 4:
            return net::iequals(name, "host");
        case 6:
            return net::iequals(name, "expect");
        case 12:
            return net::iequals(name, "x-request-id");
        case 14:
            return net::iequals(name, "content-length");
        case 15:
            if (net::iequals(name, "accept-encoding")) {
                return true;
            }
            break;
        default:
            break;
    }
    return name.size() > 9 && net::iequals(name.substr(0, 9), "x-sluice-");
}

bool is_key(std::string_view name) {
    switch (name.size()) {
        case 9:
            return net::iequals(name, "x-api-key");
        case 13:
            return net::iequals(name, "authorization");
        default:
            return false;
    }
}

void add_permit(const coord::permit& permit, tokens predicted, field_list& out) {
    fmt::memory_buffer text;
    fmt::format_to(
        std::back_inserter(text),
        FMT_COMPILE("id={:x}-{};worker={};epoch={};slot={};fencing={};kv={};predict={}"),
        static_cast<std::uint64_t>(permit.ticket.session),
        permit.ticket.number,
        permit.worker->id,
        static_cast<std::uint64_t>(permit.worker->epoch),
        permit.slot,
        static_cast<std::uint64_t>(permit.token),
        permit.peak_kv.count(),
        predicted.count()
    );
    out.add("x-sluice-permit", std::string_view(text.data(), text.size()));
}

}  // namespace

void forward_fields(
    const net::request_head& from,
    std::string_view id,
    const coord::permit& permit,
    tokens predicted,
    forwarded_key key,
    field_list& out
) {
    const bool without_key = key.drop || !key.own.empty();
    std::string_view connection;
    for (const net::header_field& one : from.fields) {
        // keep-alive and close name nothing; other words are looked up below.
        if (net::iequals(one.name, "connection") && !net::iequals(one.value, "keep-alive") &&
            !net::iequals(one.value, "close")) {
            connection = one.value;
        }
    }
    for (const net::header_field& one : from.fields) {
        if (net::is_hop_by_hop(one.name) || is_replaced(one.name) ||
            (without_key && is_key(one.name)) ||
            (!connection.empty() && is_named(connection, one.name))) {
            continue;
        }
        if (net::iequals(one.name, "traceparent") && !is_traceparent(one.value)) {
            continue;
        }
        out.borrow(one.name, one.value);
    }
    if (!key.own.empty()) {
        out.add("authorization", key.own);  // copied: keys may be read anew while this is sent
    }
    out.borrow("x-request-id", id);
    add_permit(permit, predicted, out);
}

}  // namespace sluice::gateway
