#include "gateway/door.hpp"

#include "gateway/reply.hpp"

namespace sluice::gateway {

namespace {

constexpr std::string_view failures = "sluice_auth_failures_total";
constexpr std::string_view failures_help = "Requests that were refused for want of a known key.";

bool is_public(route_kind kind) {
    return kind == route_kind::alive || kind == route_kind::ready;
}

}  // namespace

door_watch::door_watch(obs::metrics& in, std::shared_ptr<obs::logger> log)
    : x_log(std::move(log)),
      x_missing(in.make_counter(failures, failures_help, {{"cause", "missing"}})),
      x_wrong(in.make_counter(failures, failures_help, {{"cause", "wrong"}})) {}

void door_watch::turned_away(entry how, const net::exchange& whom) {
    (how == entry::missing ? x_missing : x_wrong).add();
    if (!x_log->wants(obs::level::warn)) {
        return;
    }
    const auto left_out = x_lines.next();
    if (!left_out) {
        return;
    }
    x_log->write(obs::log_line(obs::level::warn, "unauthorized")
                     .text("cause", how == entry::missing ? "missing" : "wrong")
                     .text("peer", whom.peer_address())
                     .number("left_out", *left_out));
}

entrance ask_at_door(hall& in, const net::exchange& with, const route& where) {
    const key_ring& keys = in.thread(with.thread_index()).known->keys;
    if (keys.is_open() || is_public(where.kind)) {
        return {};
    }
    return keys.check(with.request());
}

net::task<void> turn_away(hall& in, net::exchange& with, const entrance& why) {
    in.turned_away->turned_away(why.how, with);
    in.stray.count(openai::reason::unauthorized);
    request_record record;
    record.id = request_id_for(in, with);
    const bool missing = why.how == entry::missing;
    co_await answer_failure(
        with,
        in,
        record,
        {.why = openai::reason::unauthorized,
         .message = missing ? "an API key is needed; send it as 'Authorization: Bearer KEY'"
                            : "the API key is not known here; check it, or ask for a new one",
         .details = missing ? R"({"cause":"missing_api_key"})" : R"({"cause":"invalid_api_key"})"}
    );
}

}  // namespace sluice::gateway
