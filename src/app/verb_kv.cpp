#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "app/cli_options.hpp"
#include "app/json_text.hpp"
#include "app/model_config.hpp"
#include "app/units_text.hpp"
#include "app/verbs.hpp"

namespace sluice::app {

namespace {

struct kv_flags {
    std::string file;
    std::int64_t length = 4096;
    std::string dtype = "fp16";
    std::int64_t tensor_parallel = 1;
    std::string layout = "uniform";
    std::int64_t block = 16;
    bool json = false;
};

int refuse(const kv_flags& flags, const error& problem) {
    complain(problem.message, "sluice kv");
    if (flags.json) {
        const std::string_view code =
            problem.code == errc::not_found ? "unknown_model" : to_string(problem.code);
        print(pretty_json({{"error", {{"code", code}, {"message", problem.message}}}}));
    }
    return exit_failure;
}

std::optional<core::kv_element> element_of(std::string_view dtype) {
    using enum core::kv_element;
    if (dtype == "fp16") {
        return fp16;
    }
    if (dtype == "bf16") {
        return bf16;
    }
    if (dtype == "fp8") {
        return fp8;
    }
    return dtype == "int8" ? std::optional(int8) : std::nullopt;
}

std::string table(const kv_flags& flags, const core::kv_model& model, const std::string& part) {
    const bytes need = model.kv_need(tokens(flags.length), flags.block);
    std::string out;
    const auto row = [&out](std::string_view name, const std::string& value) {
        out += fmt::format("{:<18}{}\n", name, value);
    };
    row("family", std::string(to_string(model.family)));
    if (!part.empty()) {
        row("language model", part);
    }
    row("element type", flags.dtype);
    if (flags.tensor_parallel > 1) {
        row("per GPU of", fmt::format("{}", flags.tensor_parallel));
    }
    row("bytes per token", fmt::format("{}", model.bytes_per_token.count()));
    row(fmt::format("{} tokens", flags.length),
        fmt::format(
            "{} bytes ({:.2f} MiB) in blocks of {}",
            need.count(),
            static_cast<double>(need.count()) / (1024.0 * 1024.0),
            flags.block
        ));
    return out;
}

int run(const kv_flags& flags) {
    const auto element = element_of(flags.dtype);
    if (!element) {
        return refuse(
            flags,
            {errc::invalid_argument,
             flags.dtype + " is not available in this version; fp16, bf16, fp8 and int8 are"}
        );
    }
    const auto config = load_model_config(flags.file);
    if (!config) {
        const bool missing = config.error().code == errc::not_found;
        return refuse(
            flags, {missing ? errc::system_error : config.error().code, config.error().message}
        );
    }
    const auto model = core::make_kv_model(config->shape, *element, flags.tensor_parallel);
    if (!model) {
        return refuse(flags, model.error());
    }
    if (!flags.json) {
        print(table(flags, *model, config->part));
        return exit_ok;
    }
    print(pretty_json({
        {"bytes_per_token", model->bytes_per_token.count()},
        {"tokens", flags.length},
        {"bytes", model->kv_need(tokens(flags.length), flags.block).count()},
        {"fixed_bytes", model->fixed_bytes.count()},
        {"layout", flags.layout},
        {"family", to_string(model->family)},
        {"dtype", flags.dtype},
        {"tensor_parallel", flags.tensor_parallel},
        {"block", flags.block},
    }));
    return exit_ok;
}

}  // namespace

verb_action set_up_kv(CLI::App& command) {
    auto flags = std::make_shared<kv_flags>();
    command.add_option("model_config", flags->file, "The model's config.json")
        ->type_name("MODEL_CONFIG.json")
        ->required();
    command.add_option("--tokens", flags->length, "Length of a sequence")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
        ->capture_default_str();
    command.add_option("--dtype", flags->dtype, "Element type of the cache")
        ->check(CLI::IsMember({"fp16", "bf16", "fp8", "int8", "fp8_ds_mla", "int8_per_head"}))
        ->capture_default_str();
    command.add_option("--tp", flags->tensor_parallel, "GPUs that share the model's heads")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65'536}))
        ->capture_default_str();
    command.add_option("--layout", flags->layout, "How sliding windows are kept")
        ->check(CLI::IsMember({"uniform", "window_capped"}))
        ->capture_default_str();
    command.add_option("--block", flags->block, "Tokens a block; 1 is exact")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{65'536}))
        ->capture_default_str();
    add_output(command, flags->json);
    command.footer("Example:\n  sluice kv Llama-3-8B/config.json --tokens 8192 --dtype fp8 -o json"
    );
    return [flags] { return run(*flags); };
}

}  // namespace sluice::app
