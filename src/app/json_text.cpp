#include "app/json_text.hpp"

#include <boost/json.hpp>

namespace sluice::app {

namespace {

namespace json = boost::json;

void write(const json::value& value, std::string& out, std::size_t indent) {
    const std::string margin(indent + 2, ' ');
    const char* separator = "\n";
    if (value.is_object() && !value.as_object().empty()) {
        out += '{';
        for (const auto& entry : value.as_object()) {
            out += separator + margin + json::serialize(json::string(entry.key())) + ": ";
            write(entry.value(), out, indent + 2);
            separator = ",\n";
        }
        out += '\n' + std::string(indent, ' ') + '}';
    } else if (value.is_array() && !value.as_array().empty()) {
        out += '[';
        for (const json::value& element : value.as_array()) {
            out += separator + margin;
            write(element, out, indent + 2);
            separator = ",\n";
        }
        out += '\n' + std::string(indent, ' ') + ']';
    } else {
        out += json::serialize(value);
    }
}

}  // namespace

std::string pretty_json(const json::value& value) {
    std::string out;
    write(value, out, 0);
    return out + '\n';
}

}  // namespace sluice::app
