#include "net/file_watch.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <tuple>

namespace sluice::net {

namespace {

constexpr std::uint32_t of_interest = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE;

/// Device, inode, size, time of the last change: another one is other content.
using identity = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

identity identity_of(const std::string& file) {
    struct stat now{};
    if (::stat(file.c_str(), &now) != 0) {
        return {};
    }
    return {now.st_dev, now.st_ino, now.st_size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
}

}  // namespace

struct file_watch::impl : std::enable_shared_from_this<impl> {
    impl(executor where, int descriptor, std::vector<std::string> its_files)
        : notices(where, descriptor), files(std::move(its_files)), seen(look()) {}

    std::vector<identity> look() const {
        std::vector<identity> now;
        for (const std::string& one : files) {
            now.push_back(identity_of(one));
        }
        return now;
    }

    void wait() {
        notices.async_wait(
            asio::posix::descriptor_base::wait_read,
            [weak = weak_from_this()](error_code failure) {
                const auto self = weak.lock();
                if (self && !failure) {
                    self->take_notices();
                }
            }
        );
    }

    /// Which file a notice is about matters less than what the files are now.
    void take_notices() {
        alignas(inotify_event) std::array<char, 4096> room;
        while (::read(notices.native_handle(), room.data(), room.size()) > 0) {
        }
        wait();
        auto now = look();
        if (now != seen) {
            seen = std::move(now);
            changed();
        }
    }

    asio::posix::basic_stream_descriptor<executor> notices;
    std::vector<std::string> files;
    std::vector<identity> seen;
    std::function<void()> changed;
};

result<std::unique_ptr<file_watch>> file_watch::start(
    executor where, std::vector<std::string> files, std::function<void()> changed
) {
    const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (descriptor < 0) {
        return fail(
            errc::system_error, std::string("files cannot be watched: ") + std::strerror(errno)
        );
    }
    // What the files are is noted after the watch began, so that nothing falls in between.
    std::set<std::filesystem::path> folders;
    for (const std::string& one : files) {
        const std::filesystem::path folder = std::filesystem::path(one).parent_path();
        folders.insert(folder.empty() ? "." : folder);
    }
    for (const std::filesystem::path& one : folders) {
        if (::inotify_add_watch(descriptor, one.c_str(), of_interest) < 0) {
            const int why = errno;
            ::close(descriptor);
            return fail(
                errc::system_error, one.string() + " cannot be watched: " + std::strerror(why)
            );
        }
    }
    const auto made = std::make_shared<impl>(where, descriptor, std::move(files));
    made->changed = std::move(changed);
    made->wait();
    return std::unique_ptr<file_watch>(new file_watch(made));
}

file_watch::~file_watch() {
    error_code ignored;
    x_impl->notices.close(ignored);
}

}  // namespace sluice::net
