// Values from any thread to one strand, in batches: one hand-over is under way at a time, and what
// arrives meanwhile goes with the next. The cost of waking the other side is paid once a batch.
//
// Invariants
//  1. Values of one producer arrive in the order of their push().
//  2. The consumer runs on the executor, never inside push(), and never twice at once.
//  3. After the mailbox is destroyed the consumer does not start again. Destroy it on the
//     executor's thread, or when that does not run.
// Not bounded: who pushes has a bound of his own (a permit, a connection, a queue slot).
#pragma once

#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "net/asio.hpp"

namespace sluice::net {

template <class Value>
class mailbox {
public:
    /// `consume` may move out of the vector; what it leaves is dropped.
    mailbox(executor where, std::function<void(std::vector<Value>&&)> consume)
        : x_state(std::make_shared<state>(where, std::move(consume))) {}
    ~mailbox() {
        const std::lock_guard hold(x_state->mutex);
        x_state->closed = true;
    }
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;

    /// Thread-safe.
    void push(Value value) {
        bool first = false;
        {
            const std::lock_guard hold(x_state->mutex);
            x_state->waiting.push_back(std::move(value));
            first = !std::exchange(x_state->scheduled, true);
        }
        if (first) {
            schedule(x_state);
        }
    }

private:
    struct state {
        state(executor where_, std::function<void(std::vector<Value>&&)> consume_)
            : where(where_), consume(std::move(consume_)) {}
        executor where;
        std::function<void(std::vector<Value>&&)> consume;
        std::mutex mutex;
        std::vector<Value> waiting;
        std::vector<Value> batch;  ///< Of the consumer's side; keeps its memory.
        bool scheduled = false;
        bool closed = false;
    };

    static void schedule(const std::shared_ptr<state>& of) {
        asio::post(of->where, [of] { flush(of); });
    }
    static void flush(const std::shared_ptr<state>& of) {
        {
            const std::lock_guard hold(of->mutex);
            if (of->closed) {
                return;
            }
            std::swap(of->waiting, of->batch);
        }
        of->consume(std::move(of->batch));
        of->batch.clear();
        bool more = false;
        {
            const std::lock_guard hold(of->mutex);
            more = !of->waiting.empty();
            of->scheduled = more;
        }
        if (more) {
            schedule(of);
        }
    }

    std::shared_ptr<state> x_state;
};

}  // namespace sluice::net
