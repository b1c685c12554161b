#include "lab/bench_report.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <iterator>
#include <map>

namespace sluice::lab {

namespace {

/// rps of sluice over rps of nginx, by path and connections.
std::map<std::string, double> ratios(const gateway_bench_report& report) {
    std::map<std::string, double> found;
    for (const gateway_bench_row& ours : report.rows) {
        const gateway_bench_row* other = report.find("nginx", ours.path, ours.connections);
        if (ours.peer == "sluice" && other != nullptr && other->rps > 0) {
            found[fmt::format("{}_{}", ours.path, ours.connections)] = ours.rps / other->rps;
        }
    }
    return found;
}

boost::json::object row_json(const gateway_bench_row& row) {
    return {
        {"peer", row.peer},
        {"path", row.path},
        {"connections", row.connections},
        {"rps", row.rps},
        {"rps_low", row.rps_low},
        {"rps_high", row.rps_high},
        {"p50_ms", row.p50_ms},
        {"p50_ms_low", row.p50_low},
        {"p50_ms_high", row.p50_high},
        {"p99_ms", row.p99_ms},
        {"cpu_us_per_request", row.cpu_us_per_request},
        {"errors", row.errors},
    };
}

std::string rows_table(const std::vector<gateway_bench_row>& rows) {
    std::string text = fmt::format(
        "{:<8}{:<8}{:>6}{:>10}{:>20}{:>9}{:>16}{:>9}{:>9}{:>8}\n",
        "peer",
        "path",
        "conns",
        "rps",
        "(lowest..highest)",
        "p50 ms",
        "(low..high)",
        "p99 ms",
        "cpu us",
        "errors"
    );
    for (const gateway_bench_row& row : rows) {
        text += fmt::format(
            "{:<8}{:<8}{:>6}{:>10.0f}{:>20}{:>9.3f}{:>16}{:>9.3f}{:>9.1f}{:>8}\n",
            row.peer,
            row.path,
            row.connections,
            row.rps,
            fmt::format("{:.0f}..{:.0f}", row.rps_low, row.rps_high),
            row.p50_ms,
            fmt::format("{:.3f}..{:.3f}", row.p50_low, row.p50_high),
            row.p99_ms,
            row.cpu_us_per_request,
            row.errors
        );
    }
    return text;
}

}  // namespace

const gateway_bench_row* gateway_bench_report::find(
    const std::string& peer, const std::string& path, int connections
) const {
    for (const gateway_bench_row& row : rows) {
        if (row.peer == peer && row.path == path && row.connections == connections) {
            return &row;
        }
    }
    return nullptr;
}

void gateway_bench_report::append(gateway_bench_report more) {
    std::ranges::move(more.rows, std::back_inserter(rows));
    std::ranges::move(more.figures, std::back_inserter(figures));
}

std::string to_json(const gateway_bench_report& report) {
    boost::json::array list;
    for (const gateway_bench_row& row : report.rows) {
        list.push_back(row_json(row));
    }
    boost::json::object ratio;
    for (const auto& [name, value] : ratios(report)) {
        ratio[name] = value;
    }
    boost::json::array figures;
    for (const bench_figure& one : report.figures) {
        figures.push_back(
            {{"name", one.name}, {"value", one.value}, {"unit", one.unit}, {"goal", one.goal}}
        );
    }
    return boost::json::serialize(boost::json::object{
        {"rows", std::move(list)},
        {"ratio_to_nginx", std::move(ratio)},
        {"figures", std::move(figures)}
    });
}

std::string to_table(const gateway_bench_report& report) {
    std::string text = report.rows.empty() ? "" : rows_table(report.rows);
    for (const auto& [name, value] : ratios(report)) {
        text += fmt::format("sluice / nginx, {}: {:.2f}\n", name, value);
    }
    for (const bench_figure& one : report.figures) {
        text += fmt::format("{}: {:.3f}", one.name, one.value);
        text += one.unit.empty() ? "" : " " + one.unit;
        text += one.goal.empty() ? "\n" : fmt::format(" (goal: {})\n", one.goal);
    }
    return text;
}

}  // namespace sluice::lab
