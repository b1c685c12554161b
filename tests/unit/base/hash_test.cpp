// Fingerprints are compared between machines and builds: their values are written down here.
#include "base/hash.hpp"

#include <gtest/gtest.h>

#include "base/ids.hpp"

namespace sluice {

namespace {

TEST(stable_hash, values_never_change) {
    EXPECT_EQ(stable_hash().value(), 0x511ce00000000001U);
    EXPECT_EQ(stable_hash().add(std::uint64_t{0}).value(), 0xe7a3f288c5568600U);
    EXPECT_EQ(
        stable_hash().add(std::uint64_t{1}).add(std::uint64_t{2}).value(), 0x7d6bf09e708b56e3U
    );
    EXPECT_EQ(
        stable_hash().add(std::uint64_t{2}).add(std::uint64_t{1}).value(), 0x9971bf85eb50eb36U
    );
    EXPECT_EQ(stable_hash().add(std::int64_t{-1}).value(), 0xe6f5a260d0a7dd21U);
    EXPECT_EQ(stable_hash().add(std::string_view()).value(), 0x299977824fb06788U);
    EXPECT_EQ(stable_hash().add(std::string_view("sluice")).value(), 0x8a5a59d706c403b4U);
}

TEST(stable_hash, texts_cannot_be_shifted_into_each_other) {
    const auto of = [](std::string_view a, std::string_view b) {
        return stable_hash().add(a).add(b).value();
    };
    EXPECT_NE(of("ab", "c"), of("a", "bc"));
    EXPECT_NE(of("", "a"), of("a", ""));
}

TEST(ticket_id, hash_and_order) {
    const ticket_id id{session_id{1}, 2};
    EXPECT_EQ(ticket_id_hash()(id), 0x5ffdcff4b89da876U);
    EXPECT_EQ(ticket_id_hash()({session_id{2}, 1}), 0x87f3c9ab8254e228U);
    EXPECT_LT(id, (ticket_id{session_id{1}, 3}));
    EXPECT_LT(id, (ticket_id{session_id{2}, 0}));
}

}  // namespace

}  // namespace sluice
