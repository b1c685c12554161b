// A process that a benchmark starts and ends by its id: nginx, wrk, a gateway of our own.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace sluice::lab {

class child {
public:
    /// Starts argv[0] (looked up in PATH), its output into `output_file`.
    static result<child> start(
        const std::vector<std::string>& argv, const std::string& output_file
    );
    child(child&& other) noexcept;
    child& operator=(child&& other) noexcept;
    /// Asks it to end (SIGTERM), then waits.
    ~child();

    int pid() const { return x_pid; }
    /// Waits for its own end; the exit code.
    int wait();
    /// Processor time of it and its direct children so far.
    std::chrono::microseconds cpu_time() const;

private:
    explicit child(int pid) : x_pid(pid) {}
    void end();

    int x_pid = -1;
};

/// Whether `program` is in PATH.
bool is_installed(const std::string& program);
/// A TCP port of 127.0.0.1 that was free a moment ago.
int free_port();
/// Waits until something accepts on 127.0.0.1:port; false after `within`.
bool await_port(int port, std::chrono::milliseconds within);

}  // namespace sluice::lab
