// JSON for people and scripts: indented, with a newline at the end.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

namespace sluice::app {

std::string pretty_json(const boost::json::value& value);

}  // namespace sluice::app
