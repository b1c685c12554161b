// Who is in the engine: the waiting queue, the batch, and the KV blocks that each request holds.
// Bookkeeping only; engine_model decides.
//
// Every decoding request gains one token a step, so nothing is stored per token: a request knows
// the step at which it joined, and everything else (tokens out, cache, blocks) follows from the
// number of steps since. Requests are counted by the step (modulo the block size) at which they
// need their next block, so the blocks that n steps will take cost n-independent work.
//
// Invariants
//  1. used_blocks() is the sum of what the requests in the batch hold, and at most usable_blocks().
//  2. In the batch, requests stand in the order of admission.
//  3. While a step is under way (begin_steps() to complete_steps()) its blocks are held already.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/engine_types.hpp"

namespace sluice::sim {

class engine_batch {
public:
    using index = std::uint32_t;
    static constexpr index none = std::numeric_limits<index>::max();

    enum class phase : unsigned char { free, waiting, prefill, decode };

    struct record {
        engine_request_id id{};
        std::uint64_t admission = 0;  ///< Number of its latest admission to the batch.
        std::int64_t prompt = 0;
        std::int64_t output = 0;
        std::int64_t generated = 0;  ///< When it joined the decoding ones; exact in other phases.
        std::int64_t prefilled = 0;  ///< Of prompt + generated.
        std::int64_t joined_step = 0;
        index previous = none;
        index next = none;
        phase state = phase::free;
    };
    /// Doubly linked through the records: any one leaves in constant time.
    struct list {
        index head = none;
        index tail = none;
        std::int64_t size = 0;
    };

    engine_batch(std::int64_t usable_blocks, std::int64_t block);

    /// `none` when there is no such request.
    index find(engine_request_id id) const;
    const record& at(index i) const { return x_records[i]; }
    const list& batch() const { return x_batch; }
    const list& waiting() const { return x_waiting; }
    std::int64_t decoding() const { return x_decoding; }
    std::int64_t decode_kv() const { return x_decode_kv; }
    std::int64_t usable_blocks() const { return x_usable_blocks; }
    std::int64_t used_blocks() const { return x_used_blocks; }
    std::int64_t peak_blocks() const { return x_peak_blocks; }
    std::int64_t free_blocks() const { return x_usable_blocks - x_used_blocks; }
    /// What the waiting requests will need at admission.
    std::int64_t waiting_blocks() const { return x_waiting_blocks; }
    std::int64_t blocks_for(std::int64_t kv_tokens) const;

    /// Tokens to be computed before the (next) token: the prompt, and what was out when preempted.
    std::int64_t prefill_of(const record& r) const { return r.prompt + r.generated; }
    std::int64_t generated_of(const record& r) const;
    /// Blocks that the request holds now.
    std::int64_t blocks_of(const record& r) const;

    index add_waiting(const engine_request& request);
    /// The head of the waiting queue enters the batch with blocks for its whole prefill.
    index admit();
    void add_prefilled(index i, std::int64_t count) { x_records[i].prefilled += count; }
    /// Its prefill is complete, one more token is out, more will follow.
    void start_decoding(index i);
    /// Out of the batch, to the head of the waiting queue; its cache is lost.
    void preempt(index i);
    /// Gone from wherever it is.
    void remove(index i);

    /// Blocks that `steps` further steps take, beyond those held.
    std::int64_t blocks_needed(std::int64_t steps) const;
    /// The last in the batch that needs a block for the next step.
    index last_needing_block() const;
    /// Steps until the first decoding request has all its tokens; 0 if one has, max if none
    /// decodes.
    std::int64_t steps_to_finish();
    /// A decoding request that has all its tokens, in the order of admission, or none.
    index next_finished();
    /// Holds the blocks of `steps` steps from here; blocks_needed(steps) ≤ free_blocks().
    void begin_steps(std::int64_t steps);
    void complete_steps(std::int64_t steps);

    /// Empty, or what is wrong.
    std::string check_invariants() const;

private:
    struct finish_entry {
        std::int64_t step = 0;
        std::uint64_t admission = 0;
        index where = none;
        friend bool operator>(const finish_entry& a, const finish_entry& b) {
            return a.step != b.step ? a.step > b.step : a.admission > b.admission;
        }
    };

    std::size_t bucket_of(const record& r) const;
    void push_back(list& where, index i);
    void push_front(list& where, index i);
    void unlink(list& where, index i);
    void leave_batch(index i);
    void prune_finishes();

    std::int64_t x_usable_blocks;
    std::int64_t x_block;
    std::vector<record> x_records;
    std::vector<index> x_free_records;
    std::unordered_map<std::uint64_t, index> x_by_id;
    list x_batch;
    list x_waiting;
    std::vector<std::int64_t> x_buckets;
    std::priority_queue<finish_entry, std::vector<finish_entry>, std::greater<>> x_finishes;
    std::int64_t x_decoding = 0;
    std::int64_t x_decode_kv = 0;  ///< Tokens in cache of the decoding ones, as of x_steps.
    std::int64_t x_steps = 0;      ///< Completed.
    std::int64_t x_allocated = 0;  ///< Steps whose blocks are held; x_steps or more.
    std::int64_t x_used_blocks = 0;
    std::int64_t x_peak_blocks = 0;
    std::int64_t x_waiting_blocks = 0;
    std::uint64_t x_admissions = 0;
};

}  // namespace sluice::sim
