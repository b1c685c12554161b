#include "engine/faults.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/random.hpp"

namespace sluice::engine {

namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value < 0 ||
        value > quantity_limit) {
        return std::nullopt;
    }
    return value;
}

std::optional<duration> parse_duration(std::string_view text) {
    struct unit {
        std::string_view name;
        std::int64_t microseconds;
    };
    for (const unit& unit : {unit{"us", 1}, unit{"ms", 1000}, unit{"s", 1'000'000}}) {
        if (text.ends_with(unit.name)) {
            const auto count = parse_number(text.substr(0, text.size() - unit.name.size()));
            if (count && *count <= quantity_limit / unit.microseconds) {
                return duration(*count * unit.microseconds);
            }
        }
    }
    return std::nullopt;
}

std::unexpected<error> wrong(std::string_view entry, std::string_view expected) {
    return fail(
        errc::invalid_argument, fmt::format("faults: '{}' is not understood; {}", entry, expected)
    );
}

}  // namespace

/// name[=value][@selector|%selector]
struct fault_plan::words {
    explicit words(std::string_view entry) : all(entry) {
        const std::size_t mark = entry.find_first_of("@%");
        if (mark != std::string_view::npos) {
            selector_kind = entry[mark];
            selector = entry.substr(mark + 1);
        }
        std::string_view rest = entry.substr(0, mark);
        const std::size_t equals = rest.find('=');
        name = rest.substr(0, equals);
        if (equals != std::string_view::npos) {
            value = rest.substr(equals + 1);
        }
    }

    std::string_view all;
    std::string_view name;
    std::optional<std::string_view> value;
    char selector_kind = 0;
    std::string_view selector;
};

result<fault_plan> fault_plan::parse(std::string_view spec) {
    fault_plan plan;
    while (!spec.empty()) {
        const std::size_t comma = spec.find(',');
        if (auto added = plan.add(spec.substr(0, comma)); !added) {
            return std::unexpected(added.error());
        }
        spec = comma == std::string_view::npos ? std::string_view() : spec.substr(comma + 1);
    }
    if (plan.garbage_status && plan.refuse_connect) {
        return wrong("garbage_status,refuse_connect", "only one of them can hold");
    }
    return plan;
}

result<void> fault_plan::add(std::string_view text) {
    const words parts(text);
    if (parts.name == "refuse_connect") {
        const auto time = parts.value ? parse_duration(*parts.value) : duration::max();
        if (!time || parts.selector_kind != 0) {
            return wrong(text, "write refuse_connect or refuse_connect=2s");
        }
        refuse_connect = *time;
        return {};
    }
    if (parts.name == "garbage_status") {
        if (parts.value || parts.selector_kind != 0) {
            return wrong(text, "garbage_status takes nothing");
        }
        garbage_status = true;
        return {};
    }
    if (parts.name == "crash") {
        const auto time = parse_duration(parts.selector);
        if (!time || parts.value || parts.selector_kind != '@') {
            return wrong(text, "write crash@10s");
        }
        crashes.push_back(*time);
        return {};
    }
    return add_request_fault(parts);
}

result<void> fault_plan::add_request_fault(const words& parts) {
    entry added;
    std::optional<std::int64_t> value = 0;
    const std::optional<std::int64_t> number =
        parts.value ? parse_number(*parts.value) : std::nullopt;
    if (parts.name == "status") {
        added.what = kind::status;
        value = number && *number >= 400 && *number <= 599 ? number : std::nullopt;
    } else if (parts.name == "slow_headers") {
        added.what = kind::slow_headers;
        const auto time = parts.value ? parse_duration(*parts.value) : std::nullopt;
        value = time ? std::optional(time->count()) : std::nullopt;
    } else if (parts.name == "hang_before_first") {
        added.what = kind::hang_before_first;
        value = parts.value ? std::nullopt : value;
    } else if (parts.name == "hang_after") {
        added.what = kind::hang_after;
        value = number;
    } else if (parts.name == "close_after") {
        added.what = kind::close_after;
        value = number;
    } else {
        return wrong(
            parts.all,
            "choose from status, slow_headers, hang_before_first, hang_after, close_after, "
            "refuse_connect, garbage_status, crash"
        );
    }
    if (!value) {
        return wrong(
            parts.all,
            "write status=500 (400 to 599), slow_headers=200ms, hang_before_first, hang_after=5 or "
            "close_after=5"
        );
    }
    added.value = *value;
    if (parts.selector_kind != 0) {
        const auto selected = parse_number(parts.selector);
        if (!selected || *selected < 1 || (parts.selector_kind == '%' && *selected > 100)) {
            return wrong(parts.all, "a selector is @n (the n-th request) or %p (1 to 100 percent)");
        }
        (parts.selector_kind == '@' ? added.only : added.percent) = *selected;
    }
    x_entries.push_back(added);
    return {};
}

request_faults fault_plan::for_request(std::int64_t number) const {
    request_faults all;
    for (std::size_t i = 0; i < x_entries.size(); ++i) {
        const entry& fault = x_entries[i];
        random_source chance(static_cast<std::uint64_t>(number) * 1000 + i);
        if ((fault.only != 0 && fault.only != number) ||
            !chance.chance(static_cast<std::uint64_t>(fault.percent), 100)) {
            continue;
        }
        switch (fault.what) {
            case kind::status:
                all.status = static_cast<int>(fault.value);
                break;
            case kind::slow_headers:
                all.slow_headers = duration(fault.value);
                break;
            case kind::hang_before_first:
                all.hang_before_first = true;
                break;
            case kind::hang_after:
                all.hang_after = fault.value;
                break;
            case kind::close_after:
                all.close_after = fault.value;
                break;
        }
    }
    return all;
}

}  // namespace sluice::engine
