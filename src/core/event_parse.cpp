// Reading side of the recording format; event_text.cpp writes it.
#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <vector>

#include "core/event_text.hpp"

namespace sluice::core {

namespace {

constexpr std::size_t npos = std::string_view::npos;

template <std::integral Number>
bool read_number(std::string_view text, Number& into) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
    return failure == std::errc() && end == text.data() + text.size();
}

std::string_view take_until(std::string_view& rest, char separator) {
    const std::size_t at = rest.find(separator);
    const std::string_view part = rest.substr(0, at);
    rest = at == npos ? std::string_view() : rest.substr(at + 1);
    return part;
}

/// The words of a line with the first thing that was wrong. Reading goes on after a failure, so
/// that the readers below stay plain lists of fields; what they read then is never used.
class line_reader {
public:
    explicit line_reader(std::string_view line, owned_input& into) : x_into(into) {
        while (!line.empty()) {
            const std::string_view word = take_until(line, ' ');
            if (word.empty()) {
                continue;
            }
            const std::size_t equals = word.find('=');
            if (equals == npos) {
                x_words.push_back(word);
            } else {
                add_field(word.substr(0, equals), word.substr(equals + 1));
            }
        }
    }

    void refuse(std::string_view field, std::string_view why) {
        if (x_failure.empty()) {
            x_failure = "field '" + std::string(field) + "' " + std::string(why);
        }
    }
    /// What was wrong, or nothing. A word or field that no reader asked for is wrong.
    std::string finish() {
        if (!x_failure.empty()) {
            return x_failure;
        }
        if (x_next_word < x_words.size()) {
            return "word '" + std::string(x_words[x_next_word]) + "' is out of place";
        }
        for (const field_text& one : x_fields) {
            if (!one.used) {
                return "field '" + std::string(one.key) + "' is unknown here";
            }
        }
        return {};
    }

    std::string_view word(std::string_view what) {
        if (x_next_word == x_words.size()) {
            refuse(what, "is missing");
            return {};
        }
        return x_words[x_next_word++];
    }
    std::string_view name(std::string_view what) { return keep(what, word(what)); }
    ticket_id ticket_name() {
        std::string_view text = word("ticket");
        std::uint64_t session = 0;
        std::uint64_t number = 0;
        if (!read_number(take_until(text, '/'), session) || !read_number(text, number)) {
            refuse("ticket", "is no <session>/<number>");
        }
        return {session_id{session}, number};
    }

    template <std::integral Number>
    void number(std::string_view key, Number& into) {
        if (const auto text = find(key); text && !read_number(*text, into)) {
            refuse(key, "is no number of its range");
        }
    }
    template <class Unit>
    void number(std::string_view key, quantity<Unit>& into) {
        std::int64_t count = into.count();
        number(key, count);
        into = quantity<Unit>(count);
    }
    template <class Enum>
        requires std::is_enum_v<Enum>
    void number(std::string_view key, Enum& into) {
        auto count = static_cast<std::underlying_type_t<Enum>>(into);
        number(key, count);
        into = Enum{count};
    }
    void time(std::string_view key, duration& into) {
        std::int64_t count = into.count();
        number(key, count);
        into = duration(count);
    }
    void text(std::string_view key, std::string_view& into) {
        if (const auto found = find(key)) {
            into = keep(key, *found);
        }
    }
    template <class Enum, class Names>
    void choice(std::string_view key, Enum& into, const Names& values) {
        const auto found = find(key);
        if (!found) {
            return;
        }
        const auto hit =
            std::ranges::find_if(values, [&](const auto& pair) { return pair.first == *found; });
        if (hit == std::end(values)) {
            refuse(key, "has no such value");
        } else {
            into = hit->second;
        }
    }
    /// The text of `key`, marked as read.
    std::optional<std::string_view> find(std::string_view key) {
        for (field_text& one : x_fields) {
            if (one.key.starts_with(x_prefix) && one.key.substr(x_prefix.size()) == key) {
                one.used = true;
                return one.value;
            }
        }
        return std::nullopt;
    }
    void prefix(std::string_view text) { x_prefix = text; }

    /// Unescapes into storage that lives as long as the input.
    std::string_view keep(std::string_view field, std::string_view text) {
        if (text == "%") {
            return {};
        }
        result<std::string> raw = unescape_name(text);
        if (!raw) {
            refuse(field, "is no escaped name");
            return {};
        }
        return x_into.texts->emplace_back(std::move(*raw));
    }
    report& new_report() { return x_into.reports->emplace_back(); }

private:
    struct field_text {
        std::string_view key;
        std::string_view value;
        bool used = false;
    };
    void add_field(std::string_view key, std::string_view value) {
        for (const field_text& one : x_fields) {
            if (one.key == key) {
                refuse(key, "is given twice");
            }
        }
        x_fields.push_back({key, value});
    }

    owned_input& x_into;
    std::vector<std::string_view> x_words;
    std::vector<field_text> x_fields;
    std::size_t x_next_word = 0;
    std::string_view x_prefix;
    std::string x_failure;
};

using class_names = std::pair<std::string_view, priority>;
constexpr class_names classes[] = {
    {"high", priority::high}, {"normal", priority::normal}, {"low", priority::low}
};
using outcome_names = std::pair<std::string_view, release_outcome>;
constexpr outcome_names outcomes[] = {
    {"ok", release_outcome::ok},
    {"failed", release_outcome::failed},
    {"aborted", release_outcome::aborted},
    {"hung", release_outcome::hung}
};
using requeue_names = std::pair<std::string_view, requeue_why>;
constexpr requeue_names requeue_reasons[] = {
    {"refused", requeue_why::refused}, {"failed", requeue_why::failed}
};

void read_kv_capacity(line_reader& in, bytes& into) {
    const auto text = in.find("kv");
    if (!text || *text == "unknown") {
        return;
    }
    std::int64_t count = 0;
    if (!read_number(*text, count)) {
        in.refuse("kv", "is neither a number nor 'unknown'");
    }
    into = bytes(count);
}

/// One figure stands for every row; otherwise all rows are given.
void read_headroom(line_reader& in, report& into) {
    const auto text = in.find("headroom");
    if (!text) {
        return;
    }
    std::string_view rest = *text;
    std::vector<bytes> rows;
    do {
        std::int64_t count = 0;
        if (!read_number(take_until(rest, ','), count)) {
            in.refuse("headroom", "holds something that is no number");
        }
        rows.emplace_back(count);
    } while (!rest.empty() && rows.size() <= into.headroom.size());
    if (rows.size() == 1) {
        into.headroom.fill(rows.front());
    } else if (rows.size() == into.headroom.size()) {
        std::ranges::copy(rows, into.headroom.begin());
    } else {
        in.refuse("headroom", "needs one figure, or one for every row");
    }
}

void read_report_figures(line_reader& in, report& into) {
    in.number("epoch", into.epoch);
    in.number("number", into.number);
    in.time("age", into.age);
    in.number("running", into.running);
    in.number("waiting", into.waiting);
    in.number("kv", into.kv_capacity);
    in.number("used", into.kv_used);
    read_headroom(in, into);
    in.number("max_token", into.max_token);
    std::string_view listed = in.find("listed").value_or(std::string_view());
    while (!listed.empty()) {
        std::uint64_t token = 0;
        if (!read_number(take_until(listed, ','), token)) {
            in.refuse("listed", "holds something that is no token");
        }
        into.listed.push_back(fencing_token{token});
    }
}

const report* read_carried(line_reader& in) {
    in.prefix("r.");
    const report* carried = nullptr;
    if (in.find("worker")) {
        report& into = in.new_report();
        in.text("worker", into.worker);
        read_report_figures(in, into);
        carried = &into;
    }
    in.prefix("");
    return carried;
}

void read_hints(line_reader& in, ticket& into) {
    std::string_view rest = in.find("hints").value_or(std::string_view());
    while (!rest.empty()) {
        std::string_view one = take_until(rest, ',');
        const std::string_view worker = take_until(one, ':');
        std::int64_t cached = 0;
        if (!read_number(one, cached)) {
            in.refuse("hints", "holds something that is no <worker>:<tokens>");
        }
        into.hints.push_back({std::string(in.keep("hints", worker)), tokens(cached)});
    }
}

void read_ticket(line_reader& in, ticket& into) {
    into.id = in.ticket_name();
    in.choice("class", into.cls, classes);
    in.text("tenant", into.tenant);
    in.number("prompt", into.prompt_kv);
    in.number("peak", into.peak_kv);
    in.number("predicted", into.predicted);
    in.time("wait", into.wait);
    in.number("body", into.queued_bytes);
    read_hints(in, into);
}

input read_join(line_reader& in) {
    worker_joined what;
    what.worker = in.name("worker");
    in.number("epoch", what.epoch);
    in.number("slots", what.slots);
    read_kv_capacity(in, what.kv_capacity);
    int reports = 0;
    in.number("reports", reports);
    if (reports != 0 && reports != 1) {
        in.refuse("reports", "is neither 0 nor 1");
    }
    what.reports = reports == 1;
    in.number("max_token", what.max_token);
    return what;
}

input read_report(line_reader& in) {
    report& into = in.new_report();
    into.worker = in.name("worker");
    read_report_figures(in, into);
    return worker_reported{&into};
}

template <class Event>
input read_worker_event(line_reader& in) {
    Event what;
    what.worker = in.name("worker");
    in.number("epoch", what.epoch);
    return what;
}

input read_renew(line_reader& in) {
    permit_renewed what;
    what.id = in.ticket_name();
    in.number("token", what.token);
    in.time("ttl", what.ttl);
    return what;
}

input read_release(line_reader& in) {
    permit_released what;
    what.id = in.ticket_name();
    in.number("token", what.token);
    in.choice("outcome", what.outcome, outcomes);
    in.number("prompt", what.prompt);
    in.number("output", what.output);
    what.carried = read_carried(in);
    return what;
}

input read_requeue(line_reader& in) {
    permit_requeued what;
    what.id = in.ticket_name();
    in.number("token", what.token);
    in.choice("why", what.why, requeue_reasons);
    what.carried = read_carried(in);
    return what;
}

input read_adopt(line_reader& in) {
    permit_adopted what;
    read_ticket(in, what.what);
    in.text("worker", what.worker);
    in.number("epoch", what.epoch);
    in.number("slot", what.slot);
    in.number("token", what.old_token);
    in.number("key", what.order_key);
    in.time("ttl", what.ttl);
    return what;
}

input read_submit(line_reader& in) {
    ticket_submitted what;
    read_ticket(in, what.what);
    return what;
}

input read_gone(line_reader& in) {
    session_lost what;
    std::uint64_t session = 0;
    if (!read_number(in.word("session"), session)) {
        in.refuse("session", "is no number");
    }
    what.session = session_id{session};
    return what;
}

struct verb {
    std::string_view name;
    input (*read)(line_reader&);
};
constexpr verb verbs[] = {
    {"tick", [](line_reader&) -> input { return tick{}; }},
    {"join", read_join},
    {"report", read_report},
    {"probe", read_worker_event<worker_probed>},
    {"drain", read_worker_event<worker_draining>},
    {"lost", read_worker_event<worker_lost>},
    {"submit", read_submit},
    {"cancel", [](line_reader& in) -> input { return ticket_cancelled{in.ticket_name()}; }},
    {"renew", read_renew},
    {"release", read_release},
    {"requeue", read_requeue},
    {"adopt", read_adopt},
    {"gone", read_gone},
};

}  // namespace

result<owned_input> parse_line(std::string_view line) {
    owned_input into;
    into.texts = std::make_shared<std::deque<std::string>>();
    into.reports = std::make_shared<std::deque<report>>();
    line_reader in(line, into);
    std::int64_t now = 0;
    if (!read_number(in.word("time"), now)) {
        in.refuse("time", "is no number of microseconds");
    }
    into.now = instant(duration(now));
    const std::string_view name = in.word("input");
    const auto* known = std::ranges::find(verbs, name, &verb::name);
    if (known == std::end(verbs)) {
        in.refuse("input", "has no such name");
    } else {
        into.what = known->read(in);
    }
    if (std::string failure = in.finish(); !failure.empty()) {
        return fail(
            errc::corrupt_input, "the line '" + std::string(line) + "' cannot be read: " + failure
        );
    }
    return into;
}

}  // namespace sluice::core
