// What came back from a load run, and its two forms.
//
// Every request that was sent is in exactly one of: ok, refused, broken, unanswered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "load/statistics.hpp"

namespace sluice::load {

struct load_report {
    std::uint64_t sent = 0;
    std::uint64_t ok = 0;
    /// Complete answers that say no, by reason.
    std::map<std::string, std::uint64_t> refused;
    /// Answers of status 200 that are not what the API promises, by what is wrong.
    std::map<std::string, std::uint64_t> broken;
    /// No answer at all: the connection failed, or the run was over; by cause.
    std::map<std::string, std::uint64_t> unanswered;
    samples ttft;            ///< Seconds from sending to the first content event; streams only.
    samples tpot;            ///< Seconds a further token; streams with two tokens or more.
    samples queue;           ///< Seconds of x-sluice-queue-ms.
    samples latency;         ///< Seconds from sending to the end, of ok answers.
    samples refusal;         ///< The same of complete answers that say no.
    samples lateness;        ///< Seconds behind the trace's time.
    std::uint64_t good = 0;  ///< ok and inside the goals.
    std::int64_t tokens_out = 0;
    std::vector<double> tenant_tokens;  ///< Prompt and output of ok answers, by tenant.
    double elapsed_s = 0;               ///< From the first request to the last answer.

    /// Complete answers, refusals included.
    std::uint64_t answered() const;
    std::uint64_t broken_count() const;
    std::uint64_t unanswered_count() const;
    double goodput_rps() const { return elapsed_s > 0 ? static_cast<double>(good) / elapsed_s : 0; }
};

std::string report_json(const load_report& report);
std::string report_table(const load_report& report);

}  // namespace sluice::load
