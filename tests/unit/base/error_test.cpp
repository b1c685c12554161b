// Names of error codes are part of logs: they are written down here, one by one.
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace sluice {

namespace {

constexpr std::array<std::pair<errc, std::string_view>, 14> names = {{
    {errc::invalid_argument, "invalid_argument"},
    {errc::not_found, "not_found"},
    {errc::already_exists, "already_exists"},
    {errc::not_held, "not_held"},
    {errc::permit_expired, "permit_expired"},
    {errc::stale_epoch, "stale_epoch"},
    {errc::limit_exceeded, "limit_exceeded"},
    {errc::timed_out, "timed_out"},
    {errc::cancelled, "cancelled"},
    {errc::connection_failed, "connection_failed"},
    {errc::protocol_error, "protocol_error"},
    {errc::unavailable, "unavailable"},
    {errc::corrupt_input, "corrupt_input"},
    {errc::system_error, "system_error"},
}};

TEST(error, names_are_stable) {
    for (std::size_t at = 0; at < names.size(); ++at) {
        EXPECT_EQ(static_cast<std::size_t>(names[at].first), at) << "append only";
        EXPECT_EQ(to_string(names[at].first), names[at].second);
    }
    EXPECT_EQ(to_string(static_cast<errc>(names.size())), "unknown");
}

TEST(error, only_what_may_pass_by_itself_is_retried) {
    for (const auto& [code, name] : names) {
        const bool away = code == errc::connection_failed || code == errc::unavailable;
        EXPECT_EQ(is_unavailable(code), away) << name;
        EXPECT_EQ(is_retryable(code), away || code == errc::timed_out) << name;
    }
}

TEST(error, a_failure_carries_its_sentence) {
    const result<int> failed = fail(errc::not_found, "pool 'x' is not configured");
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error(), (error{errc::not_found, "pool 'x' is not configured"}));
    EXPECT_EQ(result<int>(3).value(), 3);
}

}  // namespace

}  // namespace sluice
