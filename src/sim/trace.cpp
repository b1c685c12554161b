#include "sim/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <system_error>
#include <unordered_map>

namespace sluice::sim {

namespace {

constexpr std::size_t most_columns = 32;
constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;

std::unexpected<error> broken(std::size_t line, std::string what) {
    return fail(
        errc::corrupt_input, "line " + std::to_string(line) + " of the trace: " + std::move(what)
    );
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
        text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    return text;
}

/// Lines one after the other, without their ends; a byte order mark is passed over.
class line_reader {
public:
    explicit line_reader(std::string_view text) : x_rest(text) {
        if (x_rest.starts_with("\xef\xbb\xbf")) {
            x_rest.remove_prefix(3);
        }
    }
    /// The next line that is not empty.
    std::optional<std::string_view> next() {
        while (!x_rest.empty()) {
            const std::size_t end = std::min(x_rest.find('\n'), x_rest.size());
            const std::string_view line = trim(x_rest.substr(0, end));
            x_rest.remove_prefix(std::min(end + 1, x_rest.size()));
            ++x_number;
            if (!line.empty()) {
                return line;
            }
        }
        return std::nullopt;
    }
    std::size_t number() const { return x_number; }

private:
    std::string_view x_rest;
    std::size_t x_number = 0;
};

/// The cells of one line; what is past most_columns is passed over.
class cells {
public:
    explicit cells(std::string_view line) {
        while (x_count < most_columns) {
            const std::size_t comma = line.find(',');
            x_cells[x_count++] = trim(line.substr(0, comma));
            if (comma == std::string_view::npos) {
                break;
            }
            line.remove_prefix(comma + 1);
        }
    }
    std::size_t size() const { return x_count; }
    /// Empty past the end.
    std::string_view operator[](std::size_t i) const {
        return i < x_count ? x_cells[i] : std::string_view();
    }
    std::optional<std::size_t> find(std::string_view name) const {
        for (std::size_t i = 0; i < x_count; ++i) {
            if (x_cells[i] == name) {
                return i;
            }
        }
        return std::nullopt;
    }

private:
    std::array<std::string_view, most_columns> x_cells;
    std::size_t x_count = 0;
};

std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value < 0 ||
        value > quantity_limit) {
        return std::nullopt;
    }
    return value;
}

/// Digits after the point as microseconds; further digits are cut.
std::optional<std::int64_t> fraction(std::string_view digits) {
    std::int64_t value = 0;
    std::int64_t scale = second;
    for (const char c : digits) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        scale /= 10;
        value += scale * (c - '0');
    }
    return value;
}

/// "12", "12.5": seconds as microseconds, without a way over floating point.
std::optional<std::int64_t> seconds_of(std::string_view text) {
    const std::size_t point = text.find('.');
    const auto before = whole(text.substr(0, point));
    const auto after = point == std::string_view::npos ? std::optional<std::int64_t>(0)
                                                       : fraction(text.substr(point + 1));
    if (!before || !after || *before > quantity_limit / second) {
        return std::nullopt;
    }
    return *before * second + *after;
}

/// Days since 1970-01-01 of a day of the Gregorian calendar.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day_of_month) {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = year / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t month_from_march = (month + 9) % 12;
    const std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + day_of_month - 1;
    return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719'468;
}

/// "2023-11-16 18:15:46.6805900", also with T between and an offset "+00:00" behind.
std::optional<std::int64_t> timestamp_of(std::string_view text) {
    constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
    if (text.size() < shape.size()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        const bool fits =
            shape[i] == 'd' ? digit : text[i] == shape[i] || (i == 10 && text[i] == 'T');
        if (!fits) {
            return std::nullopt;
        }
    }
    const auto part = [text](std::size_t at, std::size_t size) {
        return whole(text.substr(at, size)).value_or(0);
    };
    std::string_view rest = text.substr(shape.size());
    // All lines of a file carry the same offset, and only differences matter.
    rest = rest.substr(0, rest.find_first_of("+-Z"));
    const auto after = rest.empty()          ? std::optional<std::int64_t>(0)
                       : rest.front() == '.' ? fraction(rest.substr(1))
                                             : std::nullopt;
    if (!after || part(5, 2) < 1 || part(5, 2) > 12 || part(8, 2) < 1 || part(8, 2) > 31) {
        return std::nullopt;
    }
    return days_of(part(0, 4), part(5, 2), part(8, 2)) * day +
           ((part(11, 2) * 60 + part(14, 2)) * 60 + part(17, 2)) * second + *after;
}

/// Sorts by arrival and counts from the first one.
result<trace> finish(trace read) {
    if (read.requests.empty()) {
        return fail(errc::corrupt_input, "the trace holds no request; name another file");
    }
    const auto earlier = [](const trace_request& a, const trace_request& b) {
        return a.arrival < b.arrival;
    };
    if (!std::ranges::is_sorted(read.requests, earlier)) {
        // By index: equal arrivals keep the order of the file.
        std::vector<std::uint32_t> order(read.requests.size());
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::sort(order, [&read](std::uint32_t a, std::uint32_t b) {
            const duration first = read.requests[a].arrival;
            const duration second_one = read.requests[b].arrival;
            return first != second_one ? first < second_one : a < b;
        });
        std::vector<trace_request> sorted;
        sorted.reserve(order.size());
        for (const std::uint32_t index : order) {
            sorted.push_back(read.requests[index]);
        }
        read.requests = std::move(sorted);
    }
    const duration start = read.requests.front().arrival;
    for (trace_request& request : read.requests) {
        request.arrival -= start;
    }
    return read;
}

struct columns {
    std::size_t arrival;
    std::size_t input;
    std::size_t output;
    std::optional<std::size_t> tenant;
    std::optional<std::size_t> cls;
};

/// The line after the head: what both formats share.
class row_reader {
public:
    explicit row_reader(columns where) : x_where(where) {}

    result<trace_request> read(const cells& row, std::size_t line, bool timestamps) {
        const std::string_view when = row[x_where.arrival];
        const auto arrival = timestamps ? timestamp_of(when) : seconds_of(when);
        if (!arrival) {
            return broken(
                line,
                timestamps ? "expected a time such as 2023-11-16 18:15:46.68 first"
                           : "expected arrival_s as seconds such as 12.5"
            );
        }
        const auto input = whole(row[x_where.input]);
        const auto output = whole(row[x_where.output]);
        if (!input || !output) {
            return broken(line, "expected whole numbers of input and output tokens");
        }
        trace_request out;
        out.arrival = duration(*arrival);
        out.input = tokens(std::max<std::int64_t>(*input, 1));
        out.output = tokens(*output);
        out.tenant = tenant_of(x_where.tenant ? row[*x_where.tenant] : std::string_view());
        if (x_where.cls && !row[*x_where.cls].empty()) {
            const auto cls = class_of(row[*x_where.cls]);
            if (!cls) {
                return broken(line, "expected the class high, normal or low");
            }
            out.cls = *cls;
        }
        return out;
    }
    std::vector<std::string> take_tenants() { return std::move(x_tenants); }

private:
    static std::optional<core::priority> class_of(std::string_view name) {
        if (name == "high") {
            return core::priority::high;
        }
        if (name == "normal") {
            return core::priority::normal;
        }
        return name == "low" ? std::optional(core::priority::low) : std::nullopt;
    }
    std::uint32_t tenant_of(std::string_view name) {
        const auto [found, inserted] =
            x_numbers.emplace(std::string(name), static_cast<std::uint32_t>(x_tenants.size()));
        if (inserted) {
            x_tenants.emplace_back(name);
        }
        return found->second;
    }

    columns x_where;
    std::unordered_map<std::string, std::uint32_t> x_numbers;
    std::vector<std::string> x_tenants;
};

result<trace> read_rows(line_reader& lines, columns where, bool timestamps) {
    row_reader rows(where);
    trace out;
    while (const auto line = lines.next()) {
        const auto request = rows.read(cells(*line), lines.number(), timestamps);
        if (!request) {
            return std::unexpected(request.error());
        }
        out.requests.push_back(*request);
    }
    out.tenants = rows.take_tenants();
    return finish(std::move(out));
}

}  // namespace

result<trace> read_azure(std::string_view text) {
    line_reader lines(text);
    const cells head(lines.next().value_or(""));
    const auto arrival = head.find("TIMESTAMP");
    const auto input = head.find("ContextTokens");
    const auto output = head.find("GeneratedTokens");
    if (!arrival || !input || !output) {
        return broken(1, "expected the head TIMESTAMP,ContextTokens,GeneratedTokens");
    }
    return read_rows(lines, {*arrival, *input, *output, std::nullopt, std::nullopt}, true);
}

result<trace> read_csv(std::string_view text) {
    line_reader lines(text);
    const cells head(lines.next().value_or(""));
    const auto arrival = head.find("arrival_s");
    const auto input = head.find("input_tokens");
    const auto output = head.find("output_tokens");
    if (!arrival || !input || !output) {
        return broken(1, "expected the head arrival_s,input_tokens,output_tokens[,tenant[,class]]");
    }
    return read_rows(
        lines, {*arrival, *input, *output, head.find("tenant"), head.find("class")}, false
    );
}

result<trace> read_trace(std::string_view text, trace_format format) {
    if (format == trace_format::automatic) {
        line_reader lines(text);
        const cells head(lines.next().value_or(""));
        if (head.find("TIMESTAMP")) {
            format = trace_format::azure;
        } else if (head.find("arrival_s")) {
            format = trace_format::csv;
        } else {
            return broken(
                1,
                "neither the head of an Azure trace (TIMESTAMP,ContextTokens,GeneratedTokens) nor "
                "of a CSV trace (arrival_s,input_tokens,output_tokens)"
            );
        }
    }
    return format == trace_format::azure ? read_azure(text) : read_csv(text);
}

}  // namespace sluice::sim
