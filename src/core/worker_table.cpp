#include "core/worker_table.hpp"

#include <algorithm>
#include <bit>

namespace sluice::core {

namespace {

/// Absent workers remembered for their last token, in case they come back under the same name.
constexpr std::size_t max_absent = 4096;

}  // namespace

std::uint32_t worker::free_index() const {
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        if (by_slot[slot] != no_entry) {
            continue;
        }
        const bool haunted = std::ranges::any_of(known_ghosts, [slot](const ghost& one) {
            return one.slot == slot;
        });
        if (!haunted) {
            return slot;
        }
    }
    return slots;
}

bool worker::lists(fencing_token token) const {
    return std::ranges::binary_search(listed, token);
}

bytes worker::need_of(const entry& newcomer) const {
    const bool beyond = newcomer.predicted.count() > headroom_rows.back();
    return reports && !beyond ? newcomer.prompt_kv : newcomer.peak_kv;
}

bytes worker::free_memory_for(const entry& newcomer) const {
    if (!reports) {
        return capacity == bytes::max() ? capacity : capacity - live_peak;
    }
    const auto row = std::ranges::lower_bound(headroom_rows, newcomer.predicted.count());
    const std::size_t index = static_cast<std::size_t>(row - headroom_rows.begin());
    return headroom[std::min(index, headroom.size() - 1)] - unlisted_peak;
}

bool worker::has_memory_for(const entry& newcomer) const {
    // Alone it needs its peak and no more. The row, rounded up, would refuse for ever what fits.
    const bool empty = in_use() == 0 && running == 0 && waiting == 0;
    if (reports && empty && newcomer.peak_kv <= headroom.front()) {
        return true;
    }
    return need_of(newcomer) <= free_memory_for(newcomer);
}

worker* worker_table::find(std::string_view id) const {
    const auto found = x_by_id.find(id);
    return found == x_by_id.end() ? nullptr : found->second;
}

worker* worker_table::find(worker_number number) const {
    const auto found = std::ranges::lower_bound(
        x_ring, number, {}, [](const std::unique_ptr<worker>& one) { return one->number; }
    );
    return found != x_ring.end() && (*found)->number == number ? found->get() : nullptr;
}

worker& worker_table::find_or_create(std::string_view id, fencing_token& floor) {
    if (worker* known = find(id)) {
        return *known;
    }
    if (x_ring.size() - x_present > max_absent) {
        forget_absent(floor);
    }
    auto added = std::make_unique<worker>();
    added->id = id;
    added->number = worker_number{x_next_number++};
    added->ring_position = x_ring.size();
    x_ring.push_back(std::move(added));
    x_open.resize((x_ring.size() + 63) / 64);
    worker& made = *x_ring.back();
    x_by_id.emplace(made.id, &made);
    return made;
}

void worker_table::forget_absent(fencing_token& floor) {
    const worker* at_cursor = cursor < x_ring.size() ? x_ring[cursor].get() : nullptr;
    const auto cursor_number = at_cursor != nullptr ? at_cursor->number : no_worker;
    std::erase_if(x_ring, [&](const std::unique_ptr<worker>& one) {
        if (one->present || one->permits > 0) {
            return false;
        }
        // Tokens must rise across its return even though it is forgotten.
        floor = std::max(floor, one->last_token);
        x_by_id.erase(one->id);
        return true;
    });
    x_open.assign((x_ring.size() + 63) / 64, 0);
    x_open_count = 0;
    cursor = 0;
    for (std::size_t position = 0; position < x_ring.size(); ++position) {
        x_ring[position]->ring_position = position;
        refresh(*x_ring[position]);
        if (x_ring[position]->number < cursor_number) {
            cursor = position + 1;
        }
    }
}

void worker_table::set_present(worker& which, bool present) {
    if (which.present != present) {
        which.present = present;
        present ? ++x_present : --x_present;
    }
    refresh(which);
}

void worker_table::refresh(worker& which) {
    const bool open =
        which.takes_tickets() && which.reserved_for == no_entry && which.free_slots() > 0;
    std::uint64_t& word = x_open[which.ring_position / 64];
    const std::uint64_t bit = std::uint64_t{1} << (which.ring_position % 64);
    if (open != ((word & bit) != 0)) {
        word ^= bit;
        open ? ++x_open_count : --x_open_count;
    }
}

worker* worker_table::next_open(std::size_t from) const {
    if (x_open_count == 0) {
        return nullptr;
    }
    if (from >= x_ring.size()) {
        from = 0;
    }
    std::size_t word = from / 64;
    std::uint64_t bits = x_open[word] & (~std::uint64_t{0} << (from % 64));
    while (bits == 0) {
        word = (word + 1) % x_open.size();
        bits = x_open[word];
    }
    return x_ring[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))].get();
}

std::size_t worker_table::memory_bytes() const {
    std::size_t sum = x_ring.capacity() * sizeof(void*) + x_open.capacity() * sizeof(std::uint64_t);
    for (const auto& one : x_ring) {
        sum += sizeof(worker) + one->id.capacity() +
               one->listed.capacity() * sizeof(fencing_token) +
               one->by_slot.capacity() * sizeof(entry_index);
    }
    return sum;
}

}  // namespace sluice::core
