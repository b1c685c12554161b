#include "load/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sluice::load {

void samples::add(double value) {
    x_sorted = x_values.empty() || (x_sorted && x_values.back() <= value);
    x_values.push_back(value);
}

std::optional<double> samples::quantile(double share) const {
    if (x_values.empty()) {
        return std::nullopt;
    }
    if (!x_sorted) {
        std::ranges::sort(x_values);
        x_sorted = true;
    }
    const auto count = static_cast<double>(x_values.size());
    // A hair below the product, so that 0.99 of 100 is rank 99 and not 100.
    const double rank = std::ceil(share * count - 1e-9);
    const auto index = static_cast<std::size_t>(std::clamp(rank, 1.0, count)) - 1;
    return x_values[index];
}

double jain_index(std::span<const double> shares) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
        sum += share;
        squares += share * share;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1;
}

}  // namespace sluice::load
