#include "gateway/relay_fsm.hpp"

#include <gtest/gtest.h>

namespace sluice::gateway {
namespace {

using openai::reason;
using enum relay_action;
using release = core::release_outcome;

relay_fsm events(int status = 200) {
    relay_fsm fsm(100);
    fsm.head(status, body_kind::events);
    return fsm;
}

relay_fsm document(int status = 200) {
    relay_fsm fsm(100);
    fsm.head(status, body_kind::whole);
    return fsm;
}

relay_fsm begun() {
    relay_fsm fsm = events();
    EXPECT_EQ(fsm.body({.held = 10, .token = true}).action, start);
    return fsm;
}

TEST(relay_fsm, nothing_is_sent_before_the_first_token) {
    relay_fsm fsm = events();
    EXPECT_EQ(fsm.body({.held = 5, .token = false}).action, hold);
    EXPECT_EQ(fsm.body({.held = 9, .token = false}).action, hold);
    EXPECT_FALSE(fsm.started());
    EXPECT_EQ(fsm.body({.held = 20, .token = true}).action, start);
    EXPECT_TRUE(fsm.started());
    EXPECT_EQ(fsm.body({.held = 5, .token = true}).action, pass);
    EXPECT_EQ(fsm.end(ending::good), (relay_step{finish, reason::ok, release::ok, 0}));
}

TEST(relay_fsm, comments_beyond_the_limit_are_sent_as_they_come) {
    relay_fsm fsm = events();
    EXPECT_EQ(fsm.body({.held = 100, .token = false}).action, hold);
    EXPECT_EQ(fsm.body({.held = 101, .token = false}).action, start);
}

TEST(relay_fsm, b10a_an_empty_stream_is_a_502) {
    EXPECT_EQ(
        events().end(ending::unfinished),
        (relay_step{answer_error, reason::worker_failed, release::failed, 0})
    );
    relay_fsm comments = events();
    comments.body({.held = 5, .token = false});
    EXPECT_EQ(comments.end(ending::unfinished).action, answer_error);
}

TEST(relay_fsm, b10bd_a_stream_without_its_end_gets_an_error_event) {
    const relay_step failed{error_event, reason::worker_failed, release::failed, 0};
    EXPECT_EQ(begun().end(ending::unfinished), failed);
    EXPECT_EQ(begun().broken(), failed);
}

TEST(relay_fsm, b10e_an_error_as_the_first_event_keeps_its_status) {
    relay_fsm named = events();
    EXPECT_EQ(
        named.body({.held = 5, .token = true, .failed_first = true, .failure_status = 400}),
        (relay_step{answer_event, reason::upstream_error, release::ok, 400})
    );
    relay_fsm nameless = events();
    EXPECT_EQ(
        nameless.body({.held = 5, .token = true, .failed_first = true, .failure_status = 0}),
        (relay_step{answer_event, reason::upstream_error, release::failed, 502})
    );
}

TEST(relay_fsm, a_workers_own_error_event_is_not_followed_by_a_second_one) {
    EXPECT_EQ(
        begun().end(ending::failed),
        (relay_step{finish, reason::upstream_error, release::failed, 0})
    );
}

TEST(relay_fsm, documents_are_held_until_they_are_whole) {
    relay_fsm fsm = document();
    EXPECT_EQ(fsm.body({.held = 60, .token = true}).action, hold);
    EXPECT_EQ(fsm.end(ending::good), (relay_step{answer_whole, reason::ok, release::ok, 200}));
}

TEST(relay_fsm, large_documents_are_sent_as_they_come_and_cut_when_they_break) {
    relay_fsm fsm = document();
    EXPECT_EQ(fsm.body({.held = 101, .token = true}).action, start);
    EXPECT_EQ(fsm.body({.held = 50, .token = true}).action, pass);
    relay_fsm broken = fsm;
    EXPECT_EQ(broken.broken(), (relay_step{cut, reason::worker_failed, release::failed, 0}));
    EXPECT_EQ(fsm.end(ending::good), (relay_step{finish, reason::ok, release::ok, 0}));
}

TEST(relay_fsm, a_document_that_breaks_off_early_is_a_502) {
    relay_fsm fsm = document();
    fsm.body({.held = 60, .token = true});
    EXPECT_EQ(fsm.broken().action, answer_error);
}

TEST(relay_fsm, worker_errors_pass_with_their_status) {
    EXPECT_EQ(
        document(400).end(ending::failed),
        (relay_step{answer_whole, reason::upstream_error, release::ok, 400})
    );
    EXPECT_EQ(
        document(503).end(ending::good),
        (relay_step{answer_whole, reason::upstream_error, release::failed, 503})
    );
    // An event stream with an error status is no event stream.
    EXPECT_EQ(events(500).end(ending::unfinished).action, answer_whole);
}

TEST(relay_fsm, b40_an_unreadable_error_becomes_one_of_ours) {
    EXPECT_EQ(
        document(500).end(ending::good, false),
        (relay_step{answer_error, reason::upstream_error, release::failed, 0})
    );
    EXPECT_EQ(document(200).end(ending::good, false).action, answer_whole) << "not ours to judge";
}

TEST(relay_fsm, only_the_workers_silence_is_held_against_it) {
    EXPECT_EQ(
        events().aborted(reason::first_token_timeout),
        (relay_step{answer_error, reason::first_token_timeout, release::hung, 0})
    );
    EXPECT_EQ(
        begun().aborted(reason::idle_timeout),
        (relay_step{error_event, reason::idle_timeout, release::hung, 0})
    );
    EXPECT_EQ(begun().aborted(reason::total_timeout).release, release::aborted);
    EXPECT_EQ(begun().aborted(reason::draining).release, release::aborted);
    EXPECT_EQ(begun().aborted(reason::permit_expired).action, error_event);
}

TEST(relay_fsm, a_client_that_left_is_told_nothing_at_any_step) {
    const relay_step gone{leave, reason::client_gone, release::aborted, 0};
    EXPECT_EQ(relay_fsm().client_gone(), gone);
    EXPECT_EQ(events().client_gone(), gone);
    EXPECT_EQ(begun().client_gone(), gone);
    EXPECT_EQ(document(500).client_gone(), gone);
}

TEST(relay_fsm, before_a_head_every_failure_has_a_status) {
    EXPECT_EQ(relay_fsm().broken().action, answer_error);
    EXPECT_EQ(relay_fsm().aborted(reason::first_token_timeout).action, answer_error);
}

}  // namespace
}  // namespace sluice::gateway
