// The recorded vLLM run that the default profile is fitted on, read without a JSON library: the
// sim room has none, and the lines are flat objects of numbers.
#pragma once

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim::test {

struct measured_request {
    double prompt = 0;
    double output = 0;
    double arrival = 0;  ///< Seconds since the first one.
    double queued = 0;
    double first_token = 0;
    double last_token = 0;
};

inline double number_after(std::string_view line, std::string_view key) {
    const std::size_t at = line.find("\"" + std::string(key) + "\":");
    if (at == std::string_view::npos) {
        return -1;
    }
    std::string_view rest = line.substr(at + key.size() + 3);
    rest.remove_prefix(rest.find_first_not_of(' '));
    double value = -1;
    std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return value;
}

/// Empty when the file is not there.
inline std::vector<measured_request> read_measured_run(const std::string& path) {
    std::vector<measured_request> all;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        all.push_back(
            {number_after(line, "input_toks"),
             number_after(line, "output_toks"),
             number_after(line, "arrival_time"),
             number_after(line, "queued_ts"),
             number_after(line, "first_token_ts"),
             number_after(line, "last_token_ts")}
        );
    }
    const double start = all.empty() ? 0 : all.front().arrival;
    for (measured_request& request : all) {
        request.arrival -= start;
    }
    return all;
}

}  // namespace sluice::sim::test
