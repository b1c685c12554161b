#include "app/http_get.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>

#include "app/units_text.hpp"
#include "net/client.hpp"

namespace sluice::app {

namespace {

/// A list of all permits of a large fleet is some megabytes.
constexpr std::size_t longest_answer = std::size_t{64} * 1024 * 1024;

net::task<result<std::string>> get(
    net::client_pool& pool,
    const net::endpoint& to,
    const std::string& target,
    duration limit,
    net::abort_signal& signal
) {
    auto opened = co_await pool.open(to, limit, signal);
    if (!opened) {
        co_return std::unexpected(opened.error());
    }
    net::upstream up = std::move(*opened);
    net::abort_action on_abort(signal, [&up] { up.close(); });
    const auto sent = co_await up.send({"GET", target, {}, ""});
    if (!sent) {
        co_return std::unexpected(sent.error());
    }
    const auto head = co_await up.read_head();
    if (!head) {
        co_return std::unexpected(head.error());
    }
    const int status = (*head)->status;
    std::string body;
    for (;;) {
        const auto piece = co_await up.read_body();
        if (!piece) {
            co_return std::unexpected(piece.error());
        }
        if (piece->empty()) {
            break;
        }
        if (body.size() + piece->size() > longest_answer) {
            co_return fail(errc::limit_exceeded, "the answer is longer than 64 MiB");
        }
        body += *piece;
    }
    if (status != 200) {
        co_return fail(errc::protocol_error, fmt::format("it answered {}", status));
    }
    co_return body;
}

}  // namespace

url_parts split_url(std::string_view url) {
    const std::size_t scheme = url.find("://");
    const std::size_t start = scheme == std::string_view::npos ? 0 : scheme + 3;
    // Behind the "?" stand files, which have slashes too.
    std::string_view rest = url.substr(0, std::min(url.find_first_of("?#", start), url.size()));
    const std::size_t slash = std::min(rest.find('/', start), rest.size());
    std::string_view path = rest.substr(slash);
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    return {std::string(rest.substr(0, slash)), std::string(path)};
}

result<std::string> http_get(std::string_view url, std::string_view path, duration limit) {
    const url_parts parts = split_url(url);
    const auto to = net::parse_endpoint(url);
    if (!to) {
        return std::unexpected(to.error());
    }
    const std::string target = parts.path + std::string(path);
    net::asio::io_context context(1);
    result<std::string> got = fail(errc::cancelled, "nothing came");
    {
        net::client_pool pool(context.get_executor());
        net::abort_signal signal;
        net::deadline end(context.get_executor(), signal, 0);
        end.arm(limit);
        net::asio::co_spawn(
            context.get_executor(),
            get(pool, *to, target, limit, signal),
            [&](std::exception_ptr problem, result<std::string> answer) {
                end.disarm();
                context.stop();
                if (problem) {
                    std::rethrow_exception(problem);
                }
                got = std::move(answer);
            }
        );
        context.run();
        if (!got && signal.aborted()) {
            got = fail(errc::timed_out, fmt::format("no answer within {}", format_duration(limit)));
        }
    }
    if (!got) {
        return fail(
            got.error().code, fmt::format("{}{}: {}", parts.authority, target, got.error().message)
        );
    }
    return got;
}

}  // namespace sluice::app
