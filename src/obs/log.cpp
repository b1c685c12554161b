#include "obs/log.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/json_text.hpp"

namespace sluice::obs {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t usual_line = 512;
/// A pipe that poll() calls writable takes this much without blocking; so a write never does.
constexpr std::size_t write_at_once = PIPE_BUF;
/// How long lines are gathered before the sink sees them: one write for many.
constexpr milliseconds gather{2};
constexpr milliseconds look_again{50};

/// "2026-01-31T12:00:00.123Z"
void append_time(std::string& out) {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto fraction = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
    // The calendar is worked out once a second and thread; a line pays for the milliseconds.
    thread_local std::time_t known = -1;
    thread_local std::string text;
    if (known != seconds) {
        std::tm parts{};
        gmtime_r(&seconds, &parts);
        text = fmt::format(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            parts.tm_year + 1900,
            parts.tm_mon + 1,
            parts.tm_mday,
            parts.tm_hour,
            parts.tm_min,
            parts.tm_sec
        );
        known = seconds;
    }
    const auto millis = static_cast<unsigned>(fraction % 1000);
    out += text;
    out += '.';
    out += static_cast<char>('0' + millis / 100);
    out += static_cast<char>('0' + millis / 10 % 10);
    out += static_cast<char>('0' + millis % 10);
    out += 'Z';
}

}  // namespace

std::string_view to_string(level value) {
    constexpr std::array<std::string_view, 5> names{"trace", "debug", "info", "warn", "error"};
    return names[static_cast<std::size_t>(value)];
}

log_line::log_line(level severity, std::string_view message) : x_severity(severity) {
    x_fields.reserve(usual_line);
    text("msg", message);
}

void log_line::key(std::string_view name) {
    x_fields += ",\"";
    x_fields += name;
    x_fields += "\":";
}

log_line& log_line::text(std::string_view name, std::string_view value) {
    key(name);
    append_json_text(x_fields, value);
    return *this;
}

log_line& log_line::number(std::string_view name, std::int64_t value) {
    key(name);
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    x_fields.append(digits.data(), end);
    return *this;
}

log_line& log_line::real(std::string_view name, double value) {
    key(name);
    // JSON has no infinity; 1e15 keeps three exact decimals and is beyond every honest figure.
    const double bounded = value == value ? std::clamp(value, -1e15, 1e15) : 0.0;
    std::array<char, 32> digits{};
    const auto end =
        std::to_chars(
            digits.data(), digits.data() + digits.size(), bounded, std::chars_format::fixed, 3
        )
            .ptr;
    x_fields.append(digits.data(), end);
    return *this;
}

log_line& log_line::flag(std::string_view name, bool value) {
    key(name);
    x_fields += value ? "true" : "false";
    return *this;
}

logger::logger(log_options options)
    : x_options(options),
      // lint-allow(call): a sink may block, and a thread of the io_pool must not
      x_writer([this] { run(); }) {}

logger::~logger() {
    {
        const std::lock_guard lock(x_mutex);
        x_stop = true;
    }
    x_wake.notify_all();
    x_writer.join();
}

void logger::render(const log_line& line, std::string& out) const {
    if (x_options.format == log_format::json) {
        out += "{\"time\":\"";
        append_time(out);
        out += "\",\"level\":\"";
        out += to_string(line.severity());
        out += '"';
        out += line.x_fields;
        out += "}\n";
        return;
    }
    // For people: the same fields, without the braces. Values keep their JSON spelling, so that no
    // byte of a client can break a line or colour a terminal.
    append_time(out);
    out += ' ';
    out += to_string(line.severity());
    out += ' ';
    out.append(line.x_fields, 1);
    out += '\n';
}

void logger::write(const log_line& line) {
    if (!wants(line.severity())) {
        return;
    }
    thread_local std::string text;
    text.clear();
    render(line, text);
    bool wake = false;
    {
        const std::lock_guard lock(x_mutex);
        if (x_buffer.size() + text.size() > x_options.buffer_bytes) {
            x_dropped.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        x_buffer += text;
        wake = std::exchange(x_sleeping, false);
    }
    if (wake) {
        x_wake.notify_one();
    }
}

bool logger::flush(milliseconds limit) {
    std::unique_lock lock(x_mutex);
    return x_written.wait_for(lock, limit, [this] { return x_buffer.empty() && !x_writing; });
}

void logger::run() {
    // A sink that nobody reads any more is an error of write(), not the end of the process.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

    std::string batch;
    std::unique_lock lock(x_mutex);
    for (;;) {
        while (x_buffer.empty() && !x_stop) {
            x_sleeping = true;
            x_wake.wait(lock);
        }
        x_sleeping = false;
        if (x_buffer.empty()) {
            return;
        }
        if (!x_stop) {
            x_wake.wait_for(lock, gather, [this] { return x_stop.load(); });
        }
        batch.swap(x_buffer);
        x_writing = true;
        lock.unlock();
        const bool taken = put_out(batch);
        batch.clear();
        lock.lock();
        x_writing = false;
        x_written.notify_all();
        if (!taken) {
            return;
        }
    }
}

bool logger::put_out(std::string_view text) {
    auto waited = milliseconds::zero();
    while (!text.empty()) {
        pollfd sink{.fd = x_options.descriptor, .events = POLLOUT, .revents = 0};
        const int ready = ::poll(&sink, 1, static_cast<int>(look_again.count()));
        if (ready <= 0) {
            if (x_stop) {
                waited += look_again;
            }
            if (waited >= x_options.farewell) {
                return false;
            }
            continue;
        }
        const ssize_t written =
            ::write(x_options.descriptor, text.data(), std::min(text.size(), write_at_once));
        if (written < 0) {
            if (errno == EINTR || errno == EAGAIN) {
                continue;
            }
            // Nobody reads any more (a closed pipe, a full disk): the lines are lost and counted.
            x_dropped.fetch_add(
                static_cast<std::uint64_t>(std::ranges::count(text, '\n')),
                std::memory_order_relaxed
            );
            return true;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace sluice::obs
