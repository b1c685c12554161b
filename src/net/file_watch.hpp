// Says when one of some files has other content: written in place, replaced by a rename, or reached
// through a link that was turned (as Kubernetes does with mounted secrets).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "net/asio.hpp"

namespace sluice::net {

/// One strand. Destroying it ends the watch.
class file_watch {
public:
    /// `changed` runs on `where`, once for changes that come together. Files need not exist, but
    /// their directories must.
    static result<std::unique_ptr<file_watch>> start(
        executor where, std::vector<std::string> files, std::function<void()> changed
    );
    ~file_watch();
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;

private:
    struct impl;
    explicit file_watch(std::shared_ptr<impl> state) : x_impl(std::move(state)) {}
    std::shared_ptr<impl> x_impl;
};

}  // namespace sluice::net
