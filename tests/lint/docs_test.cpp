// Lists in the documentation that repeat lists in the code are compared with them.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "openai/errors.hpp"

namespace {

TEST(Docs, EveryReasonIsListedWithItsStatus) {
    std::ifstream file(SLUICE_DOCS "/reasons.md");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::size_t rows = 0;
    for (std::size_t at = text.find("\n| `"); at != std::string::npos;
         at = text.find("\n| `", at + 1)) {
        ++rows;
    }
    EXPECT_EQ(sluice::openai::all_reasons().size(), rows);
    for (const auto why : sluice::openai::all_reasons()) {
        const std::string row = "| `" + std::string(sluice::openai::to_string(why)) + "` | " +
                                std::to_string(sluice::openai::default_status(why)) + " |";
        EXPECT_NE(std::string::npos, text.find(row)) << "docs/reasons.md has no row " << row;
    }
}

}  // namespace
