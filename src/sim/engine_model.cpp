#include "sim/engine_model.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace sluice::sim {

namespace {

engine_settings sane(engine_settings settings) {
    SLUICE_ASSERT(settings.profile.block >= 1 && settings.profile.batched_tokens >= 1);
    settings.speed_permille = std::clamp<std::int64_t>(settings.speed_permille, 1, 1'000'000);
    // Every member of the batch gets a token of the budget, so a prefill under way, itself a
    // member, is never starved.
    settings.slots = std::clamp<std::int64_t>(settings.slots, 1, settings.profile.batched_tokens);
    settings.blocks = std::max<std::int64_t>(settings.blocks, settings.null_block ? 2 : 1);
    return settings;
}

}  // namespace

engine_model::engine_model(const engine_settings& settings)
    : x_settings(sane(settings)),
      x_batch(x_settings.blocks - (x_settings.null_block ? 1 : 0), x_settings.profile.block) {}

tokens engine_model::capacity() const {
    return tokens(x_batch.usable_blocks()) * x_settings.profile.block;
}

tokens engine_model::longest() const {
    // The last token is handed out without ever entering the cache.
    return std::min(x_settings.profile.context, capacity() + tokens(1));
}

// ---- Time ----

engine_model::engine_time engine_model::to_engine(instant at) const {
    return static_cast<engine_time>((at - x_origin).count()) * x_settings.speed_permille;
}

instant engine_model::to_instant(engine_time at) const {
    const engine_time permille = x_settings.speed_permille;
    return x_origin + duration(static_cast<std::int64_t>((at + permille - 1) / permille));
}

engine_model::engine_time engine_model::stretch::end_of(std::int64_t iteration) const {
    const engine_time j = iteration;
    return start + j * first + growth * (j * (j - 1) / 2);
}

std::int64_t engine_model::stretch::ended_by(engine_time now) const {
    if (done == total || now < end_of(done + 1)) {
        return done;
    }
    std::int64_t low = done + 1;  // has ended
    std::int64_t high = total;
    while (low < high) {
        const std::int64_t middle = low + (high - low + 1) / 2;
        if (end_of(middle) <= now) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

instant engine_model::next_wakeup() const {
    if (x_stretch.total == 0) {
        return never;
    }
    return to_instant(
        x_stretch.end_of(x_settings.token_events ? x_stretch.done + 1 : x_stretch.total)
    );
}

// ---- Inputs ----

submit_outcome engine_model::submit(
    instant now, const engine_request& request, std::vector<engine_event>& events
) {
    advance(now, events);
    const engine_request wanted{
        request.id, std::max(request.prompt, tokens(1)), std::max(request.output, tokens(1))
    };
    auto outcome = submit_outcome::accepted;
    if (restarting()) {
        outcome = submit_outcome::restarting;
    } else if (wanted.prompt + wanted.output > longest()) {
        outcome = submit_outcome::too_large;
    } else if (x_settings.full == when_full::refuse &&
               x_batch.blocks_for(wanted.prompt.count()) >
                   x_batch.free_blocks() - x_batch.waiting_blocks()) {
        outcome = submit_outcome::no_memory;
    }
    if (outcome != submit_outcome::accepted) {
        x_stats.refused += 1;
        return outcome;
    }
    // Who already waits is not admitted before an end makes room; who comes behind waits too.
    const bool may_enter = x_batch.waiting().size == 0;
    x_batch.add_waiting(wanted);
    x_stats.started += 1;
    x_stats.running += 1;
    x_stats.peak_running = std::max(x_stats.peak_running, x_stats.running);
    if (x_stretch.total == 0) {
        start_iterations(x_now, events);
    } else if (may_enter) {
        cut_stretch();
    }
    return outcome;
}

bool engine_model::abort(instant now, engine_request_id id, std::vector<engine_event>& events) {
    advance(now, events);
    const index i = x_batch.find(id);
    if (i == engine_batch::none) {
        return false;
    }
    cut_stretch();
    x_batch.remove(i);
    x_stats.aborted += 1;
    x_stats.running -= 1;
    return true;
}

void engine_model::crash(instant now, std::vector<engine_event>& events) {
    advance(now, events);
    die(x_now, events);
}

void engine_model::advance(instant now, std::vector<engine_event>& events) {
    if (!x_has_origin) {
        x_has_origin = true;
        x_origin = now;
    }
    x_now = std::max(x_now, to_engine(now));
    while (x_stretch.total != 0) {
        const std::int64_t ended = x_stretch.ended_by(x_now);
        complete_iterations(ended - x_stretch.done, events);
        if (x_stretch.done < x_stretch.total) {
            return;
        }
        const engine_time end = x_stretch.end_of(x_stretch.total);
        x_stretch = {};
        end_iteration(end, events);
        start_iterations(end, events);
    }
}

// ---- Iterations ----

/// Accounts for `count` iterations of the stretch, but not for what the very last one ends.
void engine_model::complete_iterations(std::int64_t count, event_list& events) {
    if (count == 0) {
        return;
    }
    if (x_settings.token_events) {
        for (std::int64_t j = 1; j <= count; ++j) {
            const engine_time end = x_stretch.end_of(x_stretch.done + j);
            for (index i = x_batch.batch().head; i != engine_batch::none; i = x_batch.at(i).next) {
                const engine_batch::record& r = x_batch.at(i);
                if (r.state == engine_batch::phase::decode) {
                    emit(engine_event_kind::token, i, x_batch.generated_of(r) + j, end, events);
                }
            }
        }
    }
    x_stretch.done += count;
    // The blocks of the first iteration were taken when the stretch began; those of the iteration
    // that is now under way were not.
    x_batch.begin_steps(x_stretch.done < x_stretch.total ? count : count - 1);
    x_batch.complete_steps(count);
    x_stats.iterations += count;
    x_stats.generated_tokens += tokens(count * x_batch.decoding());
}

void engine_model::end_iteration(engine_time when, event_list& events) {
    const auto finish = [&](index i, std::int64_t generated) {
        emit(engine_event_kind::finished, i, generated, when, events);
        x_batch.remove(i);
        x_stats.finished += 1;
        x_stats.running -= 1;
    };
    for (index i = x_batch.next_finished(); i != engine_batch::none; i = x_batch.next_finished()) {
        finish(i, x_batch.at(i).output);
    }
    for (const chunk& part : x_chunks) {
        const engine_batch::record& r = x_batch.at(part.where);
        if (r.state != engine_batch::phase::prefill || r.admission != part.admission) {
            continue;  // Aborted meanwhile.
        }
        x_batch.add_prefilled(part.where, part.count);
        if (r.prefilled < x_batch.prefill_of(r)) {
            continue;
        }
        const std::int64_t generated = r.generated + 1;
        x_stats.generated_tokens += tokens(1);
        if (generated == 1) {
            emit(engine_event_kind::first_token, part.where, generated, when, events);
        } else if (x_settings.token_events) {
            emit(engine_event_kind::token, part.where, generated, when, events);
        }
        if (generated >= r.output) {
            finish(part.where, generated);
        } else {
            x_batch.start_decoding(part.where);
        }
    }
    x_chunks.clear();
}

void engine_model::start_iterations(engine_time when, event_list& events) {
    const bool room = find_decode_blocks(when, events);
    const std::int64_t prefill = plan_prefill(room);
    if (x_batch.decoding() == 0 && prefill == 0) {
        return;  // Idle, or dead.
    }
    const engine_profile& cost = x_settings.profile;
    x_stats.prompt_tokens += tokens(prefill);
    x_stretch.start = when;
    x_stretch.first = cost.iteration.count() +
                      static_cast<engine_time>(x_batch.decode_kv()) * cost.kv_token.count() +
                      static_cast<engine_time>(x_batch.decoding()) * cost.sequence.count() +
                      static_cast<engine_time>(prefill) * cost.prefill_token.count();
    x_stretch.growth = static_cast<engine_time>(x_batch.decoding()) * cost.kv_token.count();
    x_stretch.done = 0;
    x_stretch.total = uneventful_iterations(prefill != 0 || !room);
    x_batch.begin_steps(1);
}

/// Makes room for the next token of everybody who decodes. False when somebody had to go.
bool engine_model::find_decode_blocks(engine_time when, event_list& events) {
    bool room = true;
    while (x_batch.blocks_needed(1) > x_batch.free_blocks()) {
        room = false;
        switch (x_settings.full) {
            case when_full::preempt: {
                const index tail = x_batch.batch().tail;
                x_batch.preempt(tail);
                x_stats.preemptions += 1;
                const std::int64_t generated = x_batch.at(tail).generated;
                emit(engine_event_kind::preempted, tail, generated, when, events);
                break;
            }
            case when_full::crash:
                die(when, events);
                return false;
            case when_full::refuse: {
                const index last = x_batch.last_needing_block();
                const std::int64_t generated = x_batch.generated_of(x_batch.at(last));
                emit(engine_event_kind::out_of_memory, last, generated, when, events);
                x_batch.remove(last);
                x_stats.out_of_memory += 1;
                x_stats.running -= 1;
                break;
            }
        }
    }
    return room;
}

/// Hands the rest of the token budget to prompts; returns how many tokens of them are computed.
std::int64_t engine_model::plan_prefill(bool admit) {
    std::int64_t budget = x_settings.profile.batched_tokens - x_batch.decoding();
    const std::int64_t before = budget;
    const auto plan = [&](index i) {
        const engine_batch::record& r = x_batch.at(i);
        const std::int64_t count = std::min(budget, x_batch.prefill_of(r) - r.prefilled);
        x_chunks.push_back({i, r.admission, count});
        budget -= count;
    };
    // Between iterations only the tail can be in the middle of its prefill: whoever comes after it
    // is admitted with what its last chunk leaves over.
    const index tail = x_batch.batch().tail;
    if (tail != engine_batch::none && x_batch.at(tail).state == engine_batch::phase::prefill) {
        plan(tail);
    }
    // The step that is about to begin has its blocks first.
    const std::int64_t kept = x_batch.blocks_needed(1);
    while (admit && budget > 0 && x_batch.waiting().size > 0 &&
           x_batch.batch().size < x_settings.slots) {
        const engine_batch::record& head = x_batch.at(x_batch.waiting().head);
        if (x_batch.blocks_for(x_batch.prefill_of(head)) > x_batch.free_blocks() - kept) {
            break;
        }
        plan(x_batch.admit());
    }
    return before - budget;
}

/// Iterations from here in which nobody ends, enters or lacks a block before the last one is over.
std::int64_t engine_model::uneventful_iterations(bool eventful_start) {
    if (eventful_start) {
        return 1;
    }
    std::int64_t high = std::max<std::int64_t>(1, x_batch.steps_to_finish());
    if (x_batch.blocks_needed(high) <= x_batch.free_blocks()) {
        return high;
    }
    std::int64_t low = 1;  // find_decode_blocks() made sure of one.
    while (low < high) {
        const std::int64_t middle = low + (high - low + 1) / 2;
        if (x_batch.blocks_needed(middle) <= x_batch.free_blocks()) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

void engine_model::cut_stretch() {
    x_stretch.total = std::min(x_stretch.total, x_stretch.done + 1);
}

void engine_model::die(engine_time when, event_list& events) {
    for (index i = x_batch.batch().head; i != engine_batch::none; i = x_batch.batch().head) {
        emit(engine_event_kind::crashed, i, x_batch.generated_of(x_batch.at(i)), when, events);
        x_batch.remove(i);
    }
    for (index i = x_batch.waiting().head; i != engine_batch::none; i = x_batch.waiting().head) {
        emit(engine_event_kind::crashed, i, x_batch.at(i).generated, when, events);
        x_batch.remove(i);
    }
    x_stats.crashes += 1;
    x_stats.crashed_requests += x_stats.running;
    x_stats.running = 0;
    x_stretch = {};
    x_chunks.clear();
    x_up_at = when + x_settings.profile.restart.count();
}

void engine_model::emit(
    engine_event_kind kind, index i, std::int64_t generated, engine_time when, event_list& events
) const {
    events.push_back({kind, x_batch.at(i).id, to_instant(when), tokens(generated)});
}

// ---- Views ----

engine_stats engine_model::stats() const {
    engine_stats all = x_stats;
    all.kv_tokens_used = tokens(x_batch.used_blocks()) * x_settings.profile.block;
    all.peak_kv_tokens = tokens(x_batch.peak_blocks()) * x_settings.profile.block;
    all.in_batch = x_batch.batch().size;
    all.waiting = x_batch.waiting().size;
    return all;
}

std::vector<engine_progress> engine_model::progress() const {
    std::vector<engine_progress> all;
    all.reserve(static_cast<std::size_t>(x_stats.running));
    const auto add = [&](const engine_batch::list& where, bool waiting) {
        for (index i = where.head; i != engine_batch::none; i = x_batch.at(i).next) {
            const engine_batch::record& r = x_batch.at(i);
            all.push_back(
                {r.id,
                 tokens(r.prompt),
                 tokens(x_batch.generated_of(r)),
                 tokens(x_batch.blocks_of(r)) * x_settings.profile.block,
                 waiting}
            );
        }
    };
    add(x_batch.batch(), false);
    add(x_batch.waiting(), true);
    return all;
}

std::string engine_model::check_invariants() const {
    if (std::string wrong = x_batch.check_invariants(); !wrong.empty()) {
        return wrong;
    }
    if (x_batch.batch().size > x_settings.slots) {
        return "more requests in the batch than slots";
    }
    if (x_stats.running != x_batch.batch().size + x_batch.waiting().size) {
        return "running is not the number of requests under way";
    }
    if (x_stats.started != x_stats.finished + x_stats.aborted + x_stats.crashed_requests +
                               x_stats.out_of_memory + x_stats.running) {
        return "the ends and the running ones do not add up to the started ones";
    }
    if (x_stats.running > 0 && x_stretch.total == 0) {
        return "requests are under way and the engine stands still";
    }
    return {};
}

}  // namespace sluice::sim
