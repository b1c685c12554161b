// The least that a relay can do, as the measure for ours: one thread, receive here, send there, no
// look at the bytes, a connection of its own to the upstream for each client.
#pragma once

#include <memory>

#include "base/error.hpp"

namespace sluice::lab {

class bare_relay {
public:
    /// Relays a free port of 127.0.0.1 to `upstream_port` there.
    static result<bare_relay> start(int upstream_port);
    bare_relay(bare_relay&&) noexcept;
    bare_relay& operator=(bare_relay&&) noexcept;
    /// Cuts what is open.
    ~bare_relay();

    int port() const;

private:
    struct impl;
    explicit bare_relay(std::unique_ptr<impl> of);
    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::lab
