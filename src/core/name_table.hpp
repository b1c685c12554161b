// Interned names with use counts: a tenant costs four bytes a ticket and is forgotten with its
// last.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::core {

class name_table {
public:
    std::uint32_t acquire(std::string_view name) {
        if (const auto found = x_by_name.find(name); found != x_by_name.end()) {
            ++x_names[found->second].uses;
            return found->second;
        }
        std::uint32_t index = 0;
        if (x_free.empty()) {
            index = static_cast<std::uint32_t>(x_names.size());
            x_names.push_back({});
        } else {
            index = x_free.back();
            x_free.pop_back();
        }
        x_names[index] = {std::make_unique<std::string>(name), 1};
        x_by_name.emplace(*x_names[index].text, index);
        return index;
    }
    void release(std::uint32_t index) {
        named& entry = x_names[index];
        if (--entry.uses == 0) {
            x_by_name.erase(*entry.text);
            entry.text.reset();
            x_free.push_back(index);
        }
    }
    std::string_view name(std::uint32_t index) const { return *x_names[index].text; }
    std::size_t size() const { return x_by_name.size(); }

private:
    struct named {
        std::unique_ptr<std::string> text;
        std::uint64_t uses = 0;
    };
    std::vector<named> x_names;
    std::vector<std::uint32_t> x_free;
    boost::unordered_flat_map<std::string_view, std::uint32_t> x_by_name;
};

}  // namespace sluice::core
