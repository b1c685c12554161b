#include "worker/vllm_probe.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "worker/metric_page.hpp"

namespace sluice::worker {

namespace {

/// Counts beyond this are no counts.
constexpr double largest_count = 1e15;

std::optional<std::int64_t> count_of(double value) {
    if (!(value >= 0.0 && value <= largest_count)) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> count_label(const metric_sample& sample, std::string_view key) {
    const auto text = sample.label(key);
    if (!text) {
        return std::nullopt;
    }
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, failed] = std::from_chars(text->data(), end, value);
    if (failed != std::errc() || stop != end || value <= 0) {
        return std::nullopt;  // also "None", as vLLM prints what it has not decided
    }
    return value;
}

/// Several engines behind one page (data parallel): their counts add up.
void add(std::optional<std::int64_t>& to, double value) {
    if (const auto count = count_of(value)) {
        to = to.value_or(0) + *count;
    }
}

}  // namespace

std::optional<tokens> vllm_figures::kv_tokens() const {
    if (!block_size || !num_gpu_blocks) {
        return std::nullopt;
    }
    return tokens(*num_gpu_blocks) * *block_size;
}

vllm_figures read_vllm_page(std::string_view page) {
    vllm_figures found;
    std::optional<double> old_use;
    metric_page samples(page);
    while (const auto sample = samples.next()) {
        if (sample->name == "sluice_engine_slots") {
            found.max_num_seqs = count_of(sample->value);
        }
        if (!sample->name.starts_with("vllm:")) {
            continue;
        }
        const std::string_view name = sample->name.substr(5);
        if (name == "num_requests_running") {
            add(found.running, sample->value);
        } else if (name == "num_requests_waiting") {
            add(found.waiting, sample->value);
        } else if (name == "kv_cache_usage_perc" && std::isfinite(sample->value)) {
            found.kv_use = sample->value;
        } else if (name == "gpu_cache_usage_perc" && std::isfinite(sample->value)) {
            old_use = sample->value;
        } else if (name == "cache_config_info") {
            found.block_size = count_label(*sample, "block_size");
            found.num_gpu_blocks = count_label(*sample, "num_gpu_blocks");
            if (const auto seqs = count_label(*sample, "max_num_seqs")) {
                found.max_num_seqs = seqs;
            }
        }
    }
    if (!found.kv_use) {
        found.kv_use = old_use;
    }
    return found;
}

}  // namespace sluice::worker
