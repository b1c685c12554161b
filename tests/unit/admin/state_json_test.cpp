#include "admin/state_json.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "admin/live_page.hpp"

namespace sluice::admin {
namespace {

namespace json = boost::json;

pool_look look() {
    pool_look made;
    made.name = "p\xff\"<script>";
    made.models = {"m", "alias"};
    made.backend = "embedded";
    made.holder = "ab";
    core::worker_snapshot known;
    known.id = "127.0.0.1:8001";
    known.number = core::worker_number{0};
    known.epoch = worker_epoch{17};
    known.slots = 8;
    known.in_use = 3;
    known.kv_capacity = bytes(1000);
    known.kv_reserved = bytes(400);
    known.kv_headroom = bytes(600);
    core::worker_snapshot unknown;
    unknown.id = "127.0.0.1:8002";
    unknown.number = core::worker_number{1};
    unknown.slots = 4;
    unknown.kv_capacity = bytes::max();
    unknown.state = core::worker_state::suspect;
    made.now.workers = {known, unknown};
    made.notes["127.0.0.1:8001"] = {.model = "m", .probe = "vllm"};
    made.now.waiting = {1, 2, 3};
    made.now.oldest_wait = std::chrono::milliseconds(1500);
    made.now.grants_per_1000_s = 12'345;
    core::permit_snapshot permit;
    permit.ticket = {session_id{0xab}, 7};
    permit.worker = core::worker_number{0};
    permit.token = fencing_token{99};
    permit.tenant = "acme";
    permit.cls = core::priority::high;
    permit.peak_kv = bytes(48);
    permit.age = std::chrono::milliseconds(20);
    permit.expires_in = std::chrono::seconds(30);
    made.now.permits = {permit};
    core::ticket_snapshot ticket;
    ticket.ticket = {session_id{0xab}, 8};
    ticket.cls = core::priority::low;
    ticket.position = 1;
    ticket.waited = std::chrono::milliseconds(300);
    made.now.queue = {ticket};
    return made;
}

json::array parse(const std::string& text) {
    json::error_code failed;
    const json::value value = json::parse(text, failed);
    EXPECT_FALSE(failed) << text;
    return value.is_array() ? value.as_array() : json::array();
}

TEST(state_json, pools) {
    const pool_look one = look();
    const json::array rows = parse(pools_json({&one, 1}));
    ASSERT_EQ(rows.size(), 1u);
    const json::object& row = rows[0].as_object();
    EXPECT_EQ(row.at("name").as_string(), "p\xEF\xBF\xBD\"<script>");
    EXPECT_EQ(row.at("models").as_array().size(), 2u);
    EXPECT_EQ(row.at("workers").as_int64(), 2);
    EXPECT_EQ(row.at("slots").as_int64(), 12);
    EXPECT_EQ(row.at("in_use").as_int64(), 3);
    EXPECT_EQ(row.at("waiting").as_object().at("high").as_int64(), 1);
    EXPECT_EQ(row.at("waiting").as_object().at("low").as_int64(), 3);
    EXPECT_EQ(row.at("kv_capacity").as_int64(), 1000) << "only what is known";
    EXPECT_EQ(row.at("kv_reserved").as_int64(), 400);
    EXPECT_EQ(row.at("kv_headroom").as_int64(), 600);
    EXPECT_DOUBLE_EQ(row.at("grants_per_s").as_double(), 12.345);
    EXPECT_EQ(row.at("oldest_wait_ms").as_int64(), 1500);
    EXPECT_EQ(row.at("backend").as_string(), "embedded");
    EXPECT_TRUE(row.at("dispatcher").is_null());
}

TEST(state_json, workers_say_null_for_what_is_unknown) {
    const pool_look one = look();
    const json::array rows = parse(workers_json({&one, 1}));
    ASSERT_EQ(rows.size(), 2u);
    const json::object& known = rows[0].as_object();
    EXPECT_EQ(known.at("id").as_string(), "127.0.0.1:8001");
    EXPECT_EQ(known.at("epoch").as_int64(), 17);
    EXPECT_EQ(known.at("state").as_string(), "ready");
    EXPECT_EQ(known.at("model").as_string(), "m");
    EXPECT_EQ(known.at("probe").as_string(), "vllm");
    EXPECT_EQ(known.at("kv_headroom").as_int64(), 600);
    for (const char* key :
         {"gpu_memory_total", "gpu_memory_free", "report_age_ms", "kv_used", "running", "waiting"
         }) {
        EXPECT_TRUE(known.at(key).is_null()) << key;
    }
    const json::object& unknown = rows[1].as_object();
    EXPECT_EQ(unknown.at("state").as_string(), "suspect");
    EXPECT_TRUE(unknown.at("kv_capacity").is_null());
    EXPECT_TRUE(unknown.at("kv_headroom").is_null());
    EXPECT_TRUE(unknown.at("model").is_null());
}

TEST(state_json, workers_with_reports_say_what_they_reported) {
    pool_look one = look();
    one.now.workers[0].reports = true;
    one.now.workers[0].running = 2;
    one.now.workers[0].report_age = std::chrono::milliseconds(40);
    const json::array rows = parse(workers_json({&one, 1}));
    EXPECT_EQ(rows[0].as_object().at("running").as_int64(), 2);
    EXPECT_EQ(rows[0].as_object().at("report_age_ms").as_int64(), 40);
}

TEST(state_json, permits_and_queue) {
    const pool_look one = look();
    const json::array permits = parse(permits_json({&one, 1}));
    ASSERT_EQ(permits.size(), 1u);
    const json::object& permit = permits[0].as_object();
    EXPECT_EQ(permit.at("id").as_string(), "ab-7");
    EXPECT_EQ(permit.at("worker").as_string(), "127.0.0.1:8001");
    EXPECT_EQ(permit.at("fencing").as_int64(), 99);
    EXPECT_EQ(permit.at("holder").as_string(), "ab");
    EXPECT_EQ(permit.at("tenant").as_string(), "acme");
    EXPECT_EQ(permit.at("class").as_string(), "high");
    EXPECT_EQ(permit.at("kv_bytes").as_int64(), 48);
    EXPECT_EQ(permit.at("age_ms").as_int64(), 20);
    EXPECT_EQ(permit.at("expires_ms").as_int64(), 30'000);
    const json::array queue = parse(queue_json({&one, 1}));
    ASSERT_EQ(queue.size(), 1u);
    const json::object& ticket = queue[0].as_object();
    EXPECT_EQ(ticket.at("id").as_string(), "ab-8");
    EXPECT_EQ(ticket.at("class").as_string(), "low");
    EXPECT_EQ(ticket.at("position").as_int64(), 1);
    EXPECT_EQ(ticket.at("waited_ms").as_int64(), 300);
    EXPECT_TRUE(ticket.contains("eta_ms"));
}

TEST(state_json, nothing_is_an_empty_list) {
    for (const auto print : {pools_json, workers_json, permits_json, queue_json}) {
        EXPECT_EQ(print({}), "[]");
    }
    EXPECT_EQ(push_json({}), R"({"pools":[],"workers":[],"queue":[]})");
}

TEST(live_page, every_element_of_it_carries_the_nonce_and_nothing_is_loaded) {
    const std::string page = live_page("abc");
    EXPECT_EQ(page.find("@NONCE@"), page.npos);
    EXPECT_NE(page.find("<style nonce=\"abc\">"), page.npos);
    EXPECT_NE(page.find("<script nonce=\"abc\">"), page.npos);
    EXPECT_EQ(page.find("http://"), page.npos);
    EXPECT_EQ(page.find("https://"), page.npos);
    EXPECT_EQ(page.find("innerHTML"), page.npos) << "names are text";
    EXPECT_NE(live_page_policy("abc").find("default-src 'none'"), std::string::npos);
    EXPECT_NE(live_page_policy("abc").find("script-src 'nonce-abc'"), std::string::npos);
}

}  // namespace
}  // namespace sluice::admin
