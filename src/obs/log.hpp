// Structured log lines that never hold a request up.
//
// Used by every room above obs, from any thread. A line is built in the caller (log_line) and put
// into a bounded buffer; one thread of the logger writes it out.
//
//  1. Every JSON line is one valid JSON object in valid UTF-8, whatever bytes its fields hold
//     (B40).
//  2. write() never waits for the sink. A sink that takes nothing costs lines, not time: what does
//     not fit into `buffer_bytes` is dropped and counted (B37).
//  3. Lines of one thread keep their order.
//  4. The destructor gives the sink at most `farewell` to take what is left.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::obs {

enum class level : std::uint8_t { trace, debug, info, warn, error };
std::string_view to_string(level value);

enum class log_format : std::uint8_t { json, text };

/// One line under construction. Field names are literals of ours; values may be any bytes.
class log_line {
public:
    log_line(level severity, std::string_view message);

    log_line& text(std::string_view name, std::string_view value);
    log_line& number(std::string_view name, std::int64_t value);
    /// With three decimals: for milliseconds and ratios.
    log_line& real(std::string_view name, double value);
    log_line& flag(std::string_view name, bool value);

    level severity() const { return x_severity; }

private:
    friend class logger;
    void key(std::string_view name);

    level x_severity;
    std::string x_fields;  // {"level":…,"msg":…,… without the closing brace and the time
};

struct log_options {
    level least = level::info;
    log_format format = log_format::json;
    /// Where lines go; not closed.
    int descriptor = 2;
    std::size_t buffer_bytes = std::size_t{1} << 20;
    std::chrono::milliseconds farewell{500};
};

class logger {
public:
    explicit logger(log_options options = {});
    ~logger();
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;

    /// Whether lines of this severity are written: ask before building an expensive one.
    bool wants(level severity) const { return severity >= x_options.least; }
    void write(const log_line& line);

    /// Lines that did not fit.
    std::uint64_t dropped() const { return x_dropped.load(std::memory_order_relaxed); }
    /// Waits until everything written so far is with the sink, at most `limit`. For tests and ends.
    bool flush(std::chrono::milliseconds limit);

private:
    void run();
    bool put_out(std::string_view text);
    void render(const log_line& line, std::string& out) const;

    log_options x_options;
    std::atomic<std::uint64_t> x_dropped{0};
    mutable std::mutex x_mutex;
    std::condition_variable x_wake;
    std::condition_variable x_written;
    std::string x_buffer;     // lines that wait for the writer
    bool x_writing = false;   // the writer holds lines outside the buffer
    bool x_sleeping = false;  // the writer waits for x_wake
    std::atomic<bool> x_stop{false};
    std::thread x_writer;
};

}  // namespace sluice::obs
