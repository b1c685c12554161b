#include "core/state.hpp"
TEST(quick, sleeps) {
    co_spawn(where, run(), asio::detached);
    std::this_thread::sleep_for(1s);  // expect: call
    std::mt19937 engine(1);           // expect: call
}
