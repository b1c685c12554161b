#include "gateway/certificates.hpp"

#include <fmt/format.h>

#include <chrono>

namespace sluice::gateway {

namespace {

constexpr std::string_view reloads = "sluice_tls_reloads_total";
constexpr std::string_view reloads_help = "Times that certificates were read again.";

void add(std::vector<std::string>& files, const std::string& one) {
    if (!one.empty()) {
        files.push_back(one);
    }
}

}  // namespace

certificates::certificates(obs::metrics& metrics, std::shared_ptr<obs::logger> log)
    : x_log(std::move(log)),
      x_failures(metrics.make_counter(
          "sluice_tls_handshake_failures_total",
          "Connections to the data port that ended within the TLS handshake."
      )),
      x_reloads(metrics.make_counter(reloads, reloads_help, {{"result", "ok"}})),
      x_failed_reloads(metrics.make_counter(reloads, reloads_help, {{"result", "error"}})) {}

result<std::unique_ptr<certificates>> certificates::open(
    const config::tls_options& of_port,
    const std::vector<net::tls_client_files>& of_workers,
    net::executor where,
    obs::metrics& metrics,
    std::shared_ptr<obs::logger> log
) {
    std::unique_ptr<certificates> made(new certificates(metrics, std::move(log)));
    std::vector<std::string> files;
    for (const auto& one : {of_port.cert, of_port.key, of_port.client_ca}) {
        add(files, one.value_or(""));
    }
    for (const net::tls_client_files& one : of_workers) {
        add(files, one.ca);
        add(files, one.cert);
        add(files, one.key);
    }
    if (!files.empty()) {
        // Before they are read for the first time, so that no change falls in between.
        auto watch = net::file_watch::start(where, std::move(files), [self = made.get()] {
            self->read_again();
        });
        if (watch) {
            made->x_watch = *std::move(watch);
        } else {
            made->x_log->write(obs::log_line(
                obs::level::warn,
                fmt::format(
                    "{}; certificates are read again on SIGHUP alone", watch.error().message
                )
            ));
        }
    }
    if (of_port.cert) {
        auto loaded = net::tls_server::load(
            {*of_port.cert, of_port.key.value_or(""), of_port.client_ca.value_or("")}
        );
        if (!loaded) {
            return fail(loaded.error().code, "tls: " + loaded.error().message);
        }
        made->x_port = *std::move(loaded);
        made->x_expiry = &metrics.make_gauge(
            "sluice_tls_certificate_expiry_timestamp_seconds",
            "When the certificate of the data port ends to be valid."
        );
        made->note_expiry();
    }
    return made;
}

void certificates::note_expiry() {
    const auto end = x_port->expires_at();
    x_expiry->set(std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch()).count());
    if (end <= std::chrono::system_clock::now()) {
        x_log->write(obs::log_line(
                         obs::level::error,
                         "the certificate of the data port is not valid any more; clients will "
                         "refuse it until its file holds a new one"
        )
                         .text("file", x_port->files().cert));
    }
}

void certificates::read_again() {
    std::vector<error> problems = net::tls_client::reload_all();
    if (x_port) {
        if (auto loaded = x_port->reload(); loaded) {
            note_expiry();
        } else {
            problems.push_back(std::move(loaded.error()));
        }
    }
    (problems.empty() ? x_reloads : x_failed_reloads).add();
    for (const error& one : problems) {
        x_log->write(obs::log_line(
                         obs::level::error, "a certificate cannot be read again; the old one stays"
        )
                         .text("why", one.message));
    }
    if (problems.empty()) {
        x_log->write(obs::log_line(obs::level::info, "certificates read again"));
    }
}

void certificates::handshake_failed(std::string_view peer, std::string_view why) {
    x_failures.add();
    if (!x_log->wants(obs::level::warn)) {
        return;
    }
    if (const auto left_out = x_lines.next()) {
        x_log->write(obs::log_line(obs::level::warn, "TLS handshake failed")
                         .text("peer", peer)
                         .text("why", why)
                         .number("left_out", *left_out));
    }
}

}  // namespace sluice::gateway
