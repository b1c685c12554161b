// The head of the request that goes to a worker.
//
// Pure. The client's fields go on as they are but for those of the hop (Connection and what it
// names), those that are ours (x-sluice-*), and those that the new hop writes itself. A key that
// opened the gateway's door never goes on.
#pragma once

#include <string>
#include <string_view>

#include "coord/values.hpp"
#include "gateway/field_list.hpp"
#include "net/http.hpp"

namespace sluice::gateway {

/// What becomes of Authorization and x-api-key.
struct forwarded_key {
    /// The client's stay behind. They go on only where the gateway knows no keys itself.
    bool drop = false;
    /// Value of the worker's own Authorization; takes the place of the client's. Empty: none.
    std::string_view own{};
};

/// Fills `out`; the views of `from` and `id` must outlive it. Adds x-request-id and x-sluice-permit
/// ("id=…;worker=…;epoch=E;slot=I;fencing=F;kv=BYTES;predict=TOKENS").
void forward_fields(
    const net::request_head& from,
    std::string_view id,
    const coord::permit& permit,
    tokens predicted,
    forwarded_key key,
    field_list& out
);

}  // namespace sluice::gateway
