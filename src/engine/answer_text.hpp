// The bytes of the simulated engine's answers. Pure: facts in, text out; no I/O.
//
// Shapes follow the OpenAI API as vLLM serves it. Token i of an answer is a word that depends on
// the request and on i only, so an answer cut or repeated can be compared byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "openai/inspect.hpp"
#include "sim/engine_model.hpp"

namespace sluice::engine {

/// What an answer is made of. With several choices their tokens take turns: the model runs one
/// sequence a request, so that a request is one slot in the engine as it is in the gateway.
struct answer_plan {
    openai::endpoint_kind kind = openai::endpoint_kind::chat;
    std::string id;
    std::string model;
    std::int64_t created = 0;  ///< Seconds since 1970.
    std::int64_t prompt_tokens = 0;
    std::int64_t choices = 1;
    std::int64_t tokens_each = 1;
    bool length_reached = false;  ///< finish_reason length instead of stop.
    bool include_usage = false;
    std::uint64_t seed = 0;

    std::int64_t total_tokens() const { return choices * tokens_each; }
};

/// Decides how many tokens the answer has: `sluice_sim_output`, or a length drawn from the body's
/// own hash; never more than the limit asked for and what `longest` leaves behind the prompt.
void plan_length(
    answer_plan& plan, const openai::request_facts& facts, std::string_view body, tokens longest
);

/// The text of token `index` of one choice.
std::string_view token_text(std::uint64_t seed, std::int64_t choice, std::int64_t index);

/// Prints the events of a stream; holds the parts that all of them share.
class stream_text {
public:
    explicit stream_text(const answer_plan& plan);

    /// Tokens [from, to) of the answer, one event each; the first ones announce the role.
    void append_tokens(std::string& out, std::int64_t from, std::int64_t to) const;
    /// Finish reasons, usage when asked for, [DONE].
    void append_end(std::string& out) const;

private:
    void append_choice(
        std::string& out, std::int64_t choice, std::string_view delta, std::string_view finish
    ) const;

    const answer_plan& x_plan;
    std::string x_head;
};

/// The whole answer of a request that does not stream.
std::string completion_body(const answer_plan& plan);
std::string embeddings_body(const answer_plan& plan, std::int64_t inputs);

/// GET /v1/models.
std::string model_list_body(std::string_view model, std::int64_t created, tokens longest);
/// GET /stats.
std::string stats_body(const sim::engine_stats& stats, const sim::engine_settings& settings);
/// GET /metrics, in Prometheus text with vLLM's names.
std::string metrics_body(
    std::string_view model, const sim::engine_stats& stats, const sim::engine_settings& settings
);

/// {"error":{"message","type","param","code"}} with this code.
std::string error_body(
    int status, std::string_view code, std::string_view message, std::string_view param = {}
);

}  // namespace sluice::engine
