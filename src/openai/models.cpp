#include "openai/models.hpp"

#include "base/json_text.hpp"

namespace sluice::openai {

std::string model_body(const model_entry& model) {
    std::string out = R"({"id":)";
    append_json_text(out, model.id);
    out += R"(,"object":"model","created":)" + std::to_string(model.created);
    out += R"(,"owned_by":)";
    append_json_text(out, model.owned_by);
    out += '}';
    return out;
}

std::string models_body(std::span<const model_entry> models) {
    std::string out = R"({"object":"list","data":[)";
    for (const model_entry& model : models) {
        if (&model != models.data()) {
            out += ',';
        }
        out += model_body(model);
    }
    out += "]}";
    return out;
}

}  // namespace sluice::openai
