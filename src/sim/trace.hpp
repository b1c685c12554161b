// Traces of real or made-up traffic: when a request arrives and how long its prompt and answer are.
//
// Readers are pure functions over the file's text. Used by `sluice load` and the simulator.
//
//  azure    TIMESTAMP,ContextTokens,GeneratedTokens     2023-11-16 18:15:46.6805900,374,44
//  csv      arrival_s,input_tokens,output_tokens[,tenant[,class]]     1.25,800,120,acme,high
//           A head line names the columns, in any order; further columns are passed over.
//
// Invariants of a read trace
//  1. Arrivals start at zero and do not fall; lines that are out of order are sorted in, equal
//     arrivals keep the order of the file.
//  2. At least one request; input ≥ 1; output ≥ 0; every tenant number is an index of `tenants`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "core/types.hpp"

namespace sluice::sim {

struct trace_request {
    duration arrival = duration::zero();  ///< Since the first one.
    tokens input;
    tokens output;
    std::uint32_t tenant = 0;
    core::priority cls = core::priority::normal;
};

struct trace {
    std::vector<trace_request> requests;
    /// Names; exactly one, empty, when the trace knows no tenants.
    std::vector<std::string> tenants;
};

enum class trace_format : std::uint8_t { automatic, azure, csv };

/// `corrupt_input` names the line and what was expected there.
result<trace> read_trace(std::string_view text, trace_format format = trace_format::automatic);

result<trace> read_azure(std::string_view text);
result<trace> read_csv(std::string_view text);

}  // namespace sluice::sim
