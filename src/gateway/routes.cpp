#include "gateway/routes.hpp"

#include <array>

namespace sluice::gateway {

namespace {

struct page {
    std::string_view path;
    route_kind kind;
};
constexpr std::array pages{
    page{"/health", route_kind::alive},
    page{"/live", route_kind::alive},
    page{"/livez", route_kind::alive},
    page{"/health/live", route_kind::alive},
    page{"/ready", route_kind::ready},
    page{"/readyz", route_kind::ready},
    page{"/health/ready", route_kind::ready},
    page{"/metrics", route_kind::metrics},
    page{"/v1/models", route_kind::models},
};

constexpr std::string_view models_prefix = "/v1/models/";
constexpr std::string_view api_prefix = "/v1/";
constexpr std::string_view readers = "GET, HEAD";

bool reads(std::string_view method) {
    return method == "GET" || method == "HEAD";
}

route reading(std::string_view method, route found) {
    if (!reads(method)) {
        return {route_kind::wrong_method, {}, {}, readers};
    }
    return found;
}

}  // namespace

route route_of(std::string_view method, std::string_view target) {
    std::string_view path = target.substr(0, target.find('?'));
    if (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    for (const page& one : pages) {
        if (path == one.path) {
            return reading(method, {one.kind, {}, {}, {}});
        }
    }
    if (path.starts_with(models_prefix)) {
        return reading(method, {route_kind::model, {}, path.substr(models_prefix.size()), {}});
    }
    if (!path.starts_with(api_prefix) || path.size() == api_prefix.size()) {
        return {};
    }
    if (method != "POST") {
        return {route_kind::wrong_method, {}, {}, "POST"};
    }
    return {route_kind::call, openai::endpoint_of(path), {}, {}};
}

}  // namespace sluice::gateway
