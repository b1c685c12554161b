// The live page: one document, nothing loaded from elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace sluice::admin {

/// `nonce` is what its style and script elements carry, and what the policy allows.
std::string live_page(std::string_view nonce);
/// The Content-Security-Policy that goes with it.
std::string live_page_policy(std::string_view nonce);

}  // namespace sluice::admin
