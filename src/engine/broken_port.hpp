// A port that a scripted fault has broken: taken but not listening, or answering every connection
// with a line that is no HTTP. On one strand.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/asio.hpp"

namespace sluice::engine {

class broken_port {
public:
    explicit broken_port(net::executor where);
    ~broken_port();
    broken_port(const broken_port&) = delete;
    broken_port& operator=(const broken_port&) = delete;

    /// Takes host:port; connections to it are refused.
    result<void> bind(std::string_view listen);
    /// After bind(): accepts, and answers with garbage.
    result<void> answer_garbage();
    /// "127.0.0.1:40123".
    const std::string& address() const { return x_address; }
    void close();

private:
    struct acceptor;
    std::shared_ptr<acceptor> x_acceptor;
    std::string x_address;
};

}  // namespace sluice::engine
