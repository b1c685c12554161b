#include "gateway/forward_fields.hpp"

#include <fmt/format.h>

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

}  // namespace

std::string permit_text(const coord::permit& permit, tokens predicted) {
    return fmt::format(
        "id={:x}-{};worker={};epoch={};slot={};fencing={};kv={};predict={}",
        static_cast<std::uint64_t>(permit.ticket.session),
        permit.ticket.number,
        permit.worker->id,
        static_cast<std::uint64_t>(permit.worker->epoch),
        permit.slot,
        static_cast<std::uint64_t>(permit.token),
        permit.peak_kv.count(),
        predicted.count()
    );
}

void forward_fields(
    const net::request_head& from, std::string_view id, std::string_view permit, field_list& out
) {
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
            (!connection.empty() && is_named(connection, one.name))) {
            continue;
        }
        if (net::iequals(one.name, "traceparent") && !is_traceparent(one.value)) {
            continue;
        }
        out.borrow(one.name, one.value);
    }
    out.borrow("x-request-id", id);
    out.borrow("x-sluice-permit", permit);
}

}  // namespace sluice::gateway
