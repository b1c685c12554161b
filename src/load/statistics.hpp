// The figures that a load report shows. Exact: every sample is kept and sorted.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace sluice::load {

/// Collects samples; quantile() sorts them when it must.
class samples {
public:
    void add(double value);
    std::size_t size() const { return x_values.size(); }
    /// The smallest sample that at least `share` (0 < share ≤ 1) of all do not exceed: nearest
    /// rank, always a sample that occurred. Nothing without samples.
    std::optional<double> quantile(double share) const;

private:
    mutable std::vector<double> x_values;
    mutable bool x_sorted = true;
};

/// Jain's index of fairness, (Σx)² / (n·Σx²): 1 all alike, 1/n one has everything. 1 when there is
/// nothing to share.
double jain_index(std::span<const double> shares);

}  // namespace sluice::load
