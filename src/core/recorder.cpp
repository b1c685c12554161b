#include "core/recorder.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sluice::core {

namespace {

constexpr std::string_view config_word = "config";

bool is_config(std::string_view line) {
    return line.starts_with(config_word) &&
           (line.size() == config_word.size() || line[config_word.size()] == ' ');
}

/// The fields of a configuration as plain numbers, so that reading and writing share one table.
struct config_field {
    std::string_view key;
    std::int64_t (*get)(const scheduler_config&);
    void (*set)(scheduler_config&, std::int64_t);
};

constexpr config_field config_fields[] = {
    {"max_length",
     [](const scheduler_config& c) { return static_cast<std::int64_t>(c.max_length); },
     [](scheduler_config& c, std::int64_t v) { c.max_length = static_cast<std::size_t>(v); }},
    {"max_bytes",
     [](const scheduler_config& c) { return c.max_bytes.count(); },
     [](scheduler_config& c, std::int64_t v) { c.max_bytes = bytes(v); }},
    {"ageing",
     [](const scheduler_config& c) { return c.ageing.count(); },
     [](scheduler_config& c, std::int64_t v) { c.ageing = duration(v); }},
    {"max_bypass",
     [](const scheduler_config& c) { return static_cast<std::int64_t>(c.max_bypass); },
     [](scheduler_config& c, std::int64_t v) { c.max_bypass = static_cast<std::uint32_t>(v); }},
    {"low_share",
     [](const scheduler_config& c) { return static_cast<std::int64_t>(c.low_share); },
     [](scheduler_config& c, std::int64_t v) { c.low_share = static_cast<std::uint32_t>(v); }},
    {"permit_ttl",
     [](const scheduler_config& c) { return c.permit_ttl.count(); },
     [](scheduler_config& c, std::int64_t v) { c.permit_ttl = duration(v); }},
    {"heartbeat",
     [](const scheduler_config& c) { return c.heartbeat.count(); },
     [](scheduler_config& c, std::int64_t v) { c.heartbeat = duration(v); }},
    {"token_floor",
     [](const scheduler_config& c) { return static_cast<std::int64_t>(c.token_floor); },
     [](scheduler_config& c, std::int64_t v) {
         c.token_floor = fencing_token{static_cast<std::uint64_t>(v)};
     }},
};

std::unexpected<error> unreadable(std::string_view line, const std::string& why) {
    return fail(errc::corrupt_input, "the line '" + std::string(line) + "' cannot be read: " + why);
}

}  // namespace

recorder::recorder(recorder_bounds bounds) : x_bounds(bounds) {}

void recorder::add(instant now, const input& what) {
    push(to_line(now, what));
}

void recorder::add_config(const scheduler_config& config) {
    push(to_line(config));
}

void recorder::push(std::string line) {
    x_bytes += line.size();
    x_lines.push_back(std::move(line));
    while (!x_lines.empty() && (x_lines.size() > x_bounds.max_lines || x_bytes > x_bounds.max_bytes)
    ) {
        x_bytes -= x_lines.front().size();
        if (is_config(x_lines.front())) {
            x_dropped_config = std::move(x_lines.front());
        }
        x_lines.pop_front();
        ++x_dropped;
    }
}

std::vector<std::string> recorder::lines() const {
    std::vector<std::string> all;
    all.reserve(x_lines.size() + 1);
    if (!x_dropped_config.empty()) {
        all.push_back(x_dropped_config);
    }
    all.insert(all.end(), x_lines.begin(), x_lines.end());
    return all;
}

std::string to_line(const scheduler_config& config) {
    std::string line(config_word);
    for (const config_field& field : config_fields) {
        if (field.get(config) != field.get(scheduler_config{})) {
            line += ' ' + std::string(field.key) + '=' + std::to_string(field.get(config));
        }
    }
    return line;
}

result<scheduler_config> parse_config(std::string_view line, const scheduler_config& base) {
    if (!is_config(line)) {
        return unreadable(line, "it does not start with 'config'");
    }
    scheduler_config config = base;
    std::string_view rest = line.substr(config_word.size());
    while (!rest.empty()) {
        const std::size_t space = rest.find(' ');
        const std::string_view word = rest.substr(0, space);
        rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
        if (word.empty()) {
            continue;
        }
        const std::string_view key = word.substr(0, word.find('='));
        const std::string_view text =
            key.size() < word.size() ? word.substr(key.size() + 1) : std::string_view();
        const auto* field = std::ranges::find(config_fields, key, &config_field::key);
        if (field == std::end(config_fields)) {
            return unreadable(line, "field '" + std::string(key) + "' is unknown");
        }
        std::int64_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc() || end != text.data() + text.size()) {
            return unreadable(line, "field '" + std::string(key) + "' is no number");
        }
        field->set(config, value);
    }
    return config;
}

result<replayed> replay(std::span<const std::string> lines) {
    replayed all;
    scheduler subject{scheduler_config{}};
    bool started = false;
    std::vector<decision> decisions;
    for (const std::string& line : lines) {
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (is_config(line)) {
            auto config = parse_config(line);
            if (!config) {
                return std::unexpected(config.error());
            }
            if (started) {
                subject.reconfigure(*config);
            } else {
                subject = scheduler(*config);
            }
            started = true;
            continue;
        }
        auto event = parse_line(line);
        if (!event) {
            return std::unexpected(event.error());
        }
        started = true;
        decisions.clear();
        subject.step(event->now, event->what, decisions);
        ++all.steps;
        for (const decision& one : decisions) {
            all.decisions += to_line(one, subject) + '\n';
        }
    }
    all.state_hash = subject.state_hash();
    return all;
}

}  // namespace sluice::core
