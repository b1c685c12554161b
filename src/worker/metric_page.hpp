// Reads a page in the Prometheus text format as tolerantly as engines write it.
//
// Pure; called by every probe. Samples come one by one as views into the page.
//  1. Exponents, time stamps, a comma before the closing brace, escapes and braces in label values
//     are all fine; a line that is none of it is skipped, and reading goes on with the next.
//  2. NaN and infinities are delivered: the caller decides that they are unknown, never zero (B22).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::worker {

struct metric_sample {
    std::string_view name;
    std::string_view labels;  ///< Text between the braces; empty without.
    double value = 0.0;

    /// The label's value, unescaped.
    std::optional<std::string> label(std::string_view key) const;
};

class metric_page {
public:
    explicit metric_page(std::string_view page) : x_rest(page) {}
    std::optional<metric_sample> next();

private:
    std::string_view x_rest;
};

}  // namespace sluice::worker
