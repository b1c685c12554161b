// Who waits, in which order: three classes, arrival order inside each, ageing between them.
//
// This is the replaceable part: everything else asks only for "the next one of class c", so another
// order inside a class (fair shares between tenants, earliest deadline) changes this file alone.
//
// A class is up to three lanes, one for each class its tickets came from. Ageing takes the head of
// one lane to the tail of another, so every lane stays sorted by order key and by arrival, and no
// operation ever searches the middle of a long queue.
#pragma once

#include <array>

#include "core/entry_table.hpp"

namespace sluice::core {

class waiting_lines {
public:
    explicit waiting_lines(entry_table& entries) : x_entries(entries) {}

    std::size_t size() const { return x_counts[0] + x_counts[1] + x_counts[2]; }
    std::size_t size(priority level) const { return x_counts[static_cast<std::size_t>(level)]; }

    /// Into lane (cls, level) at its order key. Appending is O(1); an older one (requeued) walks
    /// from the front, past those that are older still.
    void insert(entry_index index);
    void remove(entry_index index);
    /// One class up.
    void promote(entry_index index);

    /// Whose promotion is due first at `now` in the order of R6; no_entry if none.
    entry_index due_promotion(instant now, duration ageing) const;
    /// When the next promotion is due.
    instant next_promotion(duration ageing) const;

    /// Walks one class by order key.
    class walk {
    public:
        walk(const waiting_lines& lines, priority level);
        /// no_entry at the end.
        entry_index next();

    private:
        const waiting_lines* x_lines;
        std::array<entry_index, priority_count> x_at;
    };

private:
    using lane = entry_list<&entry::line>;

    lane& lane_of(const entry& of) {
        return x_lanes[static_cast<std::size_t>(of.cls)][static_cast<std::size_t>(of.level)];
    }
    instant promotion_of(std::size_t cls, std::size_t level, duration ageing) const;

    entry_table& x_entries;
    std::array<std::array<lane, priority_count>, priority_count> x_lanes;
    std::array<std::size_t, priority_count> x_counts{};
};

}  // namespace sluice::core
