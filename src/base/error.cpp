#include "base/error.hpp"

namespace sluice {

std::string_view to_string(errc code) {
    switch (code) {
        case errc::invalid_argument:
            return "invalid_argument";
        case errc::not_found:
            return "not_found";
        case errc::already_exists:
            return "already_exists";
        case errc::not_held:
            return "not_held";
        case errc::permit_expired:
            return "permit_expired";
        case errc::stale_epoch:
            return "stale_epoch";
        case errc::limit_exceeded:
            return "limit_exceeded";
        case errc::timed_out:
            return "timed_out";
        case errc::cancelled:
            return "cancelled";
        case errc::connection_failed:
            return "connection_failed";
        case errc::protocol_error:
            return "protocol_error";
        case errc::unavailable:
            return "unavailable";
        case errc::corrupt_input:
            return "corrupt_input";
        case errc::system_error:
            return "system_error";
    }
    return "unknown";
}

bool is_retryable(errc code) {
    return code == errc::timed_out || code == errc::connection_failed || code == errc::unavailable;
}

bool is_unavailable(errc code) {
    return code == errc::connection_failed || code == errc::unavailable;
}

}  // namespace sluice
