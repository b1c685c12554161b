// The door of the data port: who may go in, and what those are told who may not.
//
// A refused request costs a hash, a counter and an answer: no body is read, nothing is queued, and
// no log line is written for it alone.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "gateway/auth.hpp"
#include "gateway/hall.hpp"
#include "gateway/line_limit.hpp"
#include "gateway/routes.hpp"
#include "net/server.hpp"
#include "obs/log.hpp"
#include "obs/metrics.hpp"

namespace sluice::gateway {

/// Counts and logs those who are turned away. Any thread.
class door_watch {
public:
    door_watch(obs::metrics& in, std::shared_ptr<obs::logger> log);

    /// One line a second at most; it says how many were left out since the last one.
    void turned_away(entry how, const net::exchange& whom);

private:
    std::shared_ptr<obs::logger> x_log;
    obs::counter& x_missing;
    obs::counter& x_wrong;
    line_limit x_lines;
};

/// Looks at the key of a request. Health needs none, every other page and call does.
entrance ask_at_door(hall& in, const net::exchange& with, const route& where);

/// Tells a refused one: 401, before its body is read or asked for.
net::task<void> turn_away(hall& in, net::exchange& with, const entrance& why);

}  // namespace sluice::gateway
