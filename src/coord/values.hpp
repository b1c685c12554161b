// What crosses the coordination ports: owned plain values, so that a batch may travel to another
// thread or another machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "core/decisions.hpp"
#include "core/types.hpp"

namespace sluice::coord {

/// A registered worker. One value per incarnation and change, shared by everyone who refers to it.
struct worker_info {
    std::string id;
    std::string address;  ///< "http://host:port"
    worker_epoch epoch{};
    std::uint32_t slots = 1;
    bytes kv_capacity = bytes::max();  ///< bytes::max(): unknown.
    bool reports = false;              ///< Headroom comes from an agent's reports.
    fencing_token max_token{};         ///< Newest token it has seen.
};

/// A request that asks to run. Units and bounds as core::ticket.
struct submission {
    ticket_id id;
    core::priority cls = core::priority::normal;
    std::string tenant;
    bytes prompt_kv;
    bytes peak_kv;
    tokens predicted;
    duration wait = std::chrono::seconds(30);
    bytes queued_bytes;
    std::vector<core::hint> hints;
};

/// The right to run on one worker.
struct permit {
    ticket_id ticket;
    std::shared_ptr<const worker_info> worker;
    std::uint32_t slot = 0;
    fencing_token token{};
    bytes peak_kv;
    std::uint64_t order_key = 0;
    duration waited = duration::zero();
    std::uint32_t passed_by = 0;
};

/// What became of a ticket or a call. `permit.worker` is set for `granted` and `adopted` only.
struct outcome {
    core::decision_kind kind = core::decision_kind::granted;
    core::decision_why why = core::decision_why::none;
    errc failure = errc::invalid_argument;
    ticket_id ticket;
    coord::permit permit;
    duration waited = duration::zero();
    duration retry_after = duration::zero();
    std::uint32_t queue_length = 0;
};

struct renewal {
    ticket_id ticket;
    fencing_token token{};
    duration ttl = std::chrono::seconds(30);
};

/// `carried`: the report that came with the answer, if any.
struct release {
    ticket_id ticket;
    fencing_token token{};
    core::release_outcome outcome = core::release_outcome::ok;
    tokens prompt;
    tokens output;
    std::shared_ptr<const core::report> carried;
};

struct requeue {
    ticket_id ticket;
    fencing_token token{};
    core::requeue_why why = core::requeue_why::refused;
    std::shared_ptr<const core::report> carried;
};

/// What a backend promises; where it cannot keep a line of the contract it says so here, and the
/// conformance suite asserts the record instead.
struct capabilities {
    std::string name;
    /// Gateways that may share it. 1: this process alone.
    std::uint32_t gateways = 1;
    /// Whether queue and permits outlive this process.
    bool survives_restart = false;
    /// Longest time after which a dead holder's permits are free again.
    duration recovery = duration::zero();
    /// Whether order between gateways is strict.
    bool strict_order = true;
};

}  // namespace sluice::coord
