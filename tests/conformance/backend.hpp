// One backend under the conformance suite: how to open a pool on it, and how to wait for it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "conformance/ledger.hpp"
#include "coord/factory/open_pool.hpp"
#include "net/asio.hpp"

namespace sluice::conformance {

using namespace std::chrono_literals;

/// Address of the backend under test; a required server that is absent fails the suite.
struct backend {
    std::string name;
    std::string address;
};

class pool_test : public ::testing::TestWithParam<backend> {
protected:
    void open(core::scheduler_config config) {
        auto opened = coord::open_pool(GetParam().address, context.get_executor(), config, book);
        ASSERT_TRUE(opened) << opened.error().message;
        ports = *opened;
    }

    void TearDown() override {
        EXPECT_FALSE(book.breach) << *book.breach;
        ports = {};
    }

    /// Runs the backend's events until `done`, awaiting them rather than the clock.
    [[nodiscard]] bool await(
        const std::function<bool()>& done, std::chrono::milliseconds within = 5s
    ) {
        const auto deadline = std::chrono::steady_clock::now() + within;
        while (!done()) {
            context.restart();
            if (context.run_one_until(deadline) == 0 && !done()) {
                return false;
            }
        }
        return true;
    }
    /// Runs whatever is ready now.
    void settle() {
        context.restart();
        context.poll();
    }

    static ticket_id id(std::uint64_t number) { return {session_id{7}, number}; }

    coord::submission ask(
        std::uint64_t number,
        std::int64_t kv = 1,
        core::priority cls = core::priority::normal,
        duration wait = 30s
    ) const {
        coord::submission made;
        made.id = id(number);
        made.cls = cls;
        made.tenant = "acme";
        made.prompt_kv = bytes(kv);
        made.peak_kv = bytes(kv);
        made.wait = wait;
        return made;
    }
    void submit(const std::vector<coord::submission>& batch) {
        ports.admission->submit(batch);
        settle();
    }
    void join(
        const std::string& name,
        std::uint32_t slots,
        bytes capacity = bytes::max(),
        std::uint64_t epoch = 1,
        bool reports = false
    ) {
        ports.registry->join(
            {name, "http://127.0.0.1:1", worker_epoch{epoch}, slots, capacity, reports, {}}
        );
        settle();
    }
    void give_back(std::uint64_t number, core::release_outcome how = core::release_outcome::ok) {
        const coord::permit held = book.permit_of(id(number));
        const coord::release call{id(number), held.token, how, {}, {}, nullptr};
        ports.admission->release(std::span(&call, 1));
        settle();
    }
    std::vector<std::uint64_t> granted() const { return book.granted_numbers(); }

    net::asio::io_context context{1};
    ledger book;
    coord::pool_ports ports;
};

}  // namespace sluice::conformance
