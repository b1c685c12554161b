// One measurement with wrk as the client.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "lab/bench_report.hpp"
#include "lab/bench_stage.hpp"

namespace sluice::lab {

struct wrk_run {
    std::string path;    ///< Names the row, and the script.
    std::string script;  ///< File that says what to send; see wrk_script.
    bool unbuffered = false;
    int connections = 1;
    int seconds = 5;
    int rounds = 3;  ///< The median counts; peers take turns inside a round.
};

/// Writes a script that posts a chat request with a prompt of about so many bytes; the file's path.
std::string wrk_script(
    const scratch& folder, const std::string& name, std::size_t prompt_bytes, bool stream
);

/// A row for each of `peers`.
result<std::vector<gateway_bench_row>> take_turns(
    const scratch& folder, const std::vector<const peer*>& peers, const wrk_run& what
);

}  // namespace sluice::lab
