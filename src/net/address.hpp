// "host:port" taken apart. Internal to net.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace sluice::net {

struct host_port {
    std::string host;  ///< Without the brackets of an IPv6 literal; may be empty.
    unsigned port = 0;
};

/// "host:port", "[v6]:port", ":port"; without a port, `default_port` (0: a port is required).
result<host_port> split_host_port(std::string_view text, unsigned default_port);

/// The reverse.
std::string join_host_port(std::string_view host, std::string_view port);

}  // namespace sluice::net
