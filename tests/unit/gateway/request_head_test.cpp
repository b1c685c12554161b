// What is read from a request's head, what goes on to the worker, and which answer a path means.
#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/forward_fields.hpp"
#include "gateway/request_labels.hpp"
#include "gateway/routes.hpp"

namespace sluice::gateway {
namespace {

net::request_head with(std::vector<net::header_field> fields) {
    net::request_head head;
    head.method = "POST";
    head.target = "/v1/chat/completions";
    head.fields = std::move(fields);
    return head;
}

TEST(request_labels, priority_is_a_name_in_any_case) {
    EXPECT_EQ(read_labels(with({}))->cls, core::priority::normal);
    EXPECT_FALSE(read_labels(with({}))->class_given);
    const auto high = read_labels(with({{"X-Sluice-Priority", "HIGH"}}));
    EXPECT_EQ(high->cls, core::priority::high);
    EXPECT_TRUE(high->class_given);
    for (const std::string_view value : {"", "urgent", "1", "high ", "\x80\xff"}) {
        const auto bad = read_labels(with({{"x-sluice-priority", value}}));
        ASSERT_FALSE(bad.has_value()) << value;
        EXPECT_EQ(bad.error().param, "x-sluice-priority");
    }
}

TEST(request_labels, patience_is_bounded) {
    EXPECT_EQ(read_labels(with({}))->patience, std::nullopt);
    EXPECT_EQ(
        read_labels(with({{"x-sluice-timeout-ms", "1500"}}))->patience,
        duration(std::chrono::milliseconds(1500))
    );
    EXPECT_EQ(
        read_labels(with({{"x-sluice-timeout-ms", "9223372036854775807"}}))->patience, max_patience
    );
    for (const std::string_view value : {"0", "-1", "", "1s", "1.5", " 1", "9223372036854775808"}) {
        EXPECT_FALSE(read_labels(with({{"x-sluice-timeout-ms", value}})).has_value()) << value;
    }
}

TEST(request_labels, tenants_are_short_and_visible) {
    EXPECT_EQ(read_labels(with({{"x-sluice-tenant", "acme"}}))->tenant, "acme");
    EXPECT_FALSE(read_labels(with({{"x-sluice-tenant", "a b"}})).has_value());
    EXPECT_FALSE(read_labels(with({{"x-sluice-tenant", "\xff"}})).has_value());
    const std::string longest(max_tenant, 'x');
    EXPECT_TRUE(read_labels(with({{"x-sluice-tenant", longest}})).has_value());
    const std::string longer(max_tenant + 1, 'x');
    EXPECT_FALSE(read_labels(with({{"x-sluice-tenant", longer}})).has_value());
}

TEST(request_labels, unusable_request_ids_are_not_kept) {
    EXPECT_EQ(usable_request_id(with({{"X-Request-Id", "mine-7"}})), "mine-7");
    const std::string long_id(max_request_id + 1, 'x');
    for (const std::string_view value :
         {std::string_view(""),
          std::string_view("a b"),
          std::string_view("\x80"),
          std::string_view(long_id)}) {
        EXPECT_EQ(usable_request_id(with({{"x-request-id", value}})), std::nullopt) << value;
    }
    EXPECT_EQ(make_request_id(0x0123456789abcdef, 0xf), "0123456789abcdef000000000000000f");
}

TEST(request_labels, body_priority_follows_its_mode) {
    using enum config::body_priority_mode;
    EXPECT_EQ(class_of(5, off), core::priority::normal);
    EXPECT_EQ(class_of(5, higher_first), core::priority::high);
    EXPECT_EQ(class_of(-5, higher_first), core::priority::low);
    EXPECT_EQ(class_of(0, higher_first), core::priority::normal);
    EXPECT_EQ(class_of(5, lower_first), core::priority::low);
    EXPECT_EQ(class_of(-5, lower_first), core::priority::high);
}

TEST(request_labels, traceparents_are_checked) {
    const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    EXPECT_TRUE(is_traceparent(good));
    EXPECT_TRUE(is_traceparent("cc" + good.substr(2) + "-what-comes-later"));
    EXPECT_FALSE(is_traceparent(good + "-x")) << "version 00 has no more";
    EXPECT_FALSE(is_traceparent("ff" + good.substr(2)));
    EXPECT_FALSE(is_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
    EXPECT_FALSE(is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
    EXPECT_FALSE(is_traceparent("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    EXPECT_FALSE(is_traceparent(good.substr(1)));
    EXPECT_FALSE(is_traceparent(""));
}

coord::permit some_permit() {
    coord::permit permit;
    auto worker = std::make_shared<coord::worker_info>();
    worker->id = "gpu-0:8000";
    worker->epoch = worker_epoch{17};
    permit.worker = worker;
    permit.ticket = {session_id{0xab}, 42};
    permit.slot = 3;
    permit.token = fencing_token{99};
    permit.peak_kv = bytes(4096);
    return permit;
}

/// What goes on, with the permit's text as "permit".
std::string forwarded(std::vector<net::header_field> fields, forwarded_key key = {}) {
    const net::request_head head = with(std::move(fields));
    field_list out;
    forward_fields(head, "id-1", some_permit(), tokens(512), key, out);
    std::string all;
    for (const net::header_field& one : out.fields()) {
        const bool ours = one.name == "x-sluice-permit" && one.value.starts_with("id=ab-42;");
        all += std::string(one.name) + "=" + (ours ? "permit" : std::string(one.value)) + ";";
    }
    return all;
}

TEST(forward_fields, own_and_hop_fields_stay_behind) {
    const std::string ours = "x-request-id=id-1;x-sluice-permit=permit;";
    EXPECT_EQ(forwarded({}), ours);
    EXPECT_EQ(
        forwarded(
            {{"Host", "h"},
             {"Content-Length", "3"},
             {"Transfer-Encoding", "chunked"},
             {"TE", "x"},
             {"Expect", "100-continue"},
             {"Accept-Encoding", "gzip"},
             {"X-Request-Id", "a"},
             {"X-Sluice-Permit", "forged"},
             {"x-sluice-tenant", "t"},
             {"Keep-Alive", "5"}}
        ),
        ours
    );
    EXPECT_EQ(
        forwarded({{"Accept", "a"}, {"authorization", "Bearer k"}, {"x-public", "2"}}),
        "Accept=a;authorization=Bearer k;x-public=2;" + ours
    );
}

TEST(forward_fields, a_key_that_opened_the_door_stays_behind) {
    const std::string ours = "x-request-id=id-1;x-sluice-permit=permit;";
    const std::vector<net::header_field> shown{
        {"Authorization", "Bearer client"}, {"X-API-Key", "client"}, {"Accept", "a"}
    };
    EXPECT_EQ(forwarded(shown, {.drop = true}), "Accept=a;" + ours);
    EXPECT_EQ(
        forwarded(shown, {.own = "Bearer worker"}), "Accept=a;authorization=Bearer worker;" + ours
    );
    EXPECT_EQ(
        forwarded({}, {.drop = true, .own = "Bearer worker"}), "authorization=Bearer worker;" + ours
    );
}

TEST(forward_fields, what_connection_names_stays_behind) {
    EXPECT_EQ(
        forwarded(
            {{"Connection", "keep-alive , X-Private,x-other"},
             {"x-private", "1"},
             {"X-Other", "2"},
             {"x-third", "3"}}
        ),
        "x-third=3;x-request-id=id-1;x-sluice-permit=permit;"
    );
}

TEST(forward_fields, a_broken_traceparent_stays_behind) {
    const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    EXPECT_TRUE(forwarded({{"traceparent", good}}).starts_with("traceparent=" + good));
    EXPECT_TRUE(forwarded({{"traceparent", "00-1-2-3"}}).starts_with("x-request-id"));
}

TEST(forward_fields, the_permit_is_spelled_as_agents_read_it) {
    field_list out;
    forward_fields(with({}), "id-1", some_permit(), tokens(512), {}, out);
    ASSERT_EQ(out.fields().back().name, "x-sluice-permit");
    EXPECT_EQ(
        out.fields().back().value,
        "id=ab-42;worker=gpu-0:8000;epoch=17;slot=3;fencing=99;kv=4096;predict=512"
    );
}

TEST(routes, paths_and_methods) {
    using enum route_kind;
    EXPECT_EQ(route_of("POST", "/v1/chat/completions").kind, call);
    EXPECT_EQ(route_of("POST", "/v1/chat/completions").endpoint, openai::endpoint_kind::chat);
    EXPECT_EQ(route_of("POST", "/v1/rerank?x=1").kind, call);
    EXPECT_EQ(route_of("POST", "/v1/rerank").endpoint, openai::endpoint_kind::other);
    EXPECT_EQ(route_of("GET", "/v1/chat/completions").kind, wrong_method);
    EXPECT_EQ(route_of("GET", "/v1/chat/completions").allow, "POST");
    EXPECT_EQ(route_of("GET", "/v1/models").kind, models);
    EXPECT_EQ(route_of("GET", "/v1/models/").kind, models);
    EXPECT_EQ(route_of("GET", "/v1/models/a/b").rest, "a/b");
    EXPECT_EQ(route_of("POST", "/v1/models").kind, wrong_method);
    EXPECT_EQ(route_of("HEAD", "/health").kind, alive);
    EXPECT_EQ(route_of("GET", "/readyz?verbose").kind, ready);
    EXPECT_EQ(route_of("DELETE", "/metrics").kind, wrong_method);
    for (const std::string_view path :
         {"/", "", "/v1", "/v1/", "/v2/chat/completions", "/metrics/x", "/healthy", "*"}) {
        EXPECT_EQ(route_of("POST", path).kind, not_found) << path;
    }
}

TEST(field_list, views_survive_growth) {
    field_list list;
    for (int i = 0; i < 200; ++i) {
        list.add("n", std::int64_t{i});
        list.copy("copied-" + std::to_string(i), std::string(100, 'x'));
    }
    list.add_real("r", 1.25);
    const auto fields = list.fields();
    ASSERT_EQ(fields.size(), 401u);
    for (std::size_t i = 0; i < 200; ++i) {
        EXPECT_EQ(fields[2 * i].value, std::to_string(i));
        EXPECT_EQ(fields[2 * i + 1].name, "copied-" + std::to_string(i));
    }
    EXPECT_EQ(fields.back().value, "1.250");
    list.clear();
    EXPECT_TRUE(list.fields().empty());
}

}  // namespace
}  // namespace sluice::gateway
