// Changes to a request body that leave every other byte as the client sent it (B21).
//
// Called by the gateway between inspection and forwarding, on the connection's strand.
//  1. The pieces, one after the other, are the new body; bytes outside the edits are views into
//     the body, never printed again.
//  2. The views are valid as long as the body and the body_rewrite live and no edit follows.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/inspect.hpp"

namespace sluice::openai {

class body_rewrite {
public:
    /// `facts` must come from inspect(`body`).
    body_rewrite(std::string_view body, const request_facts& facts);

    body_rewrite(const body_rewrite&) = delete;
    body_rewrite& operator=(const body_rewrite&) = delete;

    /// Replaces the value of `model` by `name`, whatever bytes it has.
    void set_model(std::string_view name);

    /// Asks the engine for a usage chunk (`usage: inject`). Nothing happens, and false is
    /// returned, unless the request streams and leaves include_usage open; nor where a foreign API
    /// has something else than an object or null in stream_options.
    bool ask_for_usage();

    /// The body in order, at most five pieces; exactly one, the body itself, without an edit.
    std::span<const std::string_view> pieces();
    /// Bytes of all pieces: the new Content-Length.
    std::size_t size();
    /// All pieces in one string (tests, retries that need one buffer).
    std::string joined();

private:
    struct edit {
        std::size_t begin;
        std::size_t end;
        std::string text;
    };

    void put(edit change);

    std::string_view x_body;
    request_facts x_facts;
    std::vector<edit> x_edits;
    std::vector<std::string_view> x_pieces;
};

}  // namespace sluice::openai
