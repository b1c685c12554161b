// Who asks: API keys as SHA-256 digests, what their holders may do, and the keys of the workers.
//
// Read at start-up and again when asked to; constant afterwards, shared by all threads.
//
//  1. No key of a client is kept as text: what is read is hashed at once.
//  2. A presented key is compared with every digest, each in constant time, whatever has matched:
//     how long it takes tells how many keys there are and nothing about them.
//  3. No message and no log line holds a key, a part of one, or a digest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "core/types.hpp"
#include "gateway/request_labels.hpp"
#include "net/http.hpp"

namespace sluice::gateway {

/// Longer ones are no keys; they are not even hashed.
inline constexpr std::size_t max_key_bytes = 4096;

using key_digest = std::array<unsigned char, 32>;

/// SHA-256.
key_digest digest_of(std::string_view text);

/// Whom a key belongs to.
struct key_holder {
    std::string tenant;
    core::priority cls = core::priority::normal;  ///< Of a request that names none.
    core::priority most = core::priority::high;   ///< A request above it is lowered.
    bool names_tenants = false;                   ///< x-sluice-tenant is believed.
};

/// Where texts of secrets come from. The errors name the place, never the text.
struct secret_reader {
    std::function<result<std::string>(const std::string& variable)> from_env;
    std::function<result<std::string>(const std::string& path)> from_file;
};

/// How a request came in.
enum class entry : std::uint8_t {
    open,       ///< No keys are configured: nobody is asked.
    anonymous,  ///< It shows no key and needs none.
    known,
    missing,  ///< It shows no key and needs one.
    wrong,    ///< It shows one that is not known.
};

struct entrance {
    entry how = entry::open;
    const key_holder* who = nullptr;  ///< Of a known one; as long as the ring lives.

    bool refused() const { return how == entry::missing || how == entry::wrong; }
};

class key_ring {
public:
    /// `auth.keys`; an error names the entry that has no usable key, or is there twice.
    static result<key_ring> read(const config::auth_options& from, const secret_reader& reader);

    /// Whether keys mean anything here.
    bool is_open() const { return !x_required && x_digests.empty(); }
    const key_holder* find(std::string_view key) const;
    entrance check(const net::request_head& head) const;

private:
    bool x_required = false;
    std::vector<key_digest> x_digests;
    std::vector<key_holder> x_holders;  // in the order of x_digests
};

/// Everything secret that a gateway knows.
struct secrets {
    key_ring keys;
    /// Value of the field Authorization for a worker, by its id.
    std::unordered_map<std::string, std::string> of_workers;

    /// Empty: it has none.
    std::string_view of_worker(const std::string& id) const;
};

result<std::shared_ptr<const secrets>> read_secrets(
    const config::gateway_config& from, const secret_reader& reader
);

/// The key that a request shows: `Authorization: Bearer …`, else `x-api-key`.
std::optional<std::string_view> presented_key(const net::request_head& head);

/// Puts the holder's tenant and class into `labels`.
void apply(const entrance& by, request_labels& labels);

}  // namespace sluice::gateway
