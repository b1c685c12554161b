// From a ticket's id to its entry.
//
// A session numbers its tickets one after the other, so the numbers are kept in small pages and
// only the pages are hashed: neighbours in time are neighbours in memory. With a million waiting
// that spares the two cache misses that hashing every id by itself would cost at each submit and
// end.
//
// Invariant: a page exists exactly as long as one of its numbers is known.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace sluice::core {

using entry_index = std::uint32_t;
inline constexpr entry_index no_entry = 0xffff'ffff;

class id_index {
public:
    /// no_entry when unknown.
    entry_index find(ticket_id id) const {
        const auto found = x_page_of.find(page_id(id));
        return found == x_page_of.end() ? no_entry : x_pages[found->second].at[place(id)];
    }
    /// `id` must be unknown.
    void insert(ticket_id id, entry_index index);
    /// `id` must be known.
    void erase(ticket_id id);
    std::size_t size() const { return x_size; }
    std::size_t memory_bytes() const;

    template <class Visitor>
    void for_each(const Visitor& visit) const {
        for (const auto& [id, number] : x_page_of) {
            for (const entry_index index : x_pages[number].at) {
                if (index != no_entry) {
                    visit(index);
                }
            }
        }
    }

private:
    static constexpr std::uint64_t page_bits = 3;
    static constexpr std::size_t page_size = std::size_t{1} << page_bits;

    struct page {
        page() { at.fill(no_entry); }
        std::array<entry_index, page_size> at;
        std::uint32_t used = 0;
    };
    struct id_hash : ticket_id_hash {
        using is_avalanching = void;
    };

    static ticket_id page_id(ticket_id id) { return {id.session, id.number >> page_bits}; }
    static std::size_t place(ticket_id id) { return id.number & (page_size - 1); }

    boost::unordered_flat_map<ticket_id, std::uint32_t, id_hash> x_page_of;
    std::vector<page> x_pages;
    std::vector<std::uint32_t> x_free;
    std::size_t x_size = 0;
};

}  // namespace sluice::core
