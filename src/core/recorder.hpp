// The flight recorder: the last inputs of a scheduler as lines of event_text.hpp, so that an
// incident can be repeated on a desk.
//
// The shell that owns a scheduler calls add() before each step() and add_config() before the first
// one and at each reconfigure(). Not thread-safe: the same strand as the scheduler.
//
// Invariants
//  1. Never more than max_lines lines nor max_bytes bytes of text: the oldest go first.
//  2. While nothing was dropped (complete()), replay() of lines() yields the same decisions, in the
//     same order, and the same state_hash() as the recorded scheduler. Afterwards the lines still
//     tell the story, but a replay starts from an empty pool.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_text.hpp"

namespace sluice::core {

struct recorder_bounds {
    std::size_t max_lines = 100'000;
    std::size_t max_bytes = std::size_t{16} * 1024 * 1024;
};

class recorder {
public:
    explicit recorder(recorder_bounds bounds = {});

    void add(instant now, const input& what);
    void add_config(const scheduler_config& config);

    /// Oldest first. The newest configuration that was dropped is kept as first line.
    std::vector<std::string> lines() const;
    bool complete() const { return x_dropped == 0; }
    std::uint64_t dropped() const { return x_dropped; }
    std::size_t bytes_held() const { return x_bytes; }

private:
    void push(std::string line);

    recorder_bounds x_bounds;
    std::deque<std::string> x_lines;
    std::string x_dropped_config;
    std::size_t x_bytes = 0;
    std::uint64_t x_dropped = 0;
};

/// `config max_length=5000 …`; what equals its default is left out.
std::string to_line(const scheduler_config& config);
/// Fields that are not named keep the value of `base`. `corrupt_input` names what cannot be read.
result<scheduler_config> parse_config(std::string_view line, const scheduler_config& base = {});

/// What a replay produced.
struct replayed {
    /// One line a decision (event_text.hpp), each step's after the other.
    std::string decisions;
    std::uint64_t state_hash = 0;
    std::uint64_t steps = 0;
};

/// Feeds recorded lines to a new scheduler. Empty lines and lines that start with '#' are skipped.
/// `corrupt_input` names the line that cannot be read.
result<replayed> replay(std::span<const std::string> lines);

}  // namespace sluice::core
