// A flat byte queue that starts small: bytes are committed behind and consumed in front. Its memory
// moves only in prepare(), so views and pending reads are safe in between. Internal to net.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sluice::net {

class read_buffer {
public:
    /// Readable bytes behind the last one, wherever that is (simdjson's padding).
    static constexpr std::size_t padding = 64;

    char* data() { return x_memory.get() + x_begin; }
    std::size_t size() const { return x_end - x_begin; }
    bool empty() const { return x_begin == x_end; }
    std::size_t capacity() const { return x_capacity; }
    std::string_view view() const { return {x_memory.get() + x_begin, size()}; }

    /// Room for at least `room` bytes; all there is. Views become invalid.
    std::span<char> prepare(std::size_t room) {
        if (x_begin == x_end) {
            x_begin = x_end = 0;
        }
        if (x_capacity - x_end < room) {
            if (x_capacity < size() + room) {
                grow(size() + room);
            } else {
                std::memmove(x_memory.get(), data(), size());
                x_end -= x_begin;
                x_begin = 0;
            }
        }
        return {x_memory.get() + x_end, x_capacity - x_end};
    }
    void commit(std::size_t count) { x_end += count; }
    void consume(std::size_t count) { x_begin += count; }
    void clear() { x_begin = x_end = 0; }
    void append(std::string_view bytes) {
        if (!bytes.empty()) {
            std::memcpy(prepare(bytes.size()).data(), bytes.data(), bytes.size());
            commit(bytes.size());
        }
    }
    /// Gives the memory back.
    void release() { *this = read_buffer(); }

private:
    void grow(std::size_t at_least) {
        const std::size_t capacity = std::max(at_least, x_capacity * 2);
        // Not initialised: what is read was received, and the padding is only ever looked past.
        auto memory = std::make_unique_for_overwrite<char[]>(capacity + padding);
        std::memset(memory.get() + capacity, 0, padding);
        if (size() > 0) {
            std::memcpy(memory.get(), data(), size());
        }
        x_end = size();
        x_begin = 0;
        x_memory = std::move(memory);
        x_capacity = capacity;
    }

    std::unique_ptr<char[]> x_memory;
    std::size_t x_capacity = 0;
    std::size_t x_begin = 0;
    std::size_t x_end = 0;
};

}  // namespace sluice::net
