// One io_context and one thread per core. Index 0 also carries the admission strand.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "net/asio.hpp"

namespace sluice::net {

class io_pool {
public:
    /// `threads` ≥ 1. Nothing runs before run().
    explicit io_pool(std::size_t threads);
    ~io_pool();
    io_pool(const io_pool&) = delete;
    io_pool& operator=(const io_pool&) = delete;

    std::size_t size() const { return x_contexts.size(); }
    asio::io_context& context(std::size_t index) { return *x_contexts[index]; }
    executor executor_of(std::size_t index) { return x_contexts[index]->get_executor(); }

    /// Runs context 0 on the calling thread and the others on threads of their own, until stop().
    void run();
    /// Thread-safe. Ends run(); pending work is dropped.
    void stop();

private:
    std::vector<std::unique_ptr<asio::io_context>> x_contexts;
    std::vector<std::jthread> x_threads;
};

}  // namespace sluice::net
