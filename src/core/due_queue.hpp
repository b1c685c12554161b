// Entries by the instant at which they are due: deadlines of tickets, expiries of permits.
//
// A ladder: what is due within the nearest 16 ms sits in a heap, everything later in unsorted lists
// of 16 ms each. Inserting and removing far away is O(1), and the heap stays small enough for the
// cache, so that a million waiting tickets cost hardly more than ten thousand.
//
// Invariants
//  1. Every entry in the heap is due in a bucket ≤ x_near_bucket, every far one in a later bucket.
//  2. The heap is empty only when everything is.
#pragma once

#include <map>
#include <vector>

#include "core/entry_table.hpp"

namespace sluice::core {

class due_queue {
public:
    explicit due_queue(entry_table& entries) : x_entries(entries) {}

    bool empty() const { return x_near.empty(); }
    /// Earliest due, ties by order key; no_entry when empty.
    entry_index top() const { return x_near.empty() ? no_entry : x_near.front().index; }
    instant next() const { return x_near.empty() ? never : x_near.front().due; }

    /// `entry.due` is set and not changed while it is in here.
    void insert(entry_index index);
    void remove(entry_index index);
    std::size_t memory_bytes() const;

private:
    struct node {
        instant due;
        std::uint64_t order;
        entry_index index;
    };
    using far_list = entry_list<&entry::due_line>;

    static bool before(const node& a, const node& b) {
        return a.due != b.due ? a.due < b.due : a.order < b.order;
    }
    void put(std::size_t position, const node& value);
    void sift_up(std::size_t position, const node& value);
    void sift_down(std::size_t position, const node& value);
    void push_near(entry_index index);
    void refill();

    entry_table& x_entries;
    std::vector<node> x_near;
    std::int64_t x_near_bucket = 0;
    std::map<std::int64_t, far_list> x_far;
};

}  // namespace sluice::core
