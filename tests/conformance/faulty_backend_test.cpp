// The suite's own canary: a backend that breaks the contract must be caught by the ledger.
#include "conformance/backend.hpp"

namespace sluice::conformance {
namespace {

coord::outcome grant_of(std::uint64_t number, std::uint32_t slot, std::uint64_t token) {
    static const auto worker = std::make_shared<const coord::worker_info>(
        coord::worker_info{"w", "", worker_epoch{1}, 2, bytes::max(), false, {}}
    );
    coord::outcome made;
    made.ticket = {session_id{1}, number};
    made.permit = {made.ticket, worker, slot, fencing_token{token}, {}, {}, {}, {}};
    return made;
}

coord::outcome end_of(std::uint64_t number, core::decision_kind how) {
    coord::outcome made;
    made.kind = how;
    made.ticket = {session_id{1}, number};
    return made;
}

std::optional<std::string> breach_of(std::vector<coord::outcome> history) {
    ledger book;
    book.on_outcomes(history);
    return book.breach;
}

TEST(faulty_backend, an_honest_history_passes) {
    EXPECT_FALSE(breach_of(
        {grant_of(1, 0, 1),
         grant_of(2, 1, 2),
         end_of(1, core::decision_kind::released),
         grant_of(3, 0, 3)}
    ));
}

TEST(faulty_backend, one_slot_twice_is_caught) {
    EXPECT_TRUE(breach_of({grant_of(1, 0, 1), grant_of(2, 0, 2)}));
}

TEST(faulty_backend, more_than_the_slots_is_caught) {
    EXPECT_TRUE(breach_of({grant_of(1, 0, 1), grant_of(2, 1, 2), grant_of(3, 2, 3)}));
}

TEST(faulty_backend, a_token_that_does_not_rise_is_caught) {
    EXPECT_TRUE(breach_of({grant_of(1, 0, 5), grant_of(2, 1, 5)}));
}

TEST(faulty_backend, two_final_outcomes_are_caught) {
    EXPECT_TRUE(breach_of(
        {grant_of(1, 0, 1),
         end_of(1, core::decision_kind::released),
         end_of(1, core::decision_kind::lost)}
    ));
}

TEST(faulty_backend, a_grant_after_the_end_is_caught) {
    EXPECT_TRUE(breach_of({end_of(1, core::decision_kind::cancelled), grant_of(1, 0, 1)}));
}

}  // namespace
}  // namespace sluice::conformance
