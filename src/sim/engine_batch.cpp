#include "sim/engine_batch.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace sluice::sim {

engine_batch::engine_batch(std::int64_t usable_blocks, std::int64_t block)
    : x_usable_blocks(usable_blocks),
      x_block(block),
      x_buckets(static_cast<std::size_t>(block), 0) {}

engine_batch::index engine_batch::find(engine_request_id id) const {
    const auto found = x_by_id.find(static_cast<std::uint64_t>(id));
    return found == x_by_id.end() ? none : found->second;
}

std::int64_t engine_batch::blocks_for(std::int64_t kv_tokens) const {
    return (kv_tokens + x_block - 1) / x_block;
}

std::int64_t engine_batch::generated_of(const record& r) const {
    return r.state == phase::decode ? r.generated + (x_steps - r.joined_step) : r.generated;
}

std::int64_t engine_batch::blocks_of(const record& r) const {
    switch (r.state) {
        case phase::prefill:
            return blocks_for(prefill_of(r));
        case phase::decode:
            return blocks_for(r.prefilled + (x_allocated - r.joined_step));
        case phase::free:
        case phase::waiting:
            break;
    }
    return 0;
}

engine_batch::index engine_batch::add_waiting(const engine_request& request) {
    index i = none;
    if (x_free_records.empty()) {
        i = static_cast<index>(x_records.size());
        x_records.emplace_back();
    } else {
        i = x_free_records.back();
        x_free_records.pop_back();
    }
    record& r = x_records[i];
    r = record{};
    r.id = request.id;
    r.prompt = request.prompt.count();
    r.output = request.output.count();
    r.state = phase::waiting;
    const bool fresh = x_by_id.emplace(static_cast<std::uint64_t>(request.id), i).second;
    SLUICE_ASSERT_MSG(fresh, "the id of a request must not be one that is under way");
    push_back(x_waiting, i);
    x_waiting_blocks += blocks_for(prefill_of(r));
    return i;
}

engine_batch::index engine_batch::admit() {
    const index i = x_waiting.head;
    unlink(x_waiting, i);
    push_back(x_batch, i);
    record& r = x_records[i];
    r.state = phase::prefill;
    r.prefilled = 0;
    r.admission = ++x_admissions;
    const std::int64_t blocks = blocks_for(prefill_of(r));
    x_waiting_blocks -= blocks;
    x_used_blocks += blocks;
    x_peak_blocks = std::max(x_peak_blocks, x_used_blocks);
    return i;
}

void engine_batch::start_decoding(index i) {
    record& r = x_records[i];
    r.generated += 1;
    r.joined_step = x_steps;
    r.state = phase::decode;
    x_decoding += 1;
    x_decode_kv += r.prefilled;
    x_buckets[bucket_of(r)] += 1;
    x_finishes.push({x_steps + r.output - r.generated, r.admission, i});
    // Requests that were aborted or preempted leave their entries behind; sweep when they prevail.
    if (std::ssize(x_finishes) > 2 * x_decoding + 1024) {
        decltype(x_finishes) kept;
        for (index j = x_batch.head; j != none; j = x_records[j].next) {
            const record& other = x_records[j];
            if (other.state == phase::decode) {
                kept.push({x_steps + other.output - generated_of(other), other.admission, j});
            }
        }
        x_finishes = std::move(kept);
    }
}

void engine_batch::preempt(index i) {
    leave_batch(i);
    record& r = x_records[i];
    r.prefilled = 0;
    r.state = phase::waiting;
    push_front(x_waiting, i);
    x_waiting_blocks += blocks_for(prefill_of(r));
}

void engine_batch::remove(index i) {
    record& r = x_records[i];
    if (r.state == phase::waiting) {
        x_waiting_blocks -= blocks_for(prefill_of(r));
        unlink(x_waiting, i);
    } else {
        leave_batch(i);
    }
    x_by_id.erase(static_cast<std::uint64_t>(r.id));
    r.state = phase::free;
    x_free_records.push_back(i);
}

/// Gives the blocks back and leaves `generated` exact; the caller sets the new phase.
void engine_batch::leave_batch(index i) {
    record& r = x_records[i];
    x_used_blocks -= blocks_of(r);
    if (r.state == phase::decode) {
        x_decoding -= 1;
        x_decode_kv -= r.prefilled + (x_steps - r.joined_step);
        x_buckets[bucket_of(r)] -= 1;
        r.generated = generated_of(r);
    }
    unlink(x_batch, i);
}

/// A decoding request needs a block for the step s (counted from 0) with s ≡ bucket (mod block):
/// then the tokens that it holds before that step fill their last block.
std::size_t engine_batch::bucket_of(const record& r) const {
    const std::int64_t shift = (r.joined_step - r.prefilled) % x_block;
    return static_cast<std::size_t>(shift < 0 ? shift + x_block : shift);
}

std::int64_t engine_batch::blocks_needed(std::int64_t steps) const {
    std::int64_t needed = steps / x_block * x_decoding;
    for (std::int64_t step = x_allocated + steps / x_block * x_block; step < x_allocated + steps;
         ++step) {
        needed += x_buckets[static_cast<std::size_t>(step % x_block)];
    }
    return needed;
}

engine_batch::index engine_batch::last_needing_block() const {
    const auto wanted = static_cast<std::size_t>(x_allocated % x_block);
    index i = x_batch.tail;
    while (i != none && !(x_records[i].state == phase::decode && bucket_of(x_records[i]) == wanted)
    ) {
        i = x_records[i].previous;
    }
    return i;
}

std::int64_t engine_batch::steps_to_finish() {
    prune_finishes();
    return x_finishes.empty() ? quantity_limit
                              : std::max<std::int64_t>(0, x_finishes.top().step - x_steps);
}

engine_batch::index engine_batch::next_finished() {
    prune_finishes();
    return !x_finishes.empty() && x_finishes.top().step <= x_steps ? x_finishes.top().where : none;
}

void engine_batch::prune_finishes() {
    while (!x_finishes.empty()) {
        const finish_entry& top = x_finishes.top();
        const record& r = x_records[top.where];
        if (r.state == phase::decode && r.admission == top.admission) {
            return;
        }
        x_finishes.pop();
    }
}

void engine_batch::begin_steps(std::int64_t steps) {
    const std::int64_t needed = blocks_needed(steps);
    SLUICE_ASSERT_MSG(needed <= free_blocks(), "the caller makes room before it starts a step");
    x_used_blocks += needed;
    x_allocated += steps;
    x_peak_blocks = std::max(x_peak_blocks, x_used_blocks);
}

void engine_batch::complete_steps(std::int64_t steps) {
    x_steps += steps;
    SLUICE_ASSERT(x_steps <= x_allocated);
    x_decode_kv += steps * x_decoding;
}

void engine_batch::push_back(list& where, index i) {
    record& r = x_records[i];
    r.previous = where.tail;
    r.next = none;
    (where.tail == none ? where.head : x_records[where.tail].next) = i;
    where.tail = i;
    where.size += 1;
}

void engine_batch::push_front(list& where, index i) {
    record& r = x_records[i];
    r.previous = none;
    r.next = where.head;
    (where.head == none ? where.tail : x_records[where.head].previous) = i;
    where.head = i;
    where.size += 1;
}

void engine_batch::unlink(list& where, index i) {
    const record& r = x_records[i];
    (r.previous == none ? where.head : x_records[r.previous].next) = r.next;
    (r.next == none ? where.tail : x_records[r.next].previous) = r.previous;
    where.size -= 1;
}

std::string engine_batch::check_invariants() const {
    std::int64_t used = 0;
    std::int64_t kv = 0;
    std::int64_t decoding = 0;
    std::int64_t members = 0;
    std::uint64_t last_admission = 0;
    std::vector<std::int64_t> buckets(x_buckets.size(), 0);
    for (index i = x_batch.head; i != none; i = x_records[i].next) {
        const record& r = x_records[i];
        used += blocks_of(r);
        members += 1;
        if (r.admission <= last_admission) {
            return "the batch is not in the order of admission";
        }
        last_admission = r.admission;
        if (r.state == phase::decode) {
            decoding += 1;
            kv += r.prefilled + (x_steps - r.joined_step);
            buckets[bucket_of(r)] += 1;
            if (generated_of(r) >= r.output) {
                return "a request with all its tokens is still in the batch";
            }
        } else if (r.state != phase::prefill) {
            return "a request in the batch is neither in prefill nor decoding";
        }
    }
    std::int64_t waiting = 0;
    std::int64_t waiting_blocks = 0;
    for (index i = x_waiting.head; i != none; i = x_records[i].next) {
        waiting += 1;
        waiting_blocks += blocks_for(prefill_of(x_records[i]));
        if (x_records[i].state != phase::waiting) {
            return "a request in the waiting queue does not wait";
        }
    }
    if (used != x_used_blocks || used > x_usable_blocks || x_peak_blocks > x_usable_blocks) {
        return "blocks: " + std::to_string(used) + " held, " + std::to_string(x_used_blocks) +
               " counted, " + std::to_string(x_usable_blocks) + " exist";
    }
    if (decoding != x_decoding || kv != x_decode_kv || buckets != x_buckets) {
        return "the sums over the decoding requests are wrong";
    }
    if (members != x_batch.size || waiting != x_waiting.size ||
        waiting_blocks != x_waiting_blocks ||
        members + waiting != static_cast<std::int64_t>(x_by_id.size())) {
        return "the sizes of batch and waiting queue are wrong";
    }
    return {};
}

}  // namespace sluice::sim
