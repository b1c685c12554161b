// What a part of `sluice bench gateway` plays on: an upstream, and before it this gateway, an nginx
// and a bare relay, each on a port of its own; everything ends with the object.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "lab/bare_relay.hpp"
#include "lab/bench_upstream.hpp"
#include "lab/child.hpp"

namespace sluice::lab {

/// A folder of its own, gone with the object.
struct scratch {
    std::filesystem::path path;
    scratch();
    ~scratch();
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string write(const std::string& name, const std::string& text) const;
    std::string read(const std::string& name) const;
};

struct peer {
    std::string name;
    int port = 0;
    int unbuffered_port = 0;         ///< For streams; the same one, except for nginx.
    const child* process = nullptr;  ///< Null: it lives in this process.
};

/// What the gateway under test is told beside its addresses.
struct pool_shape {
    int slots = 1024;
    std::string queue;  ///< "max_length: 50"; empty: the defaults.
};

class bench_stage {
public:
    explicit bench_stage(std::string self) : x_self(std::move(self)) {}

    /// Upstream, gateway, nginx, relay. `limited`: nginx refuses what exceeds it (requests a
    /// second, and how many may wait), as the gateway does.
    struct nginx_limit {
        int per_second = 0;
        int waiting = 0;
    };
    result<void> start(const pool_shape& shape, std::optional<nginx_limit> limited = {});

    const scratch& folder() const { return x_folder; }
    const peer& direct() const { return x_direct; }
    const peer& relay() const { return x_relay; }
    const peer& nginx() const { return x_nginx; }
    const peer& sluice() const { return x_sluice; }

private:
    result<void> start_nginx(const std::optional<nginx_limit>& limited);
    result<void> start_sluice(const pool_shape& shape);
    result<void> await(const peer& one) const;

    std::string x_self;
    scratch x_folder;
    bench_upstream x_upstream;
    std::optional<bare_relay> x_bare;
    std::optional<child> x_nginx_process;
    std::optional<child> x_sluice_process;
    peer x_direct{.name = "direct"};
    peer x_relay{.name = "relay"};
    peer x_nginx{.name = "nginx"};
    peer x_sluice{.name = "sluice"};
};

}  // namespace sluice::lab
