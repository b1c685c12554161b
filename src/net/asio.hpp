// The one place that says which Asio the project uses: concrete executors (no type erasure on the
// streaming path), compiled once (src/net/asio_impl.cpp), and awaits that return errors as values.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sluice::net {

namespace asio = boost::asio;
using boost::system::error_code;

/// Every connection lives on the io_context (hence the thread) that accepted it.
using executor = asio::io_context::executor_type;

/// A coroutine of this project.
template <class Value = void>
using task = asio::awaitable<Value, executor>;

/// Completion token of every I/O await: a peer that went away is a branch, not a throw.
inline constexpr auto as_result = asio::as_tuple(asio::use_awaitable_t<executor>{});

using tcp = asio::ip::tcp;
using tcp_socket = asio::basic_stream_socket<tcp, executor>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, executor>;
using steady_timer = asio::basic_waitable_timer<
    std::chrono::steady_clock,
    asio::wait_traits<std::chrono::steady_clock>,
    executor>;

}  // namespace sluice::net
