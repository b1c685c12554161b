// Every ticket the scheduler knows, waiting or running, in one slab: an index is its name inside
// the core. Blocks never move, freed indexes are used again, lists are threaded through the
// entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/id_index.hpp"
#include "core/inputs.hpp"

namespace sluice::core {

struct worker;

enum class entry_state : std::uint8_t { unused, waiting, running };
enum class due_place : std::uint8_t { nowhere, near, far };

/// Two neighbours in a list threaded through the entries.
struct entry_links {
    entry_index prev = no_entry;
    entry_index next = no_entry;
};

/// Three cache lines, by who touches them: with a million waiting every line is a miss.
struct alignas(64) entry {
    // Queues: what moving from line to line reads and writes.
    std::uint64_t order = 0;
    /// Waiting: deadline. Running: expiry.
    instant due;
    instant arrival;
    entry_links line;
    /// In a far list of due_queue; in its heap `prev` is the position.
    entry_links due_line;
    entry_links session_line;
    /// Running: the slot. Waiting: nothing.
    std::uint32_t slot = 0;
    /// Waiting: whom to avoid while that worker has no newer news.
    worker_number avoid = no_worker;
    entry_state state = entry_state::unused;
    due_place due_where = due_place::nowhere;
    priority cls = priority::normal;
    priority level = priority::normal;
    bool listed = false;
    bool trial = false;

    // The request.
    ticket_id id;
    bytes prompt_kv;
    bytes peak_kv;
    bytes queued_bytes;
    tokens predicted;
    /// Hinted workers, best first; most tickets have none.
    std::unique_ptr<std::vector<worker_number>> hints;
    std::uint32_t tenant = 0;
    std::uint32_t passed_by = 0;

    // The permit, and what a requeued ticket remembers of it.
    worker* where = nullptr;
    worker_epoch epoch{};
    fencing_token token{};
    fencing_token old_token{};
    instant granted_at;
    instant deadline_before_grant;
    /// Waiting: the worker kept for it.
    worker* reserved = nullptr;
    std::uint64_t avoid_news = 0;
};
static_assert(sizeof(entry) == 192);

/// Head and tail of a list threaded through one entry_links member.
template <entry_links entry::* Links>
struct entry_list {
    entry_index head = no_entry;
    entry_index tail = no_entry;

    bool empty() const { return head == no_entry; }

    template <class Table>
    void insert_before(Table& table, entry_index at, entry_index added) {
        entry_links& links = table[added].*Links;
        links.next = at;
        links.prev = at == no_entry ? tail : (table[at].*Links).prev;
        (links.prev == no_entry ? head : (table[links.prev].*Links).next) = added;
        (at == no_entry ? tail : (table[at].*Links).prev) = added;
    }
    template <class Table>
    void push_back(Table& table, entry_index added) {
        insert_before(table, no_entry, added);
    }
    template <class Table>
    void remove(Table& table, entry_index gone) {
        entry_links& links = table[gone].*Links;
        (links.prev == no_entry ? head : (table[links.prev].*Links).next) = links.next;
        (links.next == no_entry ? tail : (table[links.next].*Links).prev) = links.prev;
        links = {};
    }
};

class entry_table {
public:
    entry& operator[](entry_index index) {
        return x_blocks[index >> block_bits][index & block_mask];
    }
    const entry& operator[](entry_index index) const {
        return x_blocks[index >> block_bits][index & block_mask];
    }

    /// `id` must be unknown.
    entry_index create(ticket_id id);
    void destroy(entry_index index);
    std::optional<entry_index> find(ticket_id id) const;
    std::size_t size() const { return x_ids.size(); }
    std::size_t memory_bytes() const;

    template <class Visitor>
    void for_each(const Visitor& visit) const {
        x_ids.for_each(visit);
    }

private:
    static constexpr std::uint32_t block_bits = 10;
    static constexpr std::uint32_t block_mask = (1U << block_bits) - 1;

    id_index x_ids;
    std::vector<std::unique_ptr<entry[]>> x_blocks;
    std::vector<entry_index> x_free;
    entry_index x_used = 0;
};

}  // namespace sluice::core
