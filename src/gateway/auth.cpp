#include "gateway/auth.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/assert.hpp"
#include "net/client.hpp"

namespace sluice::gateway {

namespace {

constexpr std::string_view bearer = "bearer ";

core::priority class_from(config::request_class cls) {
    switch (cls) {
        case config::request_class::high:
            return core::priority::high;
        case config::request_class::normal:
            return core::priority::normal;
        case config::request_class::low:
            break;
    }
    return core::priority::low;
}

unsigned char digit_of(char c) {
    const int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    return static_cast<unsigned char>(value);
}

/// `text` has 64 hexadecimal digits: the configuration's reader has seen to it.
key_digest digest_from_hex(std::string_view text) {
    key_digest digest{};
    SLUICE_ASSERT(text.size() == 2 * digest.size());
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] =
            static_cast<unsigned char>(digit_of(text[2 * i]) * 16 + digit_of(text[2 * i + 1]));
    }
    return digest;
}

/// Reads a secret and checks that a header can carry it. Editors end files with a line end.
result<std::string> read_secret(
    const std::optional<std::string>& variable,
    const std::optional<std::string>& path,
    const secret_reader& reader
) {
    auto text = variable ? reader.from_env(*variable) : reader.from_file(*path);
    if (!text) {
        return text;
    }
    while (text->ends_with('\n') || text->ends_with('\r')) {
        text->pop_back();
    }
    const bool usable = !text->empty() && text->size() <= max_key_bytes &&
                        std::ranges::all_of(*text, [](char c) { return c > 0x20 && c < 0x7F; });
    if (!usable) {
        return fail(
            errc::invalid_argument,
            fmt::format(
                "the {} {} holds no key; expected 1 to {} visible ASCII characters in one line",
                variable ? "environment variable" : "file",
                variable ? *variable : *path,
                max_key_bytes
            )
        );
    }
    return text;
}

result<key_digest> read_digest(const config::auth_key& from, const secret_reader& reader) {
    if (from.sha256) {
        return digest_from_hex(*from.sha256);
    }
    auto text = read_secret(from.key_env, from.key_file, reader);
    if (!text) {
        return std::unexpected(std::move(text.error()));
    }
    const key_digest digest = digest_of(*text);
    OPENSSL_cleanse(text->data(), text->size());
    return digest;
}

}  // namespace

key_digest digest_of(std::string_view text) {
    // Fetched once: looking an algorithm up by name costs more than a short hash.
    static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    SLUICE_ASSERT(sha256 != nullptr);
    key_digest digest{};
    const int done = EVP_Digest(text.data(), text.size(), digest.data(), nullptr, sha256, nullptr);
    SLUICE_ASSERT(done == 1);
    return digest;
}

result<key_ring> key_ring::read(const config::auth_options& from, const secret_reader& reader) {
    key_ring ring;
    ring.x_required = from.required;
    for (const config::auth_key& one : from.keys) {
        const std::size_t index = ring.x_digests.size();
        auto digest = read_digest(one, reader);
        if (!digest) {
            return fail(
                digest.error().code, fmt::format("auth.keys[{}]: {}", index, digest.error().message)
            );
        }
        const auto same = std::ranges::find(ring.x_digests, *digest);
        if (same != ring.x_digests.end()) {
            return fail(
                errc::already_exists,
                fmt::format(
                    "auth.keys[{}] is the same key as auth.keys[{}]; a key has one holder",
                    index,
                    same - ring.x_digests.begin()
                )
            );
        }
        ring.x_digests.push_back(*digest);
        ring.x_holders.push_back(
            {.tenant = one.tenant,
             .cls = class_from(one.default_class),
             .most = class_from(one.max_class),
             .names_tenants = one.trust_tenant_header}
        );
    }
    return ring;
}

const key_holder* key_ring::find(std::string_view key) const {
    if (key.empty() || key.size() > max_key_bytes) {
        return nullptr;
    }
    const key_digest shown = digest_of(key);
    // All of them, and no branch on what was found: see invariant 2.
    std::size_t found = 0;
    for (std::size_t i = 0; i < x_digests.size(); ++i) {
        const int differs = CRYPTO_memcmp(shown.data(), x_digests[i].data(), shown.size());
        found |= (i + 1) * static_cast<std::size_t>(differs == 0);
    }
    return found == 0 ? nullptr : &x_holders[found - 1];
}

entrance key_ring::check(const net::request_head& head) const {
    if (is_open()) {
        return {};
    }
    const auto key = presented_key(head);
    if (!key) {
        return {.how = x_required ? entry::missing : entry::anonymous};
    }
    const key_holder* const who = find(*key);
    return {.how = who == nullptr ? entry::wrong : entry::known, .who = who};
}

std::string_view secrets::of_worker(const std::string& id) const {
    if (of_workers.empty()) {
        return {};
    }
    const auto found = of_workers.find(id);
    return found == of_workers.end() ? std::string_view() : std::string_view(found->second);
}

result<std::shared_ptr<const secrets>> read_secrets(
    const config::gateway_config& from, const secret_reader& reader
) {
    auto all = std::make_shared<secrets>();
    auto keys = key_ring::read(from.auth, reader);
    if (!keys) {
        return std::unexpected(std::move(keys.error()));
    }
    all->keys = *std::move(keys);
    for (const config::pool_options& pool : from.pools) {
        for (const config::worker_options& worker : pool.workers) {
            const auto address = net::parse_endpoint(worker.url);
            if (!address || (!worker.api_key_env && !worker.api_key_file)) {
                continue;  // a bad address is told of where workers are set up
            }
            const auto key = read_secret(worker.api_key_env, worker.api_key_file, reader);
            if (!key) {
                return fail(
                    key.error().code,
                    fmt::format(
                        "worker {} of pool '{}': {}",
                        address->to_string(),
                        pool.name,
                        key.error().message
                    )
                );
            }
            all->of_workers.insert_or_assign(address->to_string(), "Bearer " + *key);
        }
    }
    return all;
}

std::optional<std::string_view> presented_key(const net::request_head& head) {
    std::optional<std::string_view> plain;
    for (const net::header_field& one : head.fields) {
        if (one.name.size() == 13 && net::iequals(one.name, "authorization") &&
            net::iequals(one.value.substr(0, bearer.size()), bearer)) {
            std::string_view key = one.value.substr(bearer.size());
            key.remove_prefix(std::min(key.find_first_not_of(' '), key.size()));
            return key;
        }
        if (!plain && one.name.size() == 9 && net::iequals(one.name, "x-api-key")) {
            plain = one.value;
        }
    }
    return plain;
}

void apply(const entrance& by, request_labels& labels) {
    if (by.who == nullptr) {
        return;
    }
    if (!by.who->names_tenants || labels.tenant.empty()) {
        labels.tenant = by.who->tenant;
    }
    labels.most = by.who->most;
    if (!labels.class_given) {
        labels.cls = by.who->cls;
    }
    lower_to_most(labels);
}

}  // namespace sluice::gateway
