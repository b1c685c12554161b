// How much memory an open stream takes that says nothing: the gateway's anonymous memory before and
// after so many clients have each received one event.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "lab/bench_stage.hpp"
#include "lab/gateway_bench.hpp"

namespace sluice::lab {

namespace {

constexpr int warm_up = 64;
constexpr rlim_t spare_descriptors = 512;

/// Sockets that stay open until the object goes.
class clients {
public:
    clients() = default;
    ~clients() {
        for (const int fd : x_open) {
            ::close(fd);
        }
    }
    clients(const clients&) = delete;
    clients& operator=(const clients&) = delete;

    /// Opens one more stream and waits for its first event.
    result<void> open(int port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            return trouble("no socket");
        }
        x_open.push_back(fd);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            return trouble("cannot connect");
        }
        static const std::string request = request_text();
        if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
            return trouble("cannot send");
        }
        return await_event(fd);
    }

private:
    static std::string request_text() {
        const std::string body =
            R"({"model":"quiet","max_tokens":50,"stream":true,)"
            R"("messages":[{"role":"user","content":"a stream that stays open"}]})";
        return fmt::format(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\n"
            "content-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            body.size(),
            body
        );
    }

    result<void> trouble(std::string_view what) const {
        return fail(
            errc::system_error,
            fmt::format("stream {}: {}: {}", x_open.size(), what, std::strerror(errno))
        );
    }

    result<void> await_event(int fd) const {
        std::string said;
        std::array<char, 4096> piece{};
        while (said.find("data: ") == std::string::npos) {
            const ssize_t got = ::recv(fd, piece.data(), piece.size(), 0);
            if (got <= 0) {
                return fail(
                    errc::protocol_error,
                    fmt::format("stream {} ended without an event: {}", x_open.size(), said)
                );
            }
            said.append(piece.data(), static_cast<std::size_t>(got));
        }
        return {};
    }

    std::vector<int> x_open;
};

/// Memory of the process that is its own, not a file's: bytes.
double anonymous_memory(int pid) {
    std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("Anonymous:")) {
            const char* const digits = line.data() + line.find_first_of("0123456789", 10);
            double kibibytes = 0;
            std::from_chars(digits, line.data() + line.size(), kibibytes);
            return kibibytes * 1024;
        }
    }
    return 0;
}

/// Client and upstream are both in this process, and so are both sockets of a stream.
result<void> allow_descriptors(int streams) {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    now.rlim_cur = now.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &now);
    const rlim_t wanted = 2 * static_cast<rlim_t>(streams) + spare_descriptors;
    if (now.rlim_max < wanted) {
        return fail(
            errc::limit_exceeded,
            fmt::format(
                "{} streams take {} open files, {} are allowed; raise `ulimit -Hn` or lower "
                "--streams",
                streams,
                wanted,
                now.rlim_max
            )
        );
    }
    return {};
}

}  // namespace

result<gateway_bench_report> bench_idle_streams(const gateway_bench_options& options) {
    if (auto allowed = allow_descriptors(options.streams); !allowed) {
        return std::unexpected(allowed.error());
    }
    bench_stage stage(options.self);
    if (auto started = stage.start({.slots = options.streams + warm_up, .queue = ""}); !started) {
        return std::unexpected(started.error());
    }
    clients open;
    const auto open_more = [&](int count) -> result<void> {
        for (int i = 0; i < count; ++i) {
            if (auto opened = open.open(stage.sluice().port); !opened) {
                return opened;
            }
        }
        return {};
    };
    if (auto warm = open_more(warm_up); !warm) {
        return std::unexpected(warm.error());
    }
    const int pid = stage.sluice().process->pid();
    const double before = anonymous_memory(pid);
    if (auto all = open_more(options.streams); !all) {
        return std::unexpected(all.error());
    }
    const double after = anonymous_memory(pid);
    gateway_bench_report report;
    report.figures.push_back({"gateway before the streams", before / 1048576, "MiB", ""});
    report.figures.push_back(
        {fmt::format("a stream that is open and idle, of {}", options.streams),
         (after - before) / options.streams / 1024,
         "KiB",
         "at most 16"}
    );
    return report;
}

}  // namespace sluice::lab
