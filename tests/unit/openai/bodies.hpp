// Shared by the tests of the room: a body in memory that ends where it ends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "openai/inspect.hpp"

namespace sluice::openai {

/// A copy of exactly the bytes, so that the address sanitizer sees a read past the end.
class exact_copy {
public:
    explicit exact_copy(std::string_view text)
        : x_bytes(std::make_unique<char[]>(text.size())), x_size(text.size()) {
        text.copy(x_bytes.get(), text.size());
    }
    std::string_view view() const { return {x_bytes.get(), x_size}; }

private:
    std::unique_ptr<char[]> x_bytes;
    std::size_t x_size;
};

inline std::expected<request_facts, bad_request> inspect_exact(
    endpoint_kind kind, std::string_view body, const inspect_options& options = {}
) {
    const exact_copy copy(body);
    return inspect(kind, copy.view(), options);
}

inline std::string chat_with(std::string_view members) {
    return R"({"model":"m",)" + std::string(members) +
           R"(,"messages":[{"role":"user","content":"hi"}]})";
}

inline request_facts facts_of(endpoint_kind kind, std::string_view body) {
    const auto facts = inspect_exact(kind, body);
    EXPECT_TRUE(facts.has_value()) << body.substr(0, 300) << "\n"
                                   << (facts ? "" : facts.error().message);
    return facts.value_or(request_facts{});
}

inline std::string param_of(endpoint_kind kind, std::string_view body) {
    const auto facts = inspect_exact(kind, body);
    EXPECT_FALSE(facts.has_value()) << body;
    return facts ? "accepted" : facts.error().param;
}

}  // namespace sluice::openai
