#include "core/orphan.hpp"
int nobody() { return 1; }
