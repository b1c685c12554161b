#include "admin/state_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json_text.hpp"

namespace sluice::admin {

namespace {

/// Appends the fields of one object.
class object {
public:
    explicit object(std::string& out) : x_out(out) { x_out += '{'; }

    object& text(std::string_view name, std::string_view value) {
        key(name);
        append_json_text(x_out, value);
        return *this;
    }
    object& number(std::string_view name, std::int64_t value) {
        key(name);
        fmt::format_to(std::back_inserter(x_out), "{}", value);
        return *this;
    }
    object& number(std::string_view name, std::optional<std::int64_t> value) {
        return value ? number(name, *value) : nothing(name);
    }
    object& real(std::string_view name, double value) {
        key(name);
        fmt::format_to(std::back_inserter(x_out), "{:.3f}", value);
        return *this;
    }
    object& nothing(std::string_view name) {
        key(name);
        x_out += "null";
        return *this;
    }
    object& texts(std::string_view name, std::span<const std::string> values) {
        key(name);
        x_out += '[';
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i > 0) {
                x_out += ',';
            }
            append_json_text(x_out, values[i]);
        }
        x_out += ']';
        return *this;
    }
    object& raw(std::string_view name, std::string_view json) {
        key(name);
        x_out += json;
        return *this;
    }
    void end() { x_out += '}'; }

private:
    void key(std::string_view name) {
        if (x_out.back() != '{') {
            x_out += ',';
        }
        fmt::format_to(std::back_inserter(x_out), "\"{}\":", name);
    }
    std::string& x_out;
};

void separate(std::string& list) {
    if (list.back() != '[') {
        list += ',';
    }
}

std::int64_t millis(duration span) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

/// Unknown capacity is bytes::max() in the core.
std::optional<std::int64_t> known(bytes amount) {
    return amount == bytes::max() ? std::nullopt : std::optional(amount.count());
}

std::string ticket_text(const ticket_id& id) {
    return fmt::format("{:x}-{}", static_cast<std::uint64_t>(id.session), id.number);
}

struct pool_sums {
    std::int64_t slots = 0;
    std::int64_t in_use = 0;
    bytes reserved;
    std::optional<std::int64_t> capacity;
    std::optional<std::int64_t> headroom;
};
pool_sums sums_of(const core::pool_snapshot& now) {
    pool_sums sums;
    for (const core::worker_snapshot& one : now.workers) {
        sums.slots += one.slots;
        sums.in_use += one.in_use;
        sums.reserved += one.kv_reserved;
        if (const auto capacity = known(one.kv_capacity)) {
            sums.capacity = sums.capacity.value_or(0) + *capacity;
            sums.headroom =
                sums.headroom.value_or(0) + std::max<std::int64_t>(one.kv_headroom.count(), 0);
        }
    }
    return sums;
}

std::string waiting_json(const core::pool_snapshot& now) {
    return fmt::format(
        R"({{"high":{},"normal":{},"low":{}}})",
        now.waiting[static_cast<std::size_t>(core::priority::high)],
        now.waiting[static_cast<std::size_t>(core::priority::normal)],
        now.waiting[static_cast<std::size_t>(core::priority::low)]
    );
}

void append_worker(std::string& list, const pool_look& pool, const core::worker_snapshot& one) {
    const auto note = pool.notes.find(one.id);
    const bool noted = note != pool.notes.end();
    separate(list);
    object row(list);
    row.text("id", one.id).text("pool", pool.name);
    row.number("epoch", static_cast<std::int64_t>(one.epoch));
    row.text("state", core::to_string(one.state));
    noted && !note->second.model.empty() ? row.text("model", note->second.model)
                                         : row.nothing("model");
    row.number("slots", std::int64_t{one.slots}).number("in_use", std::int64_t{one.in_use});
    if (one.reports) {
        row.number("running", std::int64_t{one.running});
        row.number("waiting", std::int64_t{one.waiting});
    } else {
        row.nothing("running").nothing("waiting");
    }
    row.nothing("gpu_memory_total").nothing("gpu_memory_free");
    row.number("kv_capacity", known(one.kv_capacity));
    row.number("kv_reserved", one.kv_reserved.count());
    if (one.reports) {
        row.number("kv_used", one.kv_used.count());
    } else {
        row.nothing("kv_used");
    }
    row.number("kv_headroom", known(one.kv_capacity) ? known(one.kv_headroom) : std::nullopt);
    if (one.reports) {
        row.number("report_age_ms", millis(one.report_age));
    } else {
        row.nothing("report_age_ms");
    }
    row.text("probe", noted ? note->second.probe : std::string()).end();
}

std::string_view worker_id(const core::pool_snapshot& now, core::worker_number number) {
    const auto found = std::ranges::find(now.workers, number, &core::worker_snapshot::number);
    return found == now.workers.end() ? std::string_view() : std::string_view(found->id);
}

}  // namespace

std::string pools_json(std::span<const pool_look> looks) {
    std::string list = "[";
    for (const pool_look& pool : looks) {
        const pool_sums sums = sums_of(pool.now);
        separate(list);
        object row(list);
        row.text("name", pool.name).texts("models", pool.models);
        row.number("workers", static_cast<std::int64_t>(pool.now.workers.size()));
        row.number("slots", sums.slots).number("in_use", sums.in_use);
        row.raw("waiting", waiting_json(pool.now));
        row.number("kv_capacity", sums.capacity);
        row.number("kv_reserved", sums.reserved.count());
        row.number("kv_headroom", sums.headroom);
        row.real("grants_per_s", static_cast<double>(pool.now.grants_per_1000_s) / 1000);
        row.number("oldest_wait_ms", millis(pool.now.oldest_wait));
        row.text("backend", pool.backend).nothing("dispatcher");
        row.number("grants_total", static_cast<std::int64_t>(pool.now.grants_total)).end();
    }
    return list + "]";
}

std::string workers_json(std::span<const pool_look> looks) {
    std::string list = "[";
    for (const pool_look& pool : looks) {
        for (const core::worker_snapshot& one : pool.now.workers) {
            append_worker(list, pool, one);
        }
    }
    return list + "]";
}

std::string permits_json(std::span<const pool_look> looks) {
    std::string list = "[";
    for (const pool_look& pool : looks) {
        for (const core::permit_snapshot& one : pool.now.permits) {
            separate(list);
            object row(list);
            row.text("id", ticket_text(one.ticket));
            row.text("worker", worker_id(pool.now, one.worker));
            row.number("slot", std::int64_t{one.slot});
            row.number("fencing", static_cast<std::int64_t>(one.token));
            row.text("holder", pool.holder).text("tenant", one.tenant);
            row.text("class", core::to_string(one.cls)).number("kv_bytes", one.peak_kv.count());
            row.number("age_ms", millis(one.age)).number("expires_ms", millis(one.expires_in));
            row.text("pool", pool.name).end();
        }
    }
    return list + "]";
}

std::string queue_json(std::span<const pool_look> looks) {
    std::string list = "[";
    for (const pool_look& pool : looks) {
        for (const core::ticket_snapshot& one : pool.now.queue) {
            separate(list);
            object row(list);
            row.text("id", ticket_text(one.ticket)).text("pool", pool.name);
            row.text("class", core::to_string(one.cls)).text("tenant", one.tenant);
            row.number("kv_bytes", one.peak_kv.count());
            row.number("position", static_cast<std::int64_t>(one.position));
            row.number("waited_ms", millis(one.waited)).number("eta_ms", millis(one.eta)).end();
        }
    }
    return list + "]";
}

std::string push_json(std::span<const pool_look> looks) {
    std::string out;
    object all(out);
    all.raw("pools", pools_json(looks)).raw("workers", workers_json(looks));
    all.raw("queue", queue_json(looks)).end();
    return out;
}

}  // namespace sluice::admin
