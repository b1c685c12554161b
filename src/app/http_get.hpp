// One GET for a verb that asks a running gateway something.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"

namespace sluice::app {

/// The part of a URL before its path, and the path without a last slash ("" when there is none).
struct url_parts {
    std::string authority;  ///< "http://127.0.0.1:9090"
    std::string path;
};
url_parts split_url(std::string_view url);

/// Body of a 200 answer. Everything else is an error in one sentence that names the URL. Blocks for
/// at most `limit`.
result<std::string> http_get(std::string_view url, std::string_view path, duration limit);

}  // namespace sluice::app
