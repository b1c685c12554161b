// The worker behind every proxy of `sluice bench gateway`: answers at once, 500 bytes of JSON, or a
// stream of 50 events (one write each) when the body asks for a stream. The model "held" is
// answered after 20 ms, a stream of the model "quiet" has one event and stays open. One thread, in
// this process. What is asked for must stand in the first bytes of the body.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"

namespace sluice::lab {

class bench_upstream {
public:
    bench_upstream();
    ~bench_upstream();
    bench_upstream(const bench_upstream&) = delete;
    bench_upstream& operator=(const bench_upstream&) = delete;

    result<void> start();
    /// "127.0.0.1:40123"
    std::string address() const;

private:
    struct impl;
    std::unique_ptr<impl> x_impl;
};

}  // namespace sluice::lab
