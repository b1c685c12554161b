// The only unit that includes Beast; header-only mode is right for a single user.
#include "net/http_parser.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace sluice::net {

namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using beast_error = boost::beast::error_code;

std::string_view plain(string_view text) {
    return {text.data(), text.size()};
}

parse_fault describe(beast_error failure) {
    struct entry {
        http::error code;
        int status;
        const char* what;
    };
    static constexpr entry entries[] = {
        {http::error::bad_method, 400, "the method is malformed"},
        {http::error::bad_target, 400, "the request target is malformed"},
        {http::error::bad_version, 400, "the HTTP version is malformed"},
        {http::error::bad_status, 400, "the status code is malformed"},
        {http::error::bad_reason, 400, "the reason phrase is malformed"},
        {http::error::bad_field, 400, "a header field name is malformed"},
        {http::error::bad_value, 400, "a header field value is malformed"},
        {http::error::bad_obs_fold, 400, "a header field is folded over lines"},
        {http::error::bad_line_ending, 400, "a line does not end in CR LF"},
        {http::error::bad_content_length, 400, "Content-Length is malformed or contradicted"},
        {http::error::multiple_content_length, 400, "two Content-Length values differ"},
        {http::error::bad_transfer_encoding, 400, "Transfer-Encoding is repeated or contradicted"},
        {http::error::bad_chunk, 400, "a chunk size is malformed"},
        {http::error::bad_chunk_extension, 400, "a chunk extension is malformed"},
        {http::error::header_limit, 431, "the head is larger than the limit"},
    };
    for (const entry& one : entries) {
        if (failure == one.code) {
            return {one.status, one.what};
        }
    }
    return {400, failure.message()};
}

/// "HTTP/d.d" at the end of the first line: a version, though not ours.
bool names_a_version(std::string_view message) {
    const std::string_view line = message.substr(0, message.find('\r'));
    const std::size_t at = line.rfind(' ');
    const std::string_view version = at == line.npos ? line : line.substr(at + 1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) &&
           version[6] == '.' && digit(version[7]);
}

/// What both directions share: the fields, the compaction of bodies, the limits.
template <bool IsRequest>
class message_parser final : public http::basic_parser<IsRequest> {
    using base = http::basic_parser<IsRequest>;
    using head_type = std::conditional_t<IsRequest, request_head, response_head>;

public:
    message_parser(head_type& into, std::vector<header_field>& trailers, std::size_t limit)
        : x_head(into), x_trailers(trailers), x_limit(limit) {
        into.fields.clear();
        trailers.clear();
        base::body_limit(boost::none);  // the owner counts
        base::header_limit(static_cast<std::uint32_t>(
            std::min<std::size_t>(limit, std::numeric_limits<std::uint32_t>::max())
        ));
    }

    parse_step parse_head(std::string_view message) {
        follow(message.data());
        x_end = message.data() + message.size();
        const std::string_view fresh = message.substr(x_used);
        beast_error failure;
        x_used += base::put(boost::asio::const_buffer(fresh.data(), fresh.size()), failure);
        if (failure && failure != http::error::need_more) {
            return refuse(failure, message);
        }
        if (base::is_header_done()) {
            if (x_used > x_limit) {
                return refuse(http::error::header_limit, message);
            }
            base::eager(true);
            return finish_head();
        }
        // Beast measures what is left after the fields it has taken, not the whole head.
        if (message.size() >= x_limit) {
            return refuse(http::error::header_limit, message);
        }
        return parse_step::need_more;
    }

    body_step parse_body(char* data, std::size_t size) {
        x_write = nullptr;
        x_body_size = 0;
        x_end = data + size;
        if (base::is_done()) {
            return {parse_step::done, 0, {}};
        }
        // A last chunk in fewer than five bytes trips an assertion of Beast's in debug builds.
        if (size == 0 || (size < 5 && base::chunked() && *data == '0')) {
            return {parse_step::need_more, 0, {}};
        }
        beast_error failure;
        body_step out;
        out.consumed = base::put(boost::asio::const_buffer(data, size), failure);
        if (failure && failure != http::error::need_more) {
            if (x_fault.what.empty()) {
                x_fault = describe(failure);
            }
            out.step = parse_step::failed;
            return out;
        }
        out.step = base::is_done() ? parse_step::done : parse_step::need_more;
        out.data = {x_write, x_body_size};
        return out;
    }

    std::size_t head_size() const { return x_used; }
    parse_fault& fault() { return x_fault; }

private:
    parse_step refuse(beast_error failure, std::string_view message) {
        if (x_fault.what.empty()) {
            x_fault = describe(failure);
            if (IsRequest && failure == http::error::bad_version && names_a_version(message)) {
                x_fault = {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
            }
        }
        return parse_step::failed;
    }

    void refuse_field(int status, const char* what, beast_error& ec) {
        x_fault = {status, what};
        ec = http::error::bad_value;
    }

    /// The caller's buffer moved: so do the views.
    void follow(const char* base_now) {
        if (x_base != nullptr && x_base != base_now) {
            const auto moved = [&](std::string_view& view) {
                if (!view.empty()) {
                    view = {base_now + (view.data() - x_base), view.size()};
                }
            };
            for (header_field& one : x_head.fields) {
                moved(one.name);
                moved(one.value);
            }
            if constexpr (IsRequest) {
                moved(x_head.method);
                moved(x_head.target);
            } else {
                moved(x_head.reason);
            }
        }
        x_base = base_now;
    }

    parse_step finish_head() {
        x_head.chunked = base::chunked();
        x_head.keep_alive = base::keep_alive();
        x_head.content_length.reset();
        if (const auto length = base::content_length()) {
            x_head.content_length = *length;
        }
        if (x_coding && !x_head.chunked) {
            x_fault = {400, "Transfer-Encoding is malformed"};
            return parse_step::failed;
        }
        if constexpr (IsRequest) {
            if (x_head.version == 11 && x_hosts != 1) {
                x_fault = {400, "exactly one Host field is required"};
                return parse_step::failed;
            }
            if (x_head.version == 10 && x_head.chunked) {
                x_fault = {400, "HTTP/1.0 has no Transfer-Encoding"};
                return parse_step::failed;
            }
        }
        return parse_step::done;
    }

    void
    on_request_impl(http::verb, string_view method, string_view target, int version, beast_error&)
        override {
        if constexpr (IsRequest) {
            x_head.method = plain(method);
            x_head.target = plain(target);
            x_head.version = version;
            x_head.expect_continue = false;
        }
    }
    void on_response_impl(int status, string_view reason, int version, beast_error&) override {
        if constexpr (!IsRequest) {
            x_head.status = status;
            x_head.reason = plain(reason);
            x_head.version = version;
        }
    }

    void on_field_impl(http::field id, string_view name, string_view value, beast_error& ec)
        override {
        const bool trailer = base::is_header_done();
        std::vector<header_field>& fields = trailer ? x_trailers : x_head.fields;
        if (fields.size() == max_fields) {
            return refuse_field(431, "the message has too many header fields", ec);
        }
        // Name and value lie in the input, except that Beast joins folded lines elsewhere.
        if (!value.empty() && (value.data() < name.data() || value.data() >= x_end)) {
            return refuse_field(400, "a header field is folded over lines", ec);
        }
        if (!trailer) {
            check_field(id, value, ec);
        }
        fields.push_back({plain(name), plain(value)});
    }

    void check_field(http::field id, string_view value, beast_error& ec) {
        if (id == http::field::transfer_encoding) {
            x_coding = true;
            if (!iequals(plain(value), "chunked")) {
                refuse_field(501, "the only transfer coding spoken here is chunked", ec);
            }
        } else if (IsRequest && id == http::field::host) {
            ++x_hosts;
        } else if (IsRequest && id == http::field::expect) {
            if (!iequals(plain(value), "100-continue")) {
                refuse_field(417, "the only expectation known here is 100-continue", ec);
            } else if constexpr (IsRequest) {
                x_head.expect_continue = x_head.version == 11;
            }
        }
    }

    void on_header_impl(beast_error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error&) override {}
    void on_chunk_header_impl(std::uint64_t, string_view, beast_error&) override {}
    void on_finish_impl(beast_error&) override {}
    std::size_t on_body_impl(string_view body, beast_error&) override { return take(body); }
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, beast_error&) override {
        return take(body);
    }

    /// Moves a later piece up behind the earlier ones, over framing that is used up.
    std::size_t take(string_view piece) {
        // The input is the caller's mutable buffer; Beast only shows it as const.
        char* const at = const_cast<char*>(piece.data());
        if (x_write == nullptr) {
            x_write = at;
        } else if (x_write + x_body_size != at) {
            std::memmove(x_write + x_body_size, at, piece.size());
        }
        x_body_size += piece.size();
        return piece.size();
    }

    head_type& x_head;
    std::vector<header_field>& x_trailers;
    std::size_t x_limit;
    std::size_t x_used = 0;
    const char* x_base = nullptr;
    const char* x_end = nullptr;
    char* x_write = nullptr;
    std::size_t x_body_size = 0;
    unsigned x_hosts = 0;
    bool x_coding = false;
    parse_fault x_fault;
};

}  // namespace

struct request_parser::impl {
    std::vector<header_field> trailers;
    std::optional<message_parser<true>> message;
};

request_parser::request_parser() : x_impl(std::make_unique<impl>()) {}
request_parser::~request_parser() = default;

void request_parser::begin(request_head& into, std::size_t limit) {
    x_impl->message.emplace(into, x_impl->trailers, limit);
}
parse_step request_parser::parse_head(std::string_view message) {
    return x_impl->message->parse_head(message);
}
std::size_t request_parser::head_size() const {
    return x_impl->message->head_size();
}
bool request_parser::expects_body() const {
    return !x_impl->message->is_done();
}
body_step request_parser::parse_body(char* data, std::size_t size) {
    return x_impl->message->parse_body(data, size);
}
const parse_fault& request_parser::fault() const {
    return x_impl->message->fault();
}

struct response_parser::impl {
    std::vector<header_field> trailers;
    std::optional<message_parser<false>> message;
};

response_parser::response_parser() : x_impl(std::make_unique<impl>()) {}
response_parser::~response_parser() = default;

void response_parser::begin(response_head& into, std::size_t limit, bool no_body) {
    x_impl->message.emplace(into, x_impl->trailers, limit);
    x_impl->message->skip(no_body);
}
parse_step response_parser::parse_head(std::string_view message) {
    return x_impl->message->parse_head(message);
}
std::size_t response_parser::head_size() const {
    return x_impl->message->head_size();
}
bool response_parser::expects_body() const {
    return !x_impl->message->is_done();
}
body_step response_parser::parse_body(char* data, std::size_t size) {
    return x_impl->message->parse_body(data, size);
}
bool response_parser::end_of_input() {
    beast_error failure;
    x_impl->message->put_eof(failure);
    return !failure;
}
std::span<const header_field> response_parser::trailers() const {
    return x_impl->trailers;
}
const parse_fault& response_parser::fault() const {
    return x_impl->message->fault();
}

}  // namespace sluice::net
