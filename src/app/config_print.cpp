// The configuration as JSON and YAML, from the field table.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <variant>

#include "app/config.hpp"
#include "app/config_reader.hpp"
#include "app/config_table.hpp"
#include "app/json_text.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

namespace json = boost::json;

json::value to_json(const field_info& info, const value_ref& value);

class section_printer final : public section_visitor {
public:
    void field(const field_info& info, const value_ref& value) override {
        out[info.key] = to_json(info, value);
    }
    json::object out;
};

struct json_of {
    const field_info& info;

    json::value operator()(const std::string* text) const {
        if (info.secret) {
            return "(hidden)";
        }
        return json::string(info.format == text_format::backend ? without_password(*text) : *text);
    }
    json::value operator()(const std::int64_t* n) const { return *n; }
    json::value operator()(const double* x) const { return *x; }
    json::value operator()(const duration* d) const { return json::string(format_duration(*d)); }
    json::value operator()(const bytes* b) const { return json::string(format_bytes(*b)); }
    json::value operator()(const tokens* t) const { return t->count(); }
    json::value operator()(const std::optional<duration>* d) const {
        return d->has_value() ? (*this)(&**d) : json::value("none");
    }
    template <class Value>
    json::value operator()(const std::optional<Value>* maybe) const {
        return maybe->has_value() ? (*this)(&**maybe) : json::value(nullptr);
    }
    json::value operator()(const bool_ref& flag) const {
        if (flag.on_off) {
            return *flag.value ? "on" : "off";
        }
        return *flag.value;
    }
    json::value operator()(const enum_ref& choice) const {
        return json::string(choice.names[*choice.value]);
    }
    json::value operator()(const section_ref& section) const {
        if (section.enabled != nullptr && !*section.enabled) {
            return "off";
        }
        section_printer inner;
        section.describe(inner);
        return std::move(inner.out);
    }
    json::value operator()(const list_ref& list) const {
        json::array out;
        for (std::size_t i = 0; i < list.size(); ++i) {
            out.push_back(to_json(info, list.at(i)));
        }
        return out;
    }
    json::value operator()(const map_ref& map) const {
        json::object out;
        for (const std::string& key : map.keys()) {
            out[key] = to_json(info, map.at(key));
        }
        return out;
    }
};

json::value to_json(const field_info& info, const value_ref& value) {
    return std::visit(json_of{info}, value.kind);
}

/// Whether a text would be read as something else, or not at all, without quotes.
bool needs_quotes(std::string_view text) {
    if (text.empty() || text == "null" || text == "~" || text == "true" || text == "false" ||
        text.front() == ' ' || text.back() == ' ' || text.back() == ':') {
        return true;
    }
    if (std::string_view("-?:,[]{}#&*!|>'\"%@`").contains(text.front())) {
        return true;
    }
    if (text.find_first_of(",[]{}\"\\") != std::string_view::npos || text.contains(": ") ||
        text.contains(" #")) {
        return true;
    }
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            return true;
        }
    }
    return false;
}

std::string yaml_scalar(const json::value& value) {
    if (const json::string* text = value.if_string()) {
        const std::string_view view(text->data(), text->size());
        // JSON's quoted form is a valid double-quoted YAML scalar.
        return needs_quotes(view) ? json::serialize(*text) : std::string(view);
    }
    if (value.is_double()) {
        return fmt::format("{}", value.as_double());
    }
    return json::serialize(value);
}

void write_yaml(const json::value& value, std::string& out, int indent, bool in_list);

void write_entry(std::string_view key, const json::value& value, std::string& out, int indent) {
    out += needs_quotes(key) ? json::serialize(json::string(key)) : std::string(key);
    out += ':';
    const bool nested = (value.is_object() && !value.as_object().empty()) ||
                        (value.is_array() && !value.as_array().empty());
    if (nested) {
        out += '\n';
        write_yaml(value, out, indent + 2, false);
    } else {
        out += ' ' + yaml_scalar(value) + '\n';
    }
}

/// `in_list`: the first key stands on the line of its dash.
void write_yaml(const json::value& value, std::string& out, int indent, bool in_list) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    if (const json::object* map = value.if_object()) {
        bool first = in_list;
        for (const auto& entry : *map) {
            out += std::exchange(first, false) ? "" : margin;
            write_entry(entry.key(), entry.value(), out, indent);
        }
    } else if (const json::array* list = value.if_array()) {
        for (const json::value& element : *list) {
            out += margin + "- ";
            if (element.is_object() && !element.as_object().empty()) {
                write_yaml(element, out, indent + 2, true);
            } else {
                out += yaml_scalar(element) + '\n';
            }
        }
    }
}

json::object whole(const config::gateway_config& config) {
    // The table hands out mutable references, so it is shown a copy.
    config::gateway_config copy = config;
    section_printer printer;
    describe(copy, printer);
    return std::move(printer.out);
}

}  // namespace

std::string config_yaml(const config::gateway_config& config) {
    std::string out;
    write_yaml(whole(config), out, 0, false);
    return out;
}

std::string config_json(const config::gateway_config& config) {
    return pretty_json(whole(config));
}

}  // namespace sluice::app
