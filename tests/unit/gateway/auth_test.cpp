// Keys: how they are read, found, shown, and what their holders get.
#include "gateway/auth.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace sluice::gateway {
namespace {

// printf %s alpha | sha256sum
constexpr std::string_view alpha_hash =
    "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";

const std::map<std::string, std::string> places{
    {"ALPHA", "alpha"},
    {"file", "from-file\r\n"},
    {"empty", "\n"},
    {"spaced", "two words"},
    {"binary", std::string("a\0b", 3)},
    {"longest", std::string(max_key_bytes, 'k')},
    {"longer", std::string(max_key_bytes + 1, 'k')},
};

secret_reader reader() {
    const auto look = [](const std::string& place) -> result<std::string> {
        const auto found = places.find(place);
        if (found == places.end()) {
            return fail(errc::not_found, place + " is not there");
        }
        return found->second;
    };
    return {look, look};
}

config::auth_key hashed(std::string_view hash, std::string tenant) {
    config::auth_key key;
    key.sha256 = hash;
    key.tenant = std::move(tenant);
    return key;
}

config::auth_key filed(std::string path, std::string tenant) {
    config::auth_key key;
    key.key_file = std::move(path);
    key.tenant = std::move(tenant);
    return key;
}

key_ring ring_of(std::vector<config::auth_key> keys, bool required = false) {
    auto ring = key_ring::read({required, std::move(keys)}, reader());
    EXPECT_TRUE(ring.has_value());
    return *std::move(ring);
}

net::request_head head_with(std::vector<net::header_field> fields) {
    net::request_head head;
    head.fields = std::move(fields);
    return head;
}

std::string hex(const key_digest& digest) {
    std::string out;
    for (const unsigned char byte : digest) {
        out += "0123456789abcdef"[byte / 16];
        out += "0123456789abcdef"[byte % 16];
    }
    return out;
}

TEST(key_ring, a_digest_is_what_sha256sum_prints) {
    EXPECT_EQ(hex(digest_of("alpha")), alpha_hash);
    EXPECT_EQ(
        hex(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
}

TEST(key_ring, keys_come_as_hash_from_the_environment_and_from_a_file) {
    std::string upper(alpha_hash);
    std::ranges::transform(upper, upper.begin(), [](char c) {
        return c >= 'a' ? static_cast<char>(c - 32) : c;
    });
    for (const std::string_view hash : {alpha_hash, std::string_view(upper)}) {
        const key_ring ring = ring_of({hashed(hash, "a"), filed("file", "f")});
        ASSERT_NE(ring.find("alpha"), nullptr);
        EXPECT_EQ(ring.find("alpha")->tenant, "a");
        ASSERT_NE(ring.find("from-file"), nullptr);
        EXPECT_EQ(ring.find("from-file")->tenant, "f");
    }
    config::auth_key env;
    env.key_env = "ALPHA";
    EXPECT_NE(ring_of({env}).find("alpha"), nullptr);
    EXPECT_NE(ring_of({filed("longest", "t")}).find(places.at("longest")), nullptr);
}

TEST(key_ring, what_is_no_key_is_refused_without_being_shown) {
    for (const char* const place : {"empty", "spaced", "binary", "longer", "nowhere"}) {
        const auto ring = key_ring::read({false, {filed(place, "t")}}, reader());
        ASSERT_FALSE(ring.has_value()) << place;
        const std::string& said = ring.error().message;
        EXPECT_TRUE(said.starts_with("auth.keys[0]: ")) << said;
        EXPECT_NE(said.find(place), said.npos) << said;
        EXPECT_EQ(said.find("two words"), said.npos) << said;
        EXPECT_LT(said.size(), 200u);
    }
    const auto twice =
        key_ring::read({false, {hashed(alpha_hash, "a"), filed("ALPHA", "b")}}, reader());
    ASSERT_FALSE(twice.has_value());
    EXPECT_TRUE(twice.error().message.starts_with("auth.keys[1] is the same key as auth.keys[0]"));
}

TEST(key_ring, finds_exactly_its_own_keys) {
    random_source dice(7);
    std::vector<config::auth_key> keys;
    std::vector<std::string> texts;
    for (int i = 0; i < 100; ++i) {
        texts.push_back("key-" + std::to_string(dice.next()));
        keys.push_back(hashed(hex(digest_of(texts.back())), "t" + std::to_string(i)));
    }
    const key_ring ring = ring_of(keys);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ASSERT_NE(ring.find(texts[i]), nullptr) << i;
        EXPECT_EQ(ring.find(texts[i])->tenant, keys[i].tenant);
        EXPECT_EQ(ring.find(texts[i] + "x"), nullptr);
        EXPECT_EQ(ring.find(std::string_view(texts[i]).substr(1)), nullptr);
        EXPECT_EQ(ring.find(*keys[i].sha256), nullptr) << "a digest is no key";
    }
    EXPECT_EQ(ring.find(""), nullptr);
    EXPECT_EQ(ring.find(std::string(max_key_bytes + 1, 'x')), nullptr);
}

TEST(key_ring, who_is_asked) {
    using enum entry;
    const auto plain = head_with({{"accept", "a"}});
    const auto good = head_with({{"Authorization", "Bearer alpha"}});
    const auto bad = head_with({{"Authorization", "Bearer alphx"}});
    const auto basic = head_with({{"Authorization", "Basic YWxwaGE="}});
    const key_ring unlocked = ring_of({});
    EXPECT_TRUE(unlocked.is_open());
    for (const auto* const head : {&plain, &good, &bad, &basic}) {
        EXPECT_EQ(unlocked.check(*head).how, entry::open);
    }
    const key_ring offered = ring_of({hashed(alpha_hash, "a")});
    EXPECT_EQ(offered.check(plain).how, anonymous);
    EXPECT_EQ(offered.check(basic).how, anonymous);
    EXPECT_EQ(offered.check(good).how, known);
    EXPECT_EQ(offered.check(bad).how, wrong);
    const key_ring required = ring_of({hashed(alpha_hash, "a")}, true);
    EXPECT_EQ(required.check(plain).how, missing);
    EXPECT_EQ(required.check(basic).how, missing);
    EXPECT_EQ(required.check(good).how, known);
    EXPECT_EQ(required.check(good).who->tenant, "a");
    EXPECT_EQ(required.check(bad).how, wrong);
    EXPECT_EQ(required.check(head_with({{"authorization", "Bearer "}})).how, wrong);
    EXPECT_EQ(required.check(head_with({{"x-api-key", ""}})).how, wrong);
}

TEST(presented_key, bearer_first_then_the_plain_field) {
    EXPECT_EQ(presented_key(head_with({})), std::nullopt);
    EXPECT_EQ(presented_key(head_with({{"AUTHORIZATION", "bEARER  k"}})), "k");
    EXPECT_EQ(presented_key(head_with({{"X-Api-Key", "p"}})), "p");
    EXPECT_EQ(presented_key(head_with({{"x-api-key", "p"}, {"authorization", "Bearer k"}})), "k");
    EXPECT_EQ(presented_key(head_with({{"x-api-key", "p"}, {"authorization", "Basic k"}})), "p");
    EXPECT_EQ(presented_key(head_with({{"authorization", "Bearer"}})), std::nullopt);
    EXPECT_EQ(presented_key(head_with({{"authorization", "Bearertoken"}})), std::nullopt);
}

TEST(holder, gives_tenant_and_class_and_bounds_them) {
    using enum core::priority;
    key_holder who{.tenant = "acme", .cls = normal, .most = normal};
    const entrance by{entry::known, &who};
    const auto labels_of = [&](std::vector<net::header_field> fields) {
        auto labels = *read_labels(head_with(std::move(fields)), who.names_tenants);
        apply(by, labels);
        return labels;
    };
    EXPECT_EQ(labels_of({}).tenant, "acme");
    EXPECT_EQ(labels_of({{"x-sluice-tenant", "other"}}).tenant, "acme");
    EXPECT_EQ(labels_of({{"x-sluice-tenant", "no good\xff"}}).tenant, "acme");
    EXPECT_FALSE(labels_of({}).lowered);
    const auto high_asked = labels_of({{"x-sluice-priority", "high"}});
    EXPECT_EQ(high_asked.cls, normal);
    EXPECT_TRUE(high_asked.lowered);
    const auto low_asked = labels_of({{"x-sluice-priority", "low"}});
    EXPECT_EQ(low_asked.cls, low);
    EXPECT_FALSE(low_asked.lowered);
    auto by_body = labels_of({});
    take_body_priority(by_body, 5, config::body_priority_mode::higher_first);
    EXPECT_EQ(by_body.cls, normal);
    EXPECT_TRUE(by_body.lowered);

    who = {.tenant = "front", .cls = low, .most = high, .names_tenants = true};
    EXPECT_EQ(labels_of({{"x-sluice-tenant", "other"}}).tenant, "other");
    EXPECT_EQ(labels_of({}).tenant, "front");
    auto of_key = labels_of({});
    EXPECT_EQ(of_key.cls, low);
    take_body_priority(of_key, 0, config::body_priority_mode::higher_first);
    EXPECT_EQ(of_key.cls, low) << "a body that says nothing leaves the key's class";
    take_body_priority(of_key, 5, config::body_priority_mode::off);
    EXPECT_EQ(of_key.cls, low);
    take_body_priority(of_key, 5, config::body_priority_mode::higher_first);
    EXPECT_EQ(of_key.cls, high);
}

TEST(holder, a_client_without_a_key_does_not_name_tenants) {
    const auto labels = read_labels(head_with({{"x-sluice-tenant", "a b"}}), false);
    ASSERT_TRUE(labels.has_value());
    EXPECT_EQ(labels->tenant, "");
}

TEST(secrets, of_workers_by_their_address) {
    config::gateway_config config;
    config.pools.resize(1);
    config.pools[0].name = "p";
    auto& workers = config.pools[0].workers;
    workers.resize(3);
    workers[0].url = "http://h:1";
    workers[0].api_key_env = "ALPHA";
    workers[1].url = "http://h:2/";
    workers[1].api_key_file = "file";
    workers[2].url = "http://h:3";
    const auto read = read_secrets(config, reader());
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ((*read)->of_worker("h:1"), "Bearer alpha");
    EXPECT_EQ((*read)->of_worker("h:2"), "Bearer from-file");
    EXPECT_EQ((*read)->of_worker("h:3"), "");
    workers[2].api_key_file = "spaced";
    const auto bad = read_secrets(config, reader());
    ASSERT_FALSE(bad.has_value());
    EXPECT_TRUE(bad.error().message.starts_with("worker h:3 of pool 'p': the file spaced"));
}

}  // namespace
}  // namespace sluice::gateway
