struct socket_without_guard {};
