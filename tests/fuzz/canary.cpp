// A planted fault: a read one byte beyond the input, behind a keyword and a number. It has to be
// found within the time that every target gets; otherwise the set-up finds nothing anywhere.
#include "fuzz/fuzz.hpp"

namespace {

constexpr std::string_view keyword = "canary=";

/// The digits behind the keyword. Trusts, as it must not, that something ends them.
int planted(std::string_view text) {
    if (!text.starts_with(keyword)) {
        return 0;
    }
    int value = 0;
    const char* at = text.data() + keyword.size();
    while (*at >= '0' && *at <= '9') {
        value = (value * 10 + (*at - '0')) % 1000;
        ++at;
    }
    return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const sluice::fuzz::exact_text text(sluice::fuzz::text_of(data, size));
    return planted(text.view()) < 0 ? -1 : 0;
}
