// Asks an engine what it is: models, context, slots, memory. The shell around worker/vllm_probe.
//
// Used at start-up (on a context of its own) and by worker_watch for workers that were away then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "net/asio.hpp"
#include "net/client.hpp"

namespace sluice::gateway {

/// What could be read. Absent: the engine does not say it.
struct engine_facts {
    std::vector<std::string> models;
    std::optional<std::int64_t> max_model_len;
    std::optional<std::int64_t> slots;
    std::optional<tokens> kv_tokens;
    bool vllm_names = false;  ///< /metrics spoke with vLLM's names.
};

/// GET /v1/models and GET /metrics, at most `limit` together. An error: it cannot be reached, or
/// neither answers with 200. `authorization`: value of that field; empty: none.
net::task<result<engine_facts>> read_engine(
    net::client_pool& client,
    net::executor where,
    net::endpoint engine,
    std::string authorization,
    duration limit
);

/// Whether the engine answers HTTP at all within `limit`.
net::task<bool> answers(
    net::client_pool& client,
    net::executor where,
    net::endpoint engine,
    std::string authorization,
    duration limit
);

}  // namespace sluice::gateway
