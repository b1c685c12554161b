#include "lab/bare_relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::lab {

namespace {

class descriptor {
public:
    explicit descriptor(int fd = -1) : x_fd(fd) {}
    ~descriptor() {
        if (x_fd >= 0) {
            ::close(x_fd);
        }
    }
    descriptor(descriptor&& other) noexcept : x_fd(std::exchange(other.x_fd, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(x_fd, other.x_fd);
        return *this;
    }
    int get() const { return x_fd; }

private:
    int x_fd;
};

/// A client and its connection to the upstream.
struct pair {
    descriptor client;
    descriptor upstream;
};

sockaddr_in on_loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

descriptor connect_to(int port) {
    descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = on_loopback(port);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(fd.get(), generic, sizeof(address)) == 0 ? std::move(fd) : descriptor();
}

void no_delay(const descriptor& fd) {
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// False: one side is done, and so are both.
bool pass_on(int from, int to, std::vector<char>& buffer) {
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    for (ssize_t sent = 0; sent < got;) {
        const ssize_t went =
            ::send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
        if (went < 0) {
            return false;
        }
        sent += went;
    }
    return got > 0;
}

}  // namespace

struct bare_relay::impl {
    descriptor listener;
    descriptor stop{::eventfd(0, EFD_CLOEXEC)};
    int upstream_port = 0;
    int own_port = 0;
    std::jthread thread;

    ~impl() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(stop.get(), &one, sizeof(one));
    }

    void accept(std::vector<pair>& pairs) const {
        pair fresh{
            descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)),
            connect_to(upstream_port)
        };
        if (fresh.client.get() >= 0 && fresh.upstream.get() >= 0) {
            no_delay(fresh.client);
            no_delay(fresh.upstream);
            pairs.push_back(std::move(fresh));
        }
    }

    void run() const {
        std::vector<pair> pairs;
        std::vector<char> buffer(std::size_t{256} * 1024);
        while (true) {
            std::vector<pollfd> all{{stop.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
            for (const pair& one : pairs) {
                all.push_back({one.client.get(), POLLIN, 0});
                all.push_back({one.upstream.get(), POLLIN, 0});
            }
            if (::poll(all.data(), all.size(), -1) < 0 && errno != EINTR) {
                return;
            }
            if (all[0].revents != 0) {
                return;
            }
            std::size_t at = 2;
            std::erase_if(pairs, [&](const pair& one) {
                const bool asked = all[at++].revents != 0;
                const bool answered = all[at++].revents != 0;
                return (asked && !pass_on(one.client.get(), one.upstream.get(), buffer)) ||
                       (answered && !pass_on(one.upstream.get(), one.client.get(), buffer));
            });
            if (all[1].revents != 0) {
                accept(pairs);
            }
        }
    }
};

result<bare_relay> bare_relay::start(int upstream_port) {
    auto made = std::make_unique<impl>();
    made->upstream_port = upstream_port;
    made->listener = descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = on_loopback(0);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (::bind(made->listener.get(), generic, size) != 0 ||
        ::listen(made->listener.get(), 1024) != 0 ||
        ::getsockname(made->listener.get(), generic, &size) != 0) {
        return fail(
            errc::system_error, std::string("the bare relay cannot listen: ") + std::strerror(errno)
        );
    }
    made->own_port = ntohs(address.sin_port);
    made->thread = std::jthread([of = made.get()] { of->run(); });
    return bare_relay(std::move(made));
}

bare_relay::bare_relay(std::unique_ptr<impl> of) : x_impl(std::move(of)) {}
bare_relay::bare_relay(bare_relay&&) noexcept = default;
bare_relay& bare_relay::operator=(bare_relay&&) noexcept = default;
bare_relay::~bare_relay() = default;

int bare_relay::port() const {
    return x_impl->own_port;
}

}  // namespace sluice::lab
