#pragma once
#include "coord/embedded/backend.hpp"  // expect: layer
#include "coord/port.hpp"
#include "core/state.hpp"
