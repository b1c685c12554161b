#pragma once
#include <mutex>
#include "coord/port.hpp"
