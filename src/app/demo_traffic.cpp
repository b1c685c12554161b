#include "app/demo_traffic.hpp"

#include "base/random.hpp"

namespace sluice::app {

namespace {

constexpr duration length = std::chrono::minutes(2);
constexpr duration cycle = std::chrono::seconds(20);
constexpr duration burst = std::chrono::seconds(6);
/// Requests a second and worker: some 60 % of what one can do, and twice of it in a burst.
constexpr std::int64_t quiet_rate = 4;
constexpr std::int64_t burst_rate = 14;

/// Roughly exponential with integers alone: the sum of halvings that a coin allows.
std::int64_t skewed(random_source& random, std::int64_t least, std::int64_t step) {
    std::int64_t value = random.between(least, least + step);
    while (random.chance(1, 2) && value < least + 12 * step) {
        value += random.between(1, step);
    }
    return value;
}

}  // namespace

sim::trace demo_trace(std::int64_t workers, std::uint64_t seed) {
    random_source random(seed);
    sim::trace out;
    out.tenants = {"acme", "birch", "cedar"};
    duration now = duration::zero();
    while (now < length) {
        sim::trace_request request;
        request.arrival = now;
        request.input = tokens(skewed(random, 20, 250));
        request.output = tokens(skewed(random, 10, 90));
        // acme sends half of everything, cedar little.
        const std::uint64_t draw = random.below(10);
        request.tenant = draw < 5 ? 0 : draw < 8 ? 1 : 2;
        const std::uint64_t cls = random.below(10);
        request.cls = cls < 2   ? core::priority::high
                      : cls < 8 ? core::priority::normal
                                : core::priority::low;
        out.requests.push_back(request);
        const std::int64_t rate = workers * (now % cycle < burst ? burst_rate : quiet_rate);
        now += duration(random.between(1, 2'000'000 / rate));
    }
    return out;
}

}  // namespace sluice::app
