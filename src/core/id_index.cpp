#include "core/id_index.hpp"

#include "base/assert.hpp"

namespace sluice::core {

void id_index::insert(ticket_id id, entry_index index) {
    const auto [found, fresh] = x_page_of.try_emplace(page_id(id), 0U);
    if (fresh) {
        if (x_free.empty()) {
            found->second = static_cast<std::uint32_t>(x_pages.size());
            x_pages.emplace_back();
        } else {
            found->second = x_free.back();
            x_free.pop_back();
        }
    }
    page& in = x_pages[found->second];
    SLUICE_ASSERT(in.at[place(id)] == no_entry);
    in.at[place(id)] = index;
    ++in.used;
    ++x_size;
}

void id_index::erase(ticket_id id) {
    const auto found = x_page_of.find(page_id(id));
    SLUICE_ASSERT(found != x_page_of.end());
    page& in = x_pages[found->second];
    SLUICE_ASSERT(in.at[place(id)] != no_entry);
    in.at[place(id)] = no_entry;
    --x_size;
    if (--in.used == 0) {
        x_free.push_back(found->second);
        x_page_of.erase(found);
    }
}

std::size_t id_index::memory_bytes() const {
    return x_page_of.bucket_count() * (sizeof(std::pair<ticket_id, std::uint32_t>) + 1) +
           x_pages.capacity() * sizeof(page) + x_free.capacity() * sizeof(std::uint32_t);
}

}  // namespace sluice::core
