#include "core/waiting_lines.hpp"

#include <algorithm>

namespace sluice::core {

void waiting_lines::insert(entry_index index) {
    entry& added = x_entries[index];
    lane& into = lane_of(added);
    ++x_counts[static_cast<std::size_t>(added.level)];
    if (into.empty() || x_entries[into.tail].order < added.order) {
        into.push_back(x_entries, index);
        return;
    }
    entry_index at = into.head;
    while (x_entries[at].order < added.order) {
        at = x_entries[at].line.next;
    }
    into.insert_before(x_entries, at, index);
}

void waiting_lines::remove(entry_index index) {
    entry& gone = x_entries[index];
    lane_of(gone).remove(x_entries, index);
    --x_counts[static_cast<std::size_t>(gone.level)];
}

void waiting_lines::promote(entry_index index) {
    remove(index);
    entry& raised = x_entries[index];
    raised.level = static_cast<priority>(static_cast<std::uint8_t>(raised.level) - 1);
    insert(index);
}

instant waiting_lines::promotion_of(std::size_t cls, std::size_t level, duration ageing) const {
    const lane& from = x_lanes[cls][level];
    if (level == 0 || from.empty()) {
        return never;
    }
    return x_entries[from.head].arrival + static_cast<std::int64_t>(cls - level + 1) * ageing;
}

entry_index waiting_lines::due_promotion(instant now, duration ageing) const {
    for (std::size_t level = 1; level < priority_count; ++level) {
        entry_index first = no_entry;
        for (std::size_t cls = level; cls < priority_count; ++cls) {
            if (promotion_of(cls, level, ageing) > now) {
                continue;
            }
            const entry_index head = x_lanes[cls][level].head;
            if (first == no_entry || x_entries[head].order < x_entries[first].order) {
                first = head;
            }
        }
        if (first != no_entry) {
            return first;
        }
    }
    return no_entry;
}

instant waiting_lines::next_promotion(duration ageing) const {
    return std::min(
        {promotion_of(1, 1, ageing), promotion_of(2, 1, ageing), promotion_of(2, 2, ageing)}
    );
}

waiting_lines::walk::walk(const waiting_lines& lines, priority level) : x_lines(&lines) {
    for (std::size_t cls = 0; cls < priority_count; ++cls) {
        x_at[cls] = lines.x_lanes[cls][static_cast<std::size_t>(level)].head;
    }
}

entry_index waiting_lines::walk::next() {
    const entry_table& entries = x_lines->x_entries;
    entry_index* first = nullptr;
    for (entry_index& at : x_at) {
        if (at != no_entry && (first == nullptr || entries[at].order < entries[*first].order)) {
            first = &at;
        }
    }
    if (first == nullptr) {
        return no_entry;
    }
    const entry_index found = *first;
    *first = entries[found].line.next;
    if (*first != no_entry) {
        // Mostly the next to be granted, and in a long queue not in any cache.
        const auto* ahead = reinterpret_cast<const char*>(&entries[*first]);
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 64);
    }
    return found;
}

}  // namespace sluice::core
