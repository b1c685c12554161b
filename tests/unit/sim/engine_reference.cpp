#include "unit/sim/engine_reference.hpp"

namespace sluice::sim::test {

void engine_reference::finish_iteration(std::int64_t when) {
    for (sequence& s : x_batch) {
        if (s.decodes) {
            s.cached += 1;
            s.generated += 1;
            say(engine_event_kind::token, s, when);
        }
    }
    end_those_that_decode(when);
    for (std::size_t i = 0; i < x_batch.size();) {
        sequence& s = x_batch[i];
        s.cached += s.chunk;
        const bool complete = s.chunk > 0 && s.cached == s.prompt + s.generated;
        s.chunk = 0;
        if (complete) {
            s.generated += 1;
            s.decodes = true;
            say(s.generated == 1 ? engine_event_kind::first_token : engine_event_kind::token,
                s,
                when);
            if (s.generated == s.output) {
                say(engine_event_kind::finished, s, when);
                x_batch.erase(x_batch.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
        }
        ++i;
    }
}

void engine_reference::end_those_that_decode(std::int64_t when) {
    std::erase_if(x_batch, [&](const sequence& s) {
        const bool ends = s.decodes && s.generated == s.output;
        if (ends) {
            say(engine_event_kind::finished, s, when);
        }
        return ends;
    });
}

bool engine_reference::find_blocks(std::int64_t when) {
    bool room = true;
    for (;;) {
        std::int64_t missing = -free_blocks();
        std::size_t last = 0;
        for (std::size_t i = 0; i < x_batch.size(); ++i) {
            if (x_batch[i].decodes && blocks(x_batch[i].cached + 1) > x_batch[i].blocks) {
                missing += 1;
                last = i;
            }
        }
        if (missing <= 0) {
            return room;
        }
        room = false;
        if (x_settings.full == when_full::preempt) {
            sequence s = x_batch.back();
            x_batch.pop_back();
            s.cached = s.blocks = 0;
            s.decodes = false;
            say(engine_event_kind::preempted, s, when);
            x_waiting.push_front(s);
        } else if (x_settings.full == when_full::refuse) {
            say(engine_event_kind::out_of_memory, x_batch[last], when);
            x_batch.erase(x_batch.begin() + static_cast<std::ptrdiff_t>(last));
        } else {
            for (const sequence& s : x_batch) {
                say(engine_event_kind::crashed, s, when);
            }
            for (const sequence& s : x_waiting) {
                say(engine_event_kind::crashed, s, when);
            }
            x_batch.clear();
            x_waiting.clear();
            x_up_at = when + x_settings.profile.restart.count();
            return false;
        }
    }
}

void engine_reference::begin(std::int64_t when) {
    const bool room = find_blocks(when);
    std::int64_t decoding = 0;
    std::int64_t kv = 0;
    for (sequence& s : x_batch) {
        if (s.decodes) {
            decoding += 1;
            kv += s.cached;
            s.blocks = blocks(s.cached + 1);
        }
    }
    std::int64_t budget = x_settings.profile.batched_tokens - decoding;
    const std::int64_t before = budget;
    for (sequence& s : x_batch) {
        if (!s.decodes) {
            s.chunk = std::min(budget, s.prompt + s.generated - s.cached);
            budget -= s.chunk;
        }
    }
    while (room && budget > 0 && !x_waiting.empty() && std::ssize(x_batch) < x_settings.slots &&
           blocks(x_waiting.front().prompt + x_waiting.front().generated) <= free_blocks()) {
        sequence s = x_waiting.front();
        x_waiting.pop_front();
        s.blocks = blocks(s.prompt + s.generated);
        s.chunk = std::min(budget, s.prompt + s.generated);
        budget -= s.chunk;
        x_batch.push_back(s);
    }
    const std::int64_t prefill = before - budget;
    if (decoding == 0 && prefill == 0) {
        return;
    }
    const engine_profile& cost = x_settings.profile;
    x_busy = true;
    x_end = when + cost.iteration.count() + kv * cost.kv_token.count() +
            decoding * cost.sequence.count() + prefill * cost.prefill_token.count();
}

}  // namespace sluice::sim::test
