#include "core/due_queue.hpp"

#include <algorithm>

namespace sluice::core {

namespace {

constexpr std::size_t arity = 4;

std::int64_t bucket_of(instant due) {
    return due.time_since_epoch().count() >> 14;
}

}  // namespace

void due_queue::put(std::size_t position, const node& value) {
    x_near[position] = value;
    x_entries[value.index].due_line.prev = static_cast<entry_index>(position);
}

void due_queue::sift_up(std::size_t position, const node& value) {
    while (position > 0) {
        const std::size_t parent = (position - 1) / arity;
        if (!before(value, x_near[parent])) {
            break;
        }
        put(position, x_near[parent]);
        position = parent;
    }
    put(position, value);
}

void due_queue::sift_down(std::size_t position, const node& value) {
    for (;;) {
        const std::size_t first = position * arity + 1;
        if (first >= x_near.size()) {
            break;
        }
        const std::size_t last = std::min(first + arity, x_near.size());
        std::size_t least = first;
        for (std::size_t child = first + 1; child < last; ++child) {
            if (before(x_near[child], x_near[least])) {
                least = child;
            }
        }
        if (!before(x_near[least], value)) {
            break;
        }
        put(position, x_near[least]);
        position = least;
    }
    put(position, value);
}

void due_queue::push_near(entry_index index) {
    entry& added = x_entries[index];
    added.due_where = due_place::near;
    const node value{added.due, added.order, index};
    x_near.push_back(value);
    sift_up(x_near.size() - 1, value);
}

void due_queue::insert(entry_index index) {
    entry& added = x_entries[index];
    const std::int64_t bucket = bucket_of(added.due);
    if (x_near.empty()) {
        x_near_bucket = bucket;
    }
    if (bucket <= x_near_bucket) {
        push_near(index);
        return;
    }
    added.due_where = due_place::far;
    // New deadlines are mostly the latest of all: look at the last bucket first.
    auto at = x_far.empty() ? x_far.end() : std::prev(x_far.end());
    if (at == x_far.end() || at->first != bucket) {
        at = x_far.try_emplace(bucket).first;
    }
    at->second.push_back(x_entries, index);
}

void due_queue::remove(entry_index index) {
    entry& gone = x_entries[index];
    if (gone.due_where == due_place::far) {
        const auto at = x_far.find(bucket_of(gone.due));
        at->second.remove(x_entries, index);
        if (at->second.empty()) {
            x_far.erase(at);
        }
    } else if (gone.due_where == due_place::near) {
        const std::size_t position = gone.due_line.prev;
        const node moved = x_near.back();
        x_near.pop_back();
        if (position < x_near.size()) {
            const bool rises = position > 0 && before(moved, x_near[(position - 1) / arity]);
            rises ? sift_up(position, moved) : sift_down(position, moved);
        }
        if (x_near.empty()) {
            refill();
        }
    }
    gone.due_line = {};
    gone.due_where = due_place::nowhere;
}

void due_queue::refill() {
    if (x_far.empty()) {
        return;
    }
    const auto nearest = x_far.begin();
    x_near_bucket = nearest->first;
    far_list list = nearest->second;
    x_far.erase(nearest);
    while (!list.empty()) {
        const entry_index index = list.head;
        list.remove(x_entries, index);
        push_near(index);
    }
}

std::size_t due_queue::memory_bytes() const {
    constexpr std::size_t tree_node = 64;
    return x_near.capacity() * sizeof(node) + x_far.size() * tree_node;
}

}  // namespace sluice::core
