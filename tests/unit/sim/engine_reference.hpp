// The engine model told a second time, without any cleverness: every iteration, every token, every
// block is a step of a loop over plain vectors. Slow, and meant to be read.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "sim/engine_types.hpp"

namespace sluice::sim::test {

class engine_reference {
public:
    explicit engine_reference(const engine_settings& settings)
        : x_settings(settings), x_usable(settings.blocks - (settings.null_block ? 1 : 0)) {}

    void submit(std::int64_t at_us, const engine_request& request) {
        run_until(at_us);
        if (down() ||
            request.prompt.count() + request.output.count() >
                std::min(
                    x_settings.profile.context.count(), x_usable * x_settings.profile.block + 1
                )) {
            return;
        }
        if (x_settings.full == when_full::refuse) {
            std::int64_t promised = 0;
            for (const sequence& s : x_waiting) {
                promised += blocks(s.prompt + s.generated);
            }
            if (blocks(request.prompt.count()) > free_blocks() - promised) {
                return;
            }
        }
        x_waiting.push_back({request.id, request.prompt.count(), request.output.count()});
        if (!x_busy) {
            begin(x_now);
        }
    }
    void abort(std::int64_t at_us, engine_request_id id) {
        run_until(at_us);
        std::erase_if(x_batch, [&](const sequence& s) { return s.id == id; });
        std::erase_if(x_waiting, [&](const sequence& s) { return s.id == id; });
    }
    void run_until(std::int64_t at_us) {
        x_now = std::max(x_now, at_us * x_settings.speed_permille);
        while (x_busy && x_end <= x_now) {
            x_busy = false;
            const std::int64_t end = x_end;
            finish_iteration(end);
            begin(end);
        }
    }
    std::int64_t used_blocks() const {
        std::int64_t used = 0;
        for (const sequence& s : x_batch) {
            used += s.blocks;
        }
        return used;
    }
    std::size_t running() const { return x_batch.size() + x_waiting.size(); }
    const std::vector<engine_event>& events() const { return x_events; }

private:
    struct sequence {
        engine_request_id id{};
        std::int64_t prompt = 0;
        std::int64_t output = 0;
        std::int64_t generated = 0;
        std::int64_t cached = 0;  ///< Tokens in the cache.
        std::int64_t blocks = 0;
        std::int64_t chunk = 0;  ///< Of the iteration under way; 0: it decodes, or does nothing.
        bool decodes = false;
    };

    bool down() const { return x_now < x_up_at; }
    std::int64_t blocks(std::int64_t kv) const {
        return (kv + x_settings.profile.block - 1) / x_settings.profile.block;
    }
    std::int64_t free_blocks() const { return x_usable - used_blocks(); }
    void say(engine_event_kind kind, const sequence& s, std::int64_t when) {
        const std::int64_t speed = x_settings.speed_permille;
        x_events.push_back(
            {kind, s.id, instant(duration((when + speed - 1) / speed)), tokens(s.generated)}
        );
    }

    void finish_iteration(std::int64_t when);
    void end_those_that_decode(std::int64_t when);
    bool find_blocks(std::int64_t when);
    void begin(std::int64_t when);

    engine_settings x_settings;
    std::int64_t x_usable;
    std::vector<sequence> x_batch;
    std::deque<sequence> x_waiting;
    std::vector<engine_event> x_events;
    std::int64_t x_now = 0;
    std::int64_t x_end = 0;
    std::int64_t x_up_at = 0;
    bool x_busy = false;
};

}  // namespace sluice::sim::test
