// The one translation unit that compiles Asio (BOOST_ASIO_SEPARATE_COMPILATION is set for everyone
// who links this room), so that no other unit pays for it.
#include <boost/asio/impl/src.hpp>
