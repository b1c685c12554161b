#include "net/socket.hpp"
#include "../net/socket.hpp"  // expect: include
#include "gateway/pipeline.hpp"  // expect: layer

task<int> awaits() {
    co_spawn(where, run(), asio::detached);  // expect: call
    int a = ready ? co_await read() : 0;  // expect: ternary
    int b = ready ? 0 : co_await read();  // expect: ternary
    int c = co_await read(ready ? 1 : 2);
    int d = (co_await read()) > 0 ? 1 : 2;
    call(ready ? 1 : 2, co_await read());
    const char* text = "? co_await";
    std::thread here_is_fine;
    co_return ready  // two lines
        ? a  // expect: ternary
        : co_await read();
}
