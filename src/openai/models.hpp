// The answer of GET /v1/models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::openai {

/// A name that clients may use.
struct model_entry {
    std::string id;
    std::string owned_by = "sluice";
    std::int64_t created = 0;  ///< Seconds since 1970.
};

/// {"object":"list","data":[{"id","object":"model","created","owned_by"}]}, in the given order.
std::string models_body(std::span<const model_entry> models);
/// One entry: the answer of GET /v1/models/{id}.
std::string model_body(const model_entry& model);

}  // namespace sluice::openai
