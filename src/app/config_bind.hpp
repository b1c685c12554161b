// How a member becomes a value_ref: by its type. Private to the table's sources.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "app/config_field.hpp"
#include "app/config_names.hpp"
#include "app/config_table.hpp"

namespace sluice::app {

void describe(config::tls_options& tls, section_visitor& visitor);
void describe(config::limit_options& limits, section_visitor& visitor);
void describe(config::auth_key& key, section_visitor& visitor);
void describe(config::auth_options& auth, section_visitor& visitor);
void describe(config::coordination_options& coordination, section_visitor& visitor);
void describe(config::kv_options& kv, section_visitor& visitor);
void describe(config::worker_options& worker, section_visitor& visitor);
void describe(config::queue_options& queue, section_visitor& visitor);
void describe(config::slo_options& slo, section_visitor& visitor);
void describe(config::tenant_options& tenant, section_visitor& visitor);
void describe(config::timeout_options& timeouts, section_visitor& visitor);
void describe(config::on_timeout_options& on_timeout, section_visitor& visitor);
void describe(config::prediction_options& prediction, section_visitor& visitor);
void describe(config::quota_options& quota, section_visitor& visitor);
void describe(config::log_options& log, section_visitor& visitor);
void describe(config::otlp_options& otlp, section_visitor& visitor);

namespace detail {

template <class Value>
struct is_vector : std::false_type {};
template <class Element>
struct is_vector<std::vector<Element>> : std::true_type {};
template <class Value>
struct is_map : std::false_type {};
template <class Element>
struct is_map<std::map<std::string, Element>> : std::true_type {};
template <class Value>
struct is_optional : std::false_type {};
template <class Element>
struct is_optional<std::optional<Element>> : std::true_type {};

template <class Value>
inline constexpr bool is_leaf =
    std::is_same_v<Value, std::string> || std::is_same_v<Value, std::int64_t> ||
    std::is_same_v<Value, double> || std::is_same_v<Value, duration> ||
    std::is_same_v<Value, bytes> || std::is_same_v<Value, tokens> || is_optional<Value>::value;

}  // namespace detail

template <class Value>
value_ref bind(Value& member) {
    if constexpr (detail::is_leaf<Value>) {
        return {&member};
    } else if constexpr (std::is_same_v<Value, bool>) {
        return {bool_ref{&member, false}};
    } else if constexpr (std::is_enum_v<Value>) {
        static_assert(std::is_same_v<std::underlying_type_t<Value>, std::uint8_t>);
        // An enum may be accessed through its underlying character type.
        return {enum_ref{reinterpret_cast<std::uint8_t*>(&member), enum_names<Value>::value}};
    } else if constexpr (detail::is_vector<Value>::value) {
        return {list_ref{
            [&member] { return member.size(); },
            [&member](std::size_t i) { return bind(member[i]); },
            [&member] { return bind(member.emplace_back()); },
        }};
    } else if constexpr (detail::is_map<Value>::value) {
        return {map_ref{
            [&member] {
                std::vector<std::string> keys;
                keys.reserve(member.size());
                for (const auto& [key, value] : member) {
                    keys.push_back(key);
                }
                return keys;
            },
            [&member](const std::string& key) { return bind(member[key]); },
        }};
    } else {
        return {section_ref{[&member](section_visitor& visitor) { describe(member, visitor); }}};
    }
}

/// A switch written on/off.
inline value_ref bind_on_off(bool& member) {
    return {bool_ref{&member, true}};
}

}  // namespace sluice::app
