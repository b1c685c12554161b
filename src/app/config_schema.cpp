// JSON schema of sluice.yaml, from the field table.
#include <boost/json.hpp>
#include <variant>

#include "app/config.hpp"
#include "app/config_table.hpp"
#include "app/json_text.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

namespace json = boost::json;

json::object schema_of(const field_info& info, const value_ref& value);

class section_schema final : public section_visitor {
public:
    void field(const field_info& info, const value_ref& value) override {
        json::object one = schema_of(info, value);
        one["description"] = info.doc;
        properties[info.key] = std::move(one);
        if (info.required) {
            required.push_back(json::string(info.key));
        }
    }
    json::object finish() {
        json::object out{{"type", json::array{"object", "null"}}, {"additionalProperties", false}};
        if (!required.empty()) {
            out["required"] = std::move(required);
        }
        out["properties"] = std::move(properties);
        return out;
    }

    json::object properties;
    json::array required;
};

struct schema_writer {
    const field_info& info;

    static json::object pattern(std::string_view regex) {
        return {{"type", "string"}, {"pattern", regex}};
    }
    json::object integer() const {
        json::object out{{"type", "integer"}, {"minimum", info.min}};
        if (info.max < quantity_limit) {
            out["maximum"] = info.max;
        }
        return out;
    }
    static json::object with_default(json::object schema, json::value standard) {
        // Nothing to show for what must be given.
        if (standard != json::value("")) {
            schema["default"] = std::move(standard);
        }
        return schema;
    }

    json::object operator()(const std::string* text) const {
        json::object out{{"type", "string"}};
        if (info.format == text_format::sha256) {
            out = pattern("^[0-9a-fA-F]{64}$");
        } else if (info.format == text_format::http_url) {
            out = pattern("^https?://");
        } else if (info.format == text_format::host_port) {
            out = pattern(":[0-9]{1,5}$");
        } else {
            out["minLength"] = 1;
        }
        return with_default(std::move(out), json::string(*text));
    }
    json::object operator()(const std::int64_t* n) const { return with_default(integer(), *n); }
    json::object operator()(const tokens* t) const { return with_default(integer(), t->count()); }
    json::object operator()(const double* x) const {
        return with_default(
            {{"type", "number"}, {"minimum", info.real_min}, {"maximum", info.real_max}}, *x
        );
    }
    json::object operator()(const duration* d) const {
        return with_default(
            pattern("^([0-9]+(\\.[0-9]+)?(us|ms|s|m|h|d))+$"), json::string(format_duration(*d))
        );
    }
    json::object operator()(const bytes* b) const {
        json::object out{
            {"type", json::array{"string", "integer"}},
            {"pattern", "^[0-9]+(\\.[0-9]+)?([kKmMgGtT]?i?[bB])?$"}
        };
        return with_default(std::move(out), json::string(format_bytes(*b)));
    }
    json::object operator()(const std::optional<duration>* d) const {
        json::object inner = (*this)(d->has_value() ? &**d : &x_none);
        return {
            {"oneOf",
             json::array{
                 json::object{{"type", "string"}, {"pattern", inner["pattern"]}},
                 json::object{{"enum", json::array{"none", nullptr}}},
             }},
            {"default", d->has_value() ? inner["default"] : json::value("none")},
        };
    }
    template <class Value>
    json::object operator()(const std::optional<Value>* /*maybe*/) const {
        Value scratch{};
        json::object out = (*this)(&scratch);
        json::array types;
        if (const json::array* several = out["type"].if_array()) {
            types = *several;
        } else {
            types.push_back(out["type"]);
        }
        types.push_back("null");
        out["type"] = std::move(types);
        out["default"] = nullptr;
        return out;
    }
    json::object operator()(const bool_ref& flag) const {
        if (flag.on_off) {
            return {
                {"enum", json::array{"on", "off", true, false}},
                {"default", *flag.value ? "on" : "off"}
            };
        }
        return {{"type", "boolean"}, {"default", *flag.value}};
    }
    json::object operator()(const enum_ref& choice) const {
        json::array names;
        for (const std::string_view name : choice.names) {
            names.push_back(json::string(name));
        }
        return {{"enum", std::move(names)}, {"default", choice.names[*choice.value]}};
    }
    json::object operator()(const section_ref& section) const {
        section_schema inner;
        section.describe(inner);
        json::object out = inner.finish();
        if (section.enabled != nullptr) {
            return {
                {"oneOf", json::array{std::move(out), json::object{{"enum", json::array{"off"}}}}}
            };
        }
        return out;
    }
    json::object operator()(const list_ref& list) const {
        json::object element = schema_of(info, list.append());
        element.erase("default");
        return {{"type", json::array{"array", "null"}}, {"items", std::move(element)}};
    }
    json::object operator()(const map_ref& map) const {
        json::object element = schema_of(info, map.at("example"));
        element.erase("default");
        return {
            {"type", json::array{"object", "null"}}, {"additionalProperties", std::move(element)}
        };
    }

private:
    static constexpr duration x_none{};
};

json::object schema_of(const field_info& info, const value_ref& value) {
    return std::visit(schema_writer{info}, value.kind);
}

}  // namespace

std::string config_schema() {
    config::gateway_config scratch;
    section_schema root;
    describe(scratch, root);
    json::object out{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "sluice.yaml"}
    };
    for (auto& entry : root.finish()) {
        out[entry.key()] = entry.value();
    }
    return pretty_json(out);
}

}  // namespace sluice::app
