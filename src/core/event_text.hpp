// Inputs and decisions as lines of text: the format of recordings and of the scripts under
// tests/data/core. One line an input:
//
//   <now µs> tick
//   <now µs> join <worker> epoch=1 slots=4 kv=1000 reports=0 max_token=0       (kv=unknown)
//   <now µs> report <worker> epoch=1 number=7 age=0 running=1 waiting=0 kv=1000 used=10
//            headroom=900,890,… max_token=5 listed=4,5
//   <now µs> probe|drain|lost <worker> epoch=1
//   <now µs> submit <session>/<n> class=normal tenant=a prompt=10 peak=30 predicted=20
//   wait=30000000
//            body=0 hints=w1:128,w2:64
//   <now µs> cancel <session>/<n>
//   <now µs> renew <session>/<n> token=3 ttl=30000000
//   <now µs> release <session>/<n> token=3 outcome=ok prompt=10 output=20 [report fields as r.…]
//   <now µs> requeue <session>/<n> token=3 why=refused
//   <now µs> adopt <session>/<n> … worker=w1 epoch=1 slot=0 token=3 key=7 ttl=30000000
//   <now µs> gone <session>
//
// Fields that equal their default may be left out. Names are percent-encoded (space, '%', '=', ',',
// ':', '/' and everything outside printable ASCII), so any bytes survive.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/scheduler.hpp"

namespace sluice::core {

/// An input together with the text it borrows.
struct owned_input {
    instant now;
    input what;
    std::shared_ptr<std::deque<std::string>> texts;
    std::shared_ptr<std::deque<report>> reports;
};

std::string to_line(instant now, const input& what);
/// `corrupt_input` names the field that cannot be read.
result<owned_input> parse_line(std::string_view line);
/// One line; `who` supplies worker ids.
std::string to_line(const decision& what, const scheduler& who);

std::string escape_name(std::string_view raw);
result<std::string> unescape_name(std::string_view text);

}  // namespace sluice::core
