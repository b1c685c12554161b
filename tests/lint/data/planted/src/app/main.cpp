#include "gateway/pipeline.hpp"
#include "coord/embedded/backend.hpp"  // expect: layer
int main() {
    std::cout << std::getenv("HOME");
    return 0;
}
