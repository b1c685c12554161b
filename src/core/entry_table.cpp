#include "core/entry_table.hpp"

namespace sluice::core {

entry_index entry_table::create(ticket_id id) {
    entry_index index = 0;
    if (!x_free.empty()) {
        index = x_free.back();
        x_free.pop_back();
    } else {
        index = x_used++;
        if (index >> block_bits == x_blocks.size()) {
            x_blocks.push_back(std::make_unique<entry[]>(std::size_t{1} << block_bits));
        }
    }
    x_ids.insert(id, index);
    (*this)[index].id = id;
    return index;
}

void entry_table::destroy(entry_index index) {
    x_ids.erase((*this)[index].id);
    (*this)[index] = entry{};
    x_free.push_back(index);
}

std::optional<entry_index> entry_table::find(ticket_id id) const {
    const entry_index found = x_ids.find(id);
    return found == no_entry ? std::nullopt : std::optional(found);
}

std::size_t entry_table::memory_bytes() const {
    return x_blocks.size() * (std::size_t{1} << block_bits) * sizeof(entry) +
           x_free.capacity() * sizeof(entry_index) + x_ids.memory_bytes();
}

}  // namespace sluice::core
