#include "load/report.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace sluice::load {

namespace {

namespace json = boost::json;

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
    std::uint64_t total = 0;
    for (const auto& [what, count] : counts) {
        total += count;
    }
    return total;
}

json::object counts_json(const std::map<std::string, std::uint64_t>& counts) {
    json::object out;
    for (const auto& [what, count] : counts) {
        out[what] = count;
    }
    return out;
}

json::value figure(const std::optional<double>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}

json::object quantiles_json(const samples& values) {
    return {
        {"p50", figure(values.quantile(0.5))},
        {"p90", figure(values.quantile(0.9))},
        {"p99", figure(values.quantile(0.99))},
    };
}

std::string counts_text(const std::map<std::string, std::uint64_t>& counts) {
    std::string out;
    for (const auto& [what, count] : counts) {
        out += fmt::format("  {:<28}{}\n", what, count);
    }
    return out;
}

std::string seconds_text(const std::optional<double>& value) {
    if (!value) {
        return "-";
    }
    return *value < 0.1 ? fmt::format("{:.2f} ms", *value * 1000) : fmt::format("{:.2f} s", *value);
}

std::string quantiles_text(std::string_view name, const samples& values) {
    return fmt::format(
        "{:<14}{:>12}{:>12}{:>12}\n",
        name,
        seconds_text(values.quantile(0.5)),
        seconds_text(values.quantile(0.9)),
        seconds_text(values.quantile(0.99))
    );
}

}  // namespace

std::uint64_t load_report::answered() const {
    return ok + sum(refused);
}
std::uint64_t load_report::broken_count() const {
    return sum(broken);
}
std::uint64_t load_report::unanswered_count() const {
    return sum(unanswered);
}

std::string report_json(const load_report& report) {
    const json::object out{
        {"sent", report.sent},
        {"answered", report.answered()},
        {"ok", report.ok},
        {"refused", counts_json(report.refused)},
        {"broken_streams", report.broken_count()},
        {"broken", counts_json(report.broken)},
        {"unanswered", report.unanswered_count()},
        {"unanswered_causes", counts_json(report.unanswered)},
        {"ttft_s", quantiles_json(report.ttft)},
        {"tpot_s", quantiles_json(report.tpot)},
        {"queue_s", quantiles_json(report.queue)},
        {"latency_s", quantiles_json(report.latency)},
        {"refusal_s", quantiles_json(report.refusal)},
        {"late_s", quantiles_json(report.lateness)},
        {"goodput_rps", report.goodput_rps()},
        {"tokens_out", report.tokens_out},
        {"jain", jain_index(report.tenant_tokens)},
        {"elapsed_s", report.elapsed_s},
    };
    return json::serialize(out) + "\n";
}

std::string report_table(const load_report& report) {
    std::string out = fmt::format(
        "sent {}  answered {}  ok {}  refused {}  broken {}  unanswered {}  in {:.1f} s\n",
        report.sent,
        report.answered(),
        report.ok,
        sum(report.refused),
        report.broken_count(),
        report.unanswered_count(),
        report.elapsed_s
    );
    out += counts_text(report.refused);
    out += counts_text(report.broken);
    out += counts_text(report.unanswered);
    out += fmt::format("\n{:<14}{:>12}{:>12}{:>12}\n", "", "p50", "p90", "p99");
    out += quantiles_text("first token", report.ttft);
    out += quantiles_text("each further", report.tpot);
    out += quantiles_text("queued", report.queue);
    out += quantiles_text("whole answer", report.latency);
    out += quantiles_text("refusal", report.refusal);
    out += quantiles_text("sent late", report.lateness);
    out += fmt::format(
        "\ngoodput {:.2f} requests/s  tokens out {}  fairness {:.3f}\n",
        report.goodput_rps(),
        report.tokens_out,
        jain_index(report.tenant_tokens)
    );
    return out;
}

}  // namespace sluice::load
