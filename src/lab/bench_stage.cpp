#include "lab/bench_stage.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <sstream>

namespace sluice::lab {

namespace {

namespace fs = std::filesystem;

std::string nginx_config(
    const fs::path& folder,
    const std::string& upstream,
    const peer& ports,
    const std::optional<bench_stage::nginx_limit>& limited
) {
    std::string zone;
    std::string use;
    if (limited) {
        zone = fmt::format(
            "limit_req_zone $server_port zone=all:1m rate={}r/s; limit_req_status 429;",
            limited->per_second
        );
        use = fmt::format("limit_req zone=all burst={};", limited->waiting);
    }
    return fmt::format(
        R"(daemon off; worker_processes 1; pid {0}/nginx.pid; error_log {0}/nginx.err crit;
events {{ worker_connections 16384; }}
http {{
  access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;
  fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
  keepalive_requests 100000000; client_max_body_size 64m; client_body_buffer_size 4m; {4}
  upstream worker {{ server {1}; keepalive 128; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{2}; location / {{ {5} proxy_pass http://worker;
    proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
  server {{ listen 127.0.0.1:{3}; location / {{ proxy_pass http://worker;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }}
}}
)",
        folder.string(),
        upstream,
        ports.port,
        ports.unbuffered_port,
        zone,
        use
    );
}

std::string sluice_config(const std::string& upstream, int port, const pool_shape& shape) {
    return fmt::format(
        "listen: 127.0.0.1:{}\nadmin: 127.0.0.1:0\nthreads: 1\nlog: {{level: error}}\n"
        "pools:\n  - name: bench\n    models: [m, held, quiet]\n    queue: {{{}}}\n"
        "    workers: [{{url: \"http://{}\", slots: {}, kv_tokens: 100000000}}]\n",
        port,
        shape.queue,
        upstream,
        shape.slots
    );
}

int port_of(const std::string& address) {
    int port = 0;
    const char* const text = address.data() + address.rfind(':') + 1;
    std::from_chars(text, address.data() + address.size(), port);
    return port;
}

}  // namespace

scratch::scratch() {
    std::string pattern = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
}

scratch::~scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

std::string scratch::write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
}

std::string scratch::read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path / name).rdbuf();
    return text.str();
}

result<void> bench_stage::start(const pool_shape& shape, std::optional<nginx_limit> limited) {
    if (auto started = x_upstream.start(); !started) {
        return started;
    }
    x_direct.port = x_direct.unbuffered_port = port_of(x_upstream.address());
    auto relay = bare_relay::start(x_direct.port);
    if (!relay) {
        return std::unexpected(relay.error());
    }
    x_bare = *std::move(relay);
    x_relay.port = x_relay.unbuffered_port = x_bare->port();
    if (auto started = start_nginx(limited); !started) {
        return started;
    }
    if (auto started = start_sluice(shape); !started) {
        return started;
    }
    if (auto up = await(x_nginx); !up) {
        return up;
    }
    return await(x_sluice);
}

result<void> bench_stage::start_nginx(const std::optional<nginx_limit>& limited) {
    x_nginx.port = free_port();
    x_nginx.unbuffered_port = free_port();
    const std::string file = x_folder.write(
        "nginx.conf", nginx_config(x_folder.path, x_upstream.address(), x_nginx, limited)
    );
    auto started =
        child::start({"/usr/sbin/nginx", "-c", file}, (x_folder.path / "nginx.out").string());
    if (!started) {
        return std::unexpected(started.error());
    }
    x_nginx_process = *std::move(started);
    x_nginx.process = &*x_nginx_process;
    return {};
}

result<void> bench_stage::start_sluice(const pool_shape& shape) {
    x_sluice.port = x_sluice.unbuffered_port = free_port();
    const std::string file =
        x_folder.write("s.yaml", sluice_config(x_upstream.address(), x_sluice.port, shape));
    auto started = child::start(
        {x_self, "gateway", "--config", file}, (x_folder.path / "sluice.out").string()
    );
    if (!started) {
        return std::unexpected(started.error());
    }
    x_sluice_process = *std::move(started);
    x_sluice.process = &*x_sluice_process;
    return {};
}

result<void> bench_stage::await(const peer& one) const {
    if (!await_port(one.port, std::chrono::seconds(10))) {
        return fail(
            errc::unavailable,
            fmt::format(
                "{0} did not start; it said: {1}", one.name, x_folder.read(one.name + ".out")
            )
        );
    }
    return {};
}

}  // namespace sluice::lab
