#include "net/mailbox.hpp"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <thread>

namespace sluice::net {
namespace {

TEST(mailbox, every_value_of_every_thread_arrives_once_and_in_order) {
    constexpr int producers = 4;
    constexpr int each = 20'000;
    asio::io_context context(1);
    std::vector<int> next(producers, 0);
    int total = 0;
    std::size_t batches = 0;
    mailbox<std::pair<int, int>> box(
        context.get_executor(),
        [&](std::vector<std::pair<int, int>>&& values) {
            ++batches;
            for (const auto& [who, what] : values) {
                EXPECT_EQ(next[static_cast<std::size_t>(who)]++, what);
                ++total;
            }
            if (total == producers * each) {
                context.stop();
            }
        }
    );
    auto guard = asio::make_work_guard(context);
    std::vector<std::jthread> threads;
    for (int who = 0; who < producers; ++who) {
        threads.emplace_back([&box, who] {
            for (int what = 0; what < each; ++what) {
                box.push({who, what});
            }
        });
    }
    context.run();
    EXPECT_EQ(total, producers * each);
    EXPECT_LE(batches, static_cast<std::size_t>(total));
}

TEST(mailbox, what_arrives_during_a_hand_over_goes_with_the_next) {
    asio::io_context context(1);
    std::vector<std::size_t> sizes;
    mailbox<int>* self = nullptr;
    mailbox<int> box(context.get_executor(), [&](std::vector<int>&& values) {
        sizes.push_back(values.size());
        if (sizes.size() == 1) {
            self->push(4);
            self->push(5);
        }
    });
    self = &box;
    box.push(1);
    box.push(2);
    box.push(3);
    EXPECT_TRUE(sizes.empty()) << "never inside push()";
    context.run();
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 2}));
}

TEST(mailbox, destroyed_it_delivers_nothing_more) {
    asio::io_context context(1);
    int delivered = 0;
    {
        mailbox<int> box(context.get_executor(), [&](std::vector<int>&&) { ++delivered; });
        box.push(1);
    }
    context.run();
    EXPECT_EQ(delivered, 0);
}

}  // namespace
}  // namespace sluice::net
