// Header fields with their text: what is sent is put together here, once a request.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"

namespace sluice::gateway {

/// Names that are literals and values that live elsewhere are kept as views (borrow), everything
/// else is copied (add, copy) and stays where it is until the list is cleared. An ordinary request
/// fits without an allocation.
class field_list {
public:
    field_list() = default;
    field_list(const field_list&) = delete;
    field_list& operator=(const field_list&) = delete;

    /// `name` and `value` outlive the list.
    void borrow(std::string_view name, std::string_view value) {
        x_fields.push_back({name, value});
    }
    /// `name` is a literal, `value` is copied.
    void add(std::string_view name, std::string_view value) { borrow(name, keep(value)); }
    void add(std::string_view name, std::int64_t value);
    /// With three decimals.
    void add_real(std::string_view name, double value);
    /// Both are copied.
    void copy(std::string_view name, std::string_view value) { borrow(keep(name), keep(value)); }

    std::span<const net::header_field> fields() const { return {x_fields.data(), x_fields.size()}; }
    void clear();

private:
    std::string_view keep(std::string_view text);

    boost::container::small_vector<net::header_field, 16> x_fields;
    std::array<char, 512> x_near;
    std::size_t x_near_used = 0;
    std::forward_list<std::string> x_far;  ///< What did not fit.
};

/// Lists of one thread, used again: they are too large to live in a coroutine's frame (Asio keeps
/// frames up to 1 KB for the next request, larger ones go through malloc each time).
class field_list_pool {
public:
    struct give_back {
        field_list_pool* to = nullptr;
        void operator()(field_list* list) const { to->put(std::unique_ptr<field_list>(list)); }
    };
    using lease = std::unique_ptr<field_list, give_back>;

    /// An empty list; it comes back by itself, while the pool lives, on the same thread.
    lease take();

private:
    static constexpr std::size_t most_spare = 256;

    void put(std::unique_ptr<field_list> list);

    std::vector<std::unique_ptr<field_list>> x_spare;
};

}  // namespace sluice::gateway
