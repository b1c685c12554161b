#pragma once
#include <atomic>  // expect: purity
#include <boost/asio/io_context.hpp>  // expect: purity
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <sys/socket.h>  // expect: purity

#include "net/socket.hpp"  // expect: layer
