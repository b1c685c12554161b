// Replays a trace against a real server: one coroutine a request, at the trace's times.
//
// Called by the verbs `load` and `demo`; everything on the one io_context of `where`.
//
// Invariants
//  1. A request that was sent is counted in exactly one way when run() returns.
//  2. At most `connections` requests are open; what the bound delays is sent late, not left out,
//     and the report shows how late.
//  3. After stop_sending(), or when `send_for` is over, nothing more is sent; run() returns when
//     every open request has ended, after `wait_limit` at the latest (the rest: unanswered).
//  4. A request that meets a stale pooled connection, without a byte of answer, is sent once more
//     on a fresh one, as every HTTP client does; it counts once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "load/report.hpp"
#include "net/asio.hpp"
#include "net/client.hpp"
#include "sim/trace.hpp"

namespace sluice::load {

struct load_progress {
    std::uint64_t sent = 0;
    std::uint64_t open = 0;
    std::uint64_t ok = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;  ///< Broken or unanswered.
};

struct load_options {
    net::endpoint target;
    /// Before /v1/…; "" or "/prefix".
    std::string prefix;
    /// Empty: the first that GET /v1/models names.
    std::string model;
    /// Empty: as many as the trace says.
    std::optional<tokens> max_tokens;
    double speed = 1;  ///< The trace's times are divided by it.
    std::optional<duration> send_for;
    duration wait_limit = std::chrono::minutes(5);
    duration connect_timeout = std::chrono::seconds(10);
    std::optional<duration> slo_ttft;
    std::optional<duration> slo_tpot;
    bool stream = true;
    bool exact_usage = true;  ///< stream_check, rule 4.
    bool repeat = false;      ///< Start the trace again when it ends (demo).
    std::size_t connections = 8192;
    std::string authorization;  ///< Value of that header; empty: none.
    /// Called about twice a second while the run goes on.
    std::function<void(const load_progress&)> progress;
};

class load_run {
public:
    /// `what` must outlive the run.
    load_run(net::executor where, const sim::trace& what, load_options options);
    ~load_run();
    load_run(const load_run&) = delete;
    load_run& operator=(const load_run&) = delete;

    /// Once. An error when the server cannot be asked for its models.
    net::task<result<load_report>> run();

    /// Same strand, any time.
    void stop_sending();
    /// Also ends what is open: it counts as unanswered.
    void abort();

private:
    struct impl;
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::load
