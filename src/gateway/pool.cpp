#include "gateway/pool.hpp"

#include "gateway/worker_watch.hpp"

namespace sluice::gateway {

pool_meters::pool_meters(obs::metrics& in, std::string_view pool)
    : queue_seconds(in.make_histogram(
          "sluice_queue_seconds", "Time from arrival to permit.", {{"pool", pool}}
      )),
      ttft_seconds(in.make_histogram(
          "sluice_ttft_seconds",
          "Time from arrival to the first token, queue included.",
          {{"pool", pool}}
      )),
      request_seconds(in.make_histogram(
          "sluice_request_seconds", "Time from arrival to the last byte.", {{"pool", pool}}
      )),
      prompt_tokens(in.make_counter(
          "sluice_prompt_tokens_total",
          "Prompt tokens of answered requests: the engine's count, else the estimate.",
          {{"pool", pool}}
      )),
      output_tokens(in.make_counter(
          "sluice_output_tokens_total",
          "Generated tokens: the engine's count, else counted events.",
          {{"pool", pool}}
      )),
      inflight(in.make_gauge(
          "sluice_inflight", "Requests that were accepted and have not ended.", {{"pool", pool}}
      )),
      slots(in.make_gauge("sluice_slots", "Slots of the pool's workers.", {{"pool", pool}})),
      permits_in_use(
          in.make_gauge("sluice_permits_in_use", "Permits that are held now.", {{"pool", pool}})
      ),
      kv_capacity(in.make_gauge(
          "sluice_kv_capacity_bytes",
          "KV cache of the pool's workers whose size is known.",
          {{"pool", pool}}
      )),
      kv_reserved(in.make_gauge(
          "sluice_kv_reserved_bytes", "KV cache reserved by the permits held.", {{"pool", pool}}
      )) {
    for (const auto cls : {core::priority::high, core::priority::normal, core::priority::low}) {
        waiting[static_cast<std::size_t>(cls)] = &in.make_gauge(
            "sluice_waiting",
            "Requests that wait for a permit.",
            {{"pool", pool}, {"class", core::to_string(cls)}}
        );
    }
    for (const openai::reason why : openai::all_reasons()) {
        x_outcomes[static_cast<std::size_t>(why)] = &in.make_counter(
            "sluice_requests_total",
            "Requests by how they ended.",
            {{"pool", pool}, {"outcome", openai::to_string(why)}}
        );
    }
}

void pool_meters::show(const core::pool_snapshot& now) {
    std::int64_t slot_sum = 0;
    std::int64_t in_use = 0;
    bytes capacity;
    bytes reserved;
    for (const core::worker_snapshot& one : now.workers) {
        slot_sum += one.slots;
        in_use += one.in_use;
        reserved += one.kv_reserved;
        if (one.kv_capacity != bytes::max()) {
            capacity += one.kv_capacity;
        }
    }
    slots.set(slot_sum);
    permits_in_use.set(in_use);
    kv_capacity.set(capacity.count());
    kv_reserved.set(reserved.count());
    for (std::size_t cls = 0; cls < waiting.size(); ++cls) {
        waiting[cls]->set(static_cast<std::int64_t>(now.waiting[cls]));
    }
}

pool::pool(config::pool_options from, obs::metrics& in)
    : options(std::move(from)),
      meters(in, options.name),
      context(options.context ? options.context->count() : 0) {}

pool::~pool() = default;

cost_rules pool::rules() const {
    const std::int64_t limit = context.load(std::memory_order_relaxed);
    return {
        .block = options.kv.block,
        .per_token = options.kv.bytes_per_token.value_or(bytes(1)),
        .context = limit > 0 ? std::optional(tokens(limit)) : std::nullopt,
        .default_output = options.default_output,
    };
}

}  // namespace sluice::gateway
