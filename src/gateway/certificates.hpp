// The certificates of the data port and of connections to workers: read at the start, when a file
// changes and when told so, watched over in metrics and log.
//
//  1. What cannot be read changes nothing; the log says why.
//  2. Connections that run keep the certificate they began with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "gateway/line_limit.hpp"
#include "net/file_watch.hpp"
#include "net/tls.hpp"
#include "obs/log.hpp"
#include "obs/metrics.hpp"

namespace sluice::gateway {

class certificates {
public:
    /// `of_workers`: further files whose change means reading again. The files are watched on
    /// `where`.
    static result<std::unique_ptr<certificates>> open(
        const config::tls_options& of_port,
        const std::vector<net::tls_client_files>& of_workers,
        net::executor where,
        obs::metrics& metrics,
        std::shared_ptr<obs::logger> log
    );

    /// Null: the port speaks plain HTTP.
    const std::shared_ptr<net::tls_server>& of_port() const { return x_port; }

    /// Thread-safe.
    void read_again();
    /// Thread-safe. At most one log line a second.
    void handshake_failed(std::string_view peer, std::string_view why);

private:
    certificates(obs::metrics& metrics, std::shared_ptr<obs::logger> log);
    void note_expiry();

    std::shared_ptr<obs::logger> x_log;
    obs::counter& x_failures;
    obs::counter& x_reloads;
    obs::counter& x_failed_reloads;
    obs::gauge* x_expiry = nullptr;  ///< Of a port that has a certificate.
    line_limit x_lines;
    std::shared_ptr<net::tls_server> x_port;
    std::unique_ptr<net::file_watch> x_watch;
};

}  // namespace sluice::gateway
