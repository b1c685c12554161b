#include "attic/old.hpp"
