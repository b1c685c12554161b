// The head of the request that goes to a worker.
//
// Pure. The client's fields go on as they are but for those of the hop (Connection and what it
// names), those that are ours (x-sluice-*), and those that the new hop writes itself.
#pragma once

#include <string>
#include <string_view>

#include "coord/values.hpp"
#include "gateway/field_list.hpp"
#include "net/http.hpp"

namespace sluice::gateway {

/// Fills `out`; the views of `from` and `id` must outlive it. Adds x-request-id and x-sluice-permit
/// ("id=…;worker=…;epoch=E;slot=I;fencing=F;kv=BYTES;predict=TOKENS").
void forward_fields(
    const net::request_head& from,
    std::string_view id,
    const coord::permit& permit,
    tokens predicted,
    field_list& out
);

}  // namespace sluice::gateway
