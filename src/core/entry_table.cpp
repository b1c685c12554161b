#include "core/entry_table.hpp"

#include "base/assert.hpp"

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
    const bool inserted = x_by_id.emplace(id, index).second;
    SLUICE_ASSERT(inserted);
    (*this)[index].id = id;
    return index;
}

void entry_table::destroy(entry_index index) {
    x_by_id.erase((*this)[index].id);
    (*this)[index] = entry{};
    x_free.push_back(index);
}

std::optional<entry_index> entry_table::find(ticket_id id) const {
    const auto found = x_by_id.find(id);
    if (found == x_by_id.end()) {
        return std::nullopt;
    }
    return found->second;
}

std::size_t entry_table::memory_bytes() const {
    return x_blocks.size() * (std::size_t{1} << block_bits) * sizeof(entry) +
           x_free.capacity() * sizeof(entry_index) +
           x_by_id.bucket_count() * (sizeof(std::pair<ticket_id, entry_index>) + 1);
}

}  // namespace sluice::core
