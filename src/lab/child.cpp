#include "lab/child.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

extern char** environ;

namespace sluice::lab {

namespace {

/// utime + stime of one process in clock ticks; 0 when it is gone.
long ticks_of(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) {
        return 0;
    }
    std::istringstream fields(line.substr(name_end + 2));
    std::string skipped;
    for (int field = 3; field < 14; ++field) {
        fields >> skipped;
    }
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return user + system;
}

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

const sockaddr* generic(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

result<child> child::start(const std::vector<std::string>& argv, const std::string& output_file) {
    std::vector<char*> pointers;
    for (const std::string& one : argv) {
        pointers.push_back(const_cast<char*>(one.c_str()));
    }
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(
        &actions, 1, output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600
    );
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int pid = -1;
    const int failed =
        posix_spawnp(&pid, argv[0].c_str(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        return fail(errc::system_error, "cannot start " + argv[0] + ": " + std::strerror(failed));
    }
    return child(pid);
}

child::child(child&& other) noexcept : x_pid(std::exchange(other.x_pid, -1)) {}

child& child::operator=(child&& other) noexcept {
    if (this != &other) {
        end();
        x_pid = std::exchange(other.x_pid, -1);
    }
    return *this;
}

child::~child() {
    end();
}

void child::end() {
    if (x_pid > 0) {
        ::kill(x_pid, SIGTERM);
        wait();
    }
}

int child::wait() {
    int status = 0;
    while (x_pid > 0 && ::waitpid(x_pid, &status, 0) < 0 && errno == EINTR) {
    }
    x_pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::chrono::microseconds child::cpu_time() const {
    long ticks = ticks_of(x_pid);
    std::ifstream children(
        "/proc/" + std::to_string(x_pid) + "/task/" + std::to_string(x_pid) + "/children"
    );
    for (int grandchild = 0; children >> grandchild;) {
        ticks += ticks_of(grandchild);
    }
    return std::chrono::microseconds(ticks * 1'000'000 / ::sysconf(_SC_CLK_TCK));
}

bool is_installed(const std::string& program) {
    const char* path = ::secure_getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (::access((folder + "/" + program).c_str(), X_OK) == 0) {
            return true;
        }
    }
    return ::access(("/usr/sbin/" + program).c_str(), X_OK) == 0;
}

int free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    ::bind(probe, generic(address), size);
    ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(probe);
    return ntohs(address.sin_port);
}

bool await_port(int port, std::chrono::milliseconds within) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < deadline) {
        const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = loopback(port);
        const bool accepted = ::connect(probe, generic(address), sizeof(address)) == 0;
        ::close(probe);
        if (accepted) {
            return true;
        }
        // lint-allow(call): the peer is another program; there is no event to await but its answer.
        ::usleep(5'000);
    }
    return false;
}

}  // namespace sluice::lab
