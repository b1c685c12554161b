#include "app/config_reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>

#include "app/config_table.hpp"
#include "app/units_text.hpp"

namespace sluice::app {

namespace {

/// One `key: value` of a YAML map, in the order of the file.
struct map_entry {
    std::string key;
    YAML::Mark mark;
    YAML::Node node;  ///< Never assigned to: that would change the document, not the variable.
    bool used = false;
};

std::string child_path(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// A user's key as part of a path: quoted where the dots would mislead.
std::string user_key_path(const std::string& path, const std::string& key) {
    const bool plain = key.find_first_of(".[]: ") == std::string::npos;
    return child_path(path, plain ? printable(key) : fmt::format("'{}'", printable(key)));
}

class yaml_reader {
public:
    yaml_reader(std::string_view name, config_report& report) : x_name(name), x_report(report) {}

    config_place place(const YAML::Mark& mark) const {
        return {
            mark.line + 1,
            mark.column + 1,
            fmt::format("{}:{}:{}", x_name, mark.line + 1, mark.column + 1)
        };
    }

    /// `mark` is where the value's key stands: an empty value has no place of its own.
    void read(
        const YAML::Node& node,
        const YAML::Mark& mark,
        const std::string& path,
        const field_info& info,
        const value_ref& value
    ) {
        const config_place where = place(node.IsNull() ? mark : node.Mark());
        x_report.remember(path, where);
        if (std::holds_alternative<section_ref>(value.kind) && (node.IsMap() || node.IsNull())) {
            read_section(node, where, path, std::get<section_ref>(value.kind));
        } else if (std::holds_alternative<list_ref>(value.kind) &&
                   (node.IsSequence() || node.IsNull())) {
            read_list(node, path, info, std::get<list_ref>(value.kind));
        } else if (std::holds_alternative<map_ref>(value.kind) && (node.IsMap() || node.IsNull())) {
            read_map(node, path, info, std::get<map_ref>(value.kind));
        } else if (node.IsScalar() && assign_text(info, value, node.Scalar())) {
            return;
        } else if (!node.IsNull() || !assign_null(value)) {
            x_report.add_at(
                where,
                path,
                fmt::format(
                    "expected {}, got {}",
                    expectation(info, value, node.IsScalar() ? node.Scalar() : std::string()),
                    got(node, info)
                )
            );
        }
    }

    void read_section(
        const YAML::Node& node,
        const config_place& where,
        const std::string& path,
        const section_ref& section
    );

private:
    static std::string got(const YAML::Node& node, const field_info& info) {
        if (node.IsScalar()) {
            if (info.secret) {
                return "something else";
            }
            return fmt::format("'{}'", printable(without_password(node.Scalar())));
        }
        return node.IsSequence() ? "a list" : node.IsMap() ? "a map" : "nothing";
    }

    /// The entries of a map, each key once; a second one is a problem.
    std::vector<map_entry> entries(const YAML::Node& node, const std::string& path) {
        std::vector<map_entry> out;
        if (!node.IsMap()) {
            return out;
        }
        for (const auto& pair : node) {
            const YAML::Mark mark = pair.first.Mark();
            if (!pair.first.IsScalar()) {
                x_report.add_at(place(mark), path, "expected a plain word as key");
                continue;
            }
            const std::string& key = pair.first.Scalar();
            const auto first = std::ranges::find(out, key, &map_entry::key);
            if (first != out.end()) {
                x_report.add_at(
                    place(mark),
                    user_key_path(path, key),
                    fmt::format(
                        "given twice, first at line {}; keep one of them", first->mark.line + 1
                    )
                );
                continue;
            }
            out.push_back({key, mark, pair.second, false});
        }
        return out;
    }

    void read_list(
        const YAML::Node& node,
        const std::string& path,
        const field_info& info,
        const list_ref& list
    ) {
        std::size_t index = 0;
        for (const YAML::Node& element : node) {
            read(element, node.Mark(), fmt::format("{}[{}]", path, index++), info, list.append());
        }
    }

    void read_map(
        const YAML::Node& node, const std::string& path, const field_info& info, const map_ref& map
    ) {
        for (const map_entry& entry : entries(node, path)) {
            read(entry.node, entry.mark, user_key_path(path, entry.key), info, map.at(entry.key));
        }
    }

    std::string x_name;
    config_report& x_report;
};

/// Reads the fields of one section as the table shows them.
class section_reader final : public section_visitor {
public:
    section_reader(
        yaml_reader& reader,
        config_report& report,
        const config_place& where,
        const std::string& path,
        std::vector<map_entry> entries
    )
        : x_reader(reader),
          x_report(report),
          x_where(where),
          x_path(path),
          x_entries(std::move(entries)) {}

    void field(const field_info& info, const value_ref& value) override {
        x_known.push_back(info.key);
        const auto found = std::ranges::find(x_entries, info.key, &map_entry::key);
        if (found != x_entries.end()) {
            found->used = true;
            x_reader.read(found->node, found->mark, child_path(x_path, info.key), info, value);
        } else if (info.required) {
            x_report.add_at(
                x_where,
                child_path(x_path, info.key),
                fmt::format("is missing; expected {}", expectation(info, value))
            );
        }
    }

    /// What is left is unknown.
    void finish() {
        for (const map_entry& entry : x_entries) {
            if (entry.used) {
                continue;
            }
            x_report.add_at(
                x_reader.place(entry.mark),
                user_key_path(x_path, entry.key),
                "unknown key; " + suggestion(entry.key, x_known)
            );
        }
    }

private:
    yaml_reader& x_reader;
    config_report& x_report;
    const config_place& x_where;
    const std::string& x_path;
    std::vector<map_entry> x_entries;
    std::vector<std::string_view> x_known;
};

void yaml_reader::read_section(
    const YAML::Node& node,
    const config_place& where,
    const std::string& path,
    const section_ref& section
) {
    if (section.enabled != nullptr) {
        *section.enabled = true;
    }
    section_reader reader(*this, x_report, where, path, entries(node, path));
    section.describe(reader);
    reader.finish();
}

/// Place of the first byte that is no text (broken UTF-8, control characters). The YAML library
/// would take some of them for the end of the file and drop the rest.
std::optional<YAML::Mark> find_no_text(std::string_view text) {
    YAML::Mark mark;
    mark.line = 0;
    mark.column = 0;
    if (text.starts_with("\xef\xbb\xbf")) {
        text.remove_prefix(3);
    }
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const char c = text.front();
        const bool control =
            static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
        if (length == 0 || control || c == 0x7f) {
            return mark;
        }
        mark.line += c == '\n' ? 1 : 0;
        mark.column = c == '\n' ? 0 : mark.column + 1;
        text.remove_prefix(length);
    }
    return std::nullopt;
}

/// Walks sections only, down to the scalar that `path` names.
class path_setter final : public section_visitor {
public:
    path_setter(std::string_view path, std::string_view text) : x_path(path), x_text(text) {}

    void field(const field_info& info, const value_ref& value) override {
        const std::size_t dot = x_path.find('.');
        if (x_path.substr(0, dot) != info.key) {
            return;
        }
        if (dot != std::string_view::npos) {
            if (value.is_section()) {
                const std::string_view outer = std::exchange(x_path, x_path.substr(dot + 1));
                std::get<section_ref>(value.kind).describe(*this);
                x_path = outer;
            }
        } else if (value.is_scalar()) {
            found = true;
            stored = assign_text(info, value, x_text) || (x_text == "null" && assign_null(value));
            expected = expectation(info, value, x_text);
        }
    }

    bool found = false;
    bool stored = false;
    std::string expected;

private:
    std::string_view x_path;
    std::string_view x_text;
};

}  // namespace

void read_yaml(
    std::string_view yaml,
    std::string_view name,
    config::gateway_config& config,
    config_report& report
) {
    yaml_reader reader(name, report);
    if (const auto mark = find_no_text(yaml)) {
        report.add_at(reader.place(*mark), "", "not UTF-8 text; save the file as plain text");
        return;
    }
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
        if (documents.empty() || (documents.size() == 1 && documents.front().IsNull())) {
            return;
        }
        const YAML::Node& root = documents.front();
        const config_place start = reader.place(root.Mark());
        if (documents.size() > 1) {
            report.add_at(
                reader.place(documents[1].Mark()), "", "a second document; one file holds one"
            );
        }
        if (!root.IsMap()) {
            report.add_at(start, "", "expected a map of settings such as 'listen: 127.0.0.1:8080'");
            return;
        }
        reader.read_section(root, start, "", section_ref{[&config](section_visitor& visitor) {
                                describe(config, visitor);
                            }});
    } catch (const YAML::Exception& problem) {
        report.add_at(reader.place(problem.mark), "", "not valid YAML: " + problem.msg);
    }
}

bool set_by_path(
    config::gateway_config& config,
    const std::string& path,
    std::string_view text,
    const std::string& origin,
    config_report& report
) {
    path_setter setter(path, text);
    describe(config, setter);
    if (!setter.found) {
        return false;
    }
    report.remember(path, {0, 0, origin});
    if (!setter.stored) {
        report.add(
            path,
            fmt::format("expected {}, got '{}'", setter.expected, printable(without_password(text)))
        );
    }
    return true;
}

}  // namespace sluice::app
