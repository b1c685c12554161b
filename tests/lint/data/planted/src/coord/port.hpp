#pragma once
#include <mutex>  // expect: purity
