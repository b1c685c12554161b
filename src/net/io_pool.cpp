#include "net/io_pool.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include "base/assert.hpp"

namespace sluice::net {

io_pool::io_pool(std::size_t threads) {
    SLUICE_ASSERT(threads >= 1);
    for (std::size_t i = 0; i < threads; ++i) {
        // Exactly one thread runs each context; the hint spares the scheduler its wake-ups.
        x_contexts.push_back(std::make_unique<asio::io_context>(1));
    }
}

io_pool::~io_pool() {
    stop();
}

void io_pool::run() {
    std::vector<asio::executor_work_guard<executor>> guards;
    guards.reserve(x_contexts.size());
    for (const auto& context : x_contexts) {
        guards.emplace_back(context->get_executor());
    }
    for (std::size_t i = 1; i < x_contexts.size(); ++i) {
        x_threads.emplace_back([&context = *x_contexts[i]] { context.run(); });
    }
    try {
        x_contexts[0]->run();
    } catch (...) {
        stop();  // or the threads below would never be joined
        throw;
    }
    x_threads.clear();  // joins: stop() reaches every context
}

void io_pool::stop() {
    for (const auto& context : x_contexts) {
        context->stop();
    }
}

}  // namespace sluice::net
