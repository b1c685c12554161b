// Writing side of the recording format; event_parse.cpp reads it.
#include "core/event_text.hpp"

#include <concepts>
#include <type_traits>

namespace sluice::core {

namespace {

bool stands_for_itself(char c) {
    return c > ' ' && c < '\x7f' && std::string_view("%=,:/").find(c) == std::string_view::npos;
}

/// A value of sixteen, or -1.
int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return -1;
}

/// Words and key=value pairs. What equals its default is left out, so that lines stay readable.
class line_writer {
public:
    line_writer() { x_line.reserve(160); }

    line_writer& word(std::string_view text) {
        space();
        x_line += text;
        return *this;
    }
    /// "%" alone stands for the empty name.
    line_writer& name(std::string_view raw) {
        space();
        x_line += raw.empty() ? "%" : escape_name(raw);
        return *this;
    }
    line_writer& ticket(const ticket_id& id) {
        space();
        x_line += std::to_string(static_cast<std::uint64_t>(id.session));
        x_line += '/';
        x_line += std::to_string(id.number);
        return *this;
    }

    template <std::integral Number>
    line_writer& field(std::string_view key, Number value) {
        open(key);
        x_line += std::to_string(value);
        return *this;
    }
    template <std::integral Number>
    line_writer& field(std::string_view key, Number value, Number usual) {
        return value == usual ? *this : field(key, value);
    }
    template <class Unit>
    line_writer& field(std::string_view key, quantity<Unit> value) {
        return field(key, value.count(), std::int64_t{0});
    }
    template <class Enum>
        requires std::is_enum_v<Enum>
    line_writer& field(std::string_view key, Enum value) {
        return field(key, static_cast<std::uint64_t>(value), std::uint64_t{0});
    }
    line_writer& field(std::string_view key, duration value, duration usual) {
        return field(key, value.count(), usual.count());
    }
    line_writer& text(std::string_view key, std::string_view value) {
        if (!value.empty()) {
            open(key);
            x_line += value;
        }
        return *this;
    }
    line_writer& kv_capacity(bytes value) {
        return value == bytes::max() ? text("kv", "unknown") : field("kv", value.count());
    }

    /// Put before every key that follows: "r." marks the fields of a carried report.
    void prefix(std::string_view text) { x_prefix = text; }

    std::string take() { return std::move(x_line); }

private:
    void space() {
        if (!x_line.empty()) {
            x_line += ' ';
        }
    }
    void open(std::string_view key) {
        space();
        x_line += x_prefix;
        x_line += key;
        x_line += '=';
    }

    std::string x_line;
    std::string_view x_prefix;
};

void write_report_figures(line_writer& out, const report& what) {
    out.field("number", what.number, std::uint64_t{0});
    out.field("age", what.age, duration::zero());
    out.field("running", what.running, 0U).field("waiting", what.waiting, 0U);
    out.field("kv", what.kv_capacity).field("used", what.kv_used);
    std::string rows;
    bool any = false;
    for (const bytes row : what.headroom) {
        rows += (rows.empty() ? "" : ",") + std::to_string(row.count());
        any = any || row != bytes::zero();
    }
    out.text("headroom", any ? rows : "");
    out.field("max_token", what.max_token);
    std::string listed;
    for (const fencing_token token : what.listed) {
        listed += (listed.empty() ? "" : ",") + std::to_string(static_cast<std::uint64_t>(token));
    }
    out.text("listed", listed);
}

void write_carried(line_writer& out, const report* carried) {
    if (carried == nullptr) {
        return;
    }
    out.prefix("r.");
    // Always written: its presence says that there is a report at all.
    out.text("worker", carried->worker.empty() ? "%" : escape_name(carried->worker));
    out.field("epoch", carried->epoch);
    write_report_figures(out, *carried);
}

void write_ticket(line_writer& out, const ticket& what) {
    if (what.cls != priority::normal) {
        out.text("class", to_string(what.cls));
    }
    out.text("tenant", escape_name(what.tenant));
    out.field("prompt", what.prompt_kv).field("peak", what.peak_kv);
    out.field("predicted", what.predicted);
    out.field("wait", what.wait, ticket{}.wait);
    out.field("body", what.queued_bytes);
    std::string hints;
    for (const hint& one : what.hints) {
        hints += hints.empty() ? "" : ",";
        hints += escape_name(one.worker) + ':' + std::to_string(one.cached.count());
    }
    out.text("hints", hints);
}

struct input_writer {
    line_writer& out;

    void operator()(const tick&) { out.word("tick"); }
    void operator()(const worker_joined& what) {
        out.word("join").name(what.worker).field("epoch", what.epoch);
        out.field("slots", what.slots, 1U).kv_capacity(what.kv_capacity);
        out.field("reports", what.reports ? 1 : 0, 0).field("max_token", what.max_token);
    }
    void operator()(const worker_reported& what) {
        const report empty;
        const report& figures = what.what == nullptr ? empty : *what.what;
        out.word("report").name(figures.worker).field("epoch", figures.epoch);
        write_report_figures(out, figures);
    }
    void operator()(const worker_probed& what) {
        out.word("probe").name(what.worker).field("epoch", what.epoch);
    }
    void operator()(const worker_draining& what) {
        out.word("drain").name(what.worker).field("epoch", what.epoch);
    }
    void operator()(const worker_lost& what) {
        out.word("lost").name(what.worker).field("epoch", what.epoch);
    }
    void operator()(const ticket_submitted& what) {
        out.word("submit").ticket(what.what.id);
        write_ticket(out, what.what);
    }
    void operator()(const ticket_cancelled& what) { out.word("cancel").ticket(what.id); }
    void operator()(const permit_renewed& what) {
        out.word("renew").ticket(what.id).field("token", what.token);
        out.field("ttl", what.ttl, permit_renewed{}.ttl);
    }
    void operator()(const permit_released& what) {
        out.word("release").ticket(what.id).field("token", what.token);
        out.text("outcome", what.outcome == release_outcome::ok ? "" : to_string(what.outcome));
        out.field("prompt", what.prompt).field("output", what.output);
        write_carried(out, what.carried);
    }
    void operator()(const permit_requeued& what) {
        out.word("requeue").ticket(what.id).field("token", what.token);
        out.text("why", what.why == requeue_why::refused ? "" : "failed");
        write_carried(out, what.carried);
    }
    void operator()(const permit_adopted& what) {
        out.word("adopt").ticket(what.what.id);
        write_ticket(out, what.what);
        out.text("worker", escape_name(what.worker)).field("epoch", what.epoch);
        out.field("slot", what.slot, 0U).field("token", what.old_token);
        out.field("key", what.order_key, std::uint64_t{0});
        out.field("ttl", what.ttl, permit_adopted{}.ttl);
    }
    void operator()(const session_lost& what) {
        out.word("gone").word(std::to_string(static_cast<std::uint64_t>(what.session)));
    }
};

}  // namespace

std::string escape_name(std::string_view raw) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    text.reserve(raw.size());
    for (const char c : raw) {
        if (stands_for_itself(c)) {
            text += c;
            continue;
        }
        const auto value = static_cast<unsigned char>(c);
        text += {'%', digits[value >> 4U], digits[value & 15U]};
    }
    return text;
}

result<std::string> unescape_name(std::string_view text) {
    std::string raw;
    raw.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            raw += text[at];
            continue;
        }
        const int high = at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
        const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
        if (high < 0 || low < 0) {
            return fail(
                errc::corrupt_input,
                "'" + std::string(text) + "' is no escaped name: '%' needs two hexadecimal digits"
            );
        }
        raw += static_cast<char>(high * 16 + low);
        at += 2;
    }
    return raw;
}

std::string to_line(instant now, const input& what) {
    line_writer out;
    out.word(std::to_string(now.time_since_epoch().count()));
    std::visit(input_writer{out}, what);
    return out.take();
}

std::string to_line(const decision& what, const scheduler& who) {
    using enum decision_kind;
    const decision_kind kind = what.kind;
    const bool placed = kind == granted || kind == adopted;
    const bool permitted = placed || kind == released || kind == lost || kind == requeued;
    const bool of_worker = kind == worker_suspect || kind == worker_ready;
    line_writer out;
    out.word(to_string(kind));
    if (!of_worker) {
        out.ticket(what.ticket);
    }
    if (permitted || of_worker) {
        out.text("worker", escape_name(who.worker_id(what.worker))).field("epoch", what.epoch);
    }
    if (placed) {
        out.field("slot", what.slot);
    }
    if (permitted) {
        out.field("token", what.token);
    }
    if (placed) {
        out.field("peak", what.peak_kv).field("key", what.order_key, std::uint64_t{0});
    }
    out.text("why", what.why == decision_why::none ? "" : to_string(what.why));
    if (kind == released) {
        out.text("outcome", to_string(what.outcome));
    }
    if (kind == call_failed) {
        out.text("failure", to_string(what.failure));
    }
    if (kind == granted || kind == timed_out) {
        out.field("waited", what.waited, duration::zero());
        out.field("passed_by", what.passed_by, 0U);
    }
    if (kind == rejected || kind == timed_out) {
        out.field("retry_after", what.retry_after, duration::zero());
        out.field("queue", what.queue_length, 0U);
    }
    return out.take();
}

}  // namespace sluice::core
