#include "core/state.hpp"

#include <random>  // expect: purity

#include "core/missing.hpp"  // expect: include

void faults() {
    auto now = std::chrono::system_clock::now();          // expect: call
    auto tick = std::chrono::steady_clock::now();         // expect: call
    std::this_thread::sleep_for(std::chrono::seconds(1)); // expect: call
    int dice = rand() % 6;                                // expect: call
    std::uniform_int_distribution<int> spread(0, 5);      // expect: call
    std::cout << dice;                                    // expect: call
    assert(dice < 6);                                     // expect: call
    static_assert(sizeof(int) == 4);
    auto number = std::stoi("12");                        // expect: call
    auto home = std::getenv("HOME");                      // expect: call
    // TODO: later  // expect: todo
    std::thread worker([] {});                            // expect: call
    auto cores = std::thread::hardware_concurrency();
    object.exit();
    std::exit(1);                                         // expect: call
}
