#include "net/http.hpp"

#include <array>
#include <cstring>

namespace sluice::net {

namespace {

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

}  // namespace

bool iequals(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

std::optional<std::string_view> find_field(
    std::span<const header_field> fields, std::string_view name
) {
    for (const header_field& one : fields) {
        if (iequals(one.name, name)) {
            return one.value;
        }
    }
    return std::nullopt;
}

bool is_hop_by_hop(std::string_view name) {
    switch (name.size()) {
        case 2:
            return iequals(name, "te");
        case 7:
            return iequals(name, "trailer") || iequals(name, "upgrade");
        case 10:
            return iequals(name, "connection") || iequals(name, "keep-alive");
        case 16:
            return iequals(name, "proxy-connection");
        case 17:
            return iequals(name, "transfer-encoding");
        case 18:
            return iequals(name, "proxy-authenticate");
        case 19:
            return iequals(name, "proxy-authorization");
        default:
            return iequals(name, "proxy-authentication-info");
    }
}

namespace {

struct status_line {
    int status;
    std::string_view reason;
};

constexpr auto statuses = std::to_array<status_line>({
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {511, "Network Authentication Required"},
});

}  // namespace

std::string_view reason_phrase(int status) {
    const auto at = std::ranges::lower_bound(statuses, status, {}, &status_line::status);
    return at != statuses.end() && at->status == status ? at->reason : std::string_view();
}

}  // namespace sluice::net
