#include "lab/gateway_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

#include "lab/bench_upstream.hpp"
#include "lab/child.hpp"

namespace sluice::lab {

namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone with the object.
struct scratch {
    fs::path path;
    scratch() {
        std::string pattern = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~scratch() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name) << text;
        return (path / name).string();
    }
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path / name).rdbuf();
        return text.str();
    }
};

struct peer {
    std::string name;
    std::map<std::string, int> port_of_path;
    const child* process = nullptr;
};

std::string nginx_config(const fs::path& folder, const std::string& upstream, int json, int sse) {
    return fmt::format(
        R"(daemon off; worker_processes 1; pid {0}/nginx.pid; error_log {0}/nginx.err;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p;
  fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
  keepalive_requests 100000000;
  upstream worker {{ server {1}; keepalive 128; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:{2}; location / {{ proxy_pass http://worker;
    proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
  server {{ listen 127.0.0.1:{3}; location / {{ proxy_pass http://worker;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }}
}}
)",
        folder.string(),
        upstream,
        json,
        sse
    );
}

std::string sluice_config(const std::string& upstream, int port) {
    return fmt::format(
        "listen: 127.0.0.1:{}\nadmin: 127.0.0.1:0\nthreads: 1\nlog: {{level: warn}}\n"
        "pools:\n  - name: bench\n    models: [m]\n"
        "    workers: [{{url: \"http://{}\", slots: 1024, kv_tokens: 100000000}}]\n",
        port,
        upstream
    );
}

std::string wrk_script(bool stream) {
    std::string body = R"({"model":"m","max_tokens":50,)";
    body += stream ? R"("stream":true,)" : "";
    body += R"("messages":[{"role":"user","content":")" + std::string(200, 'a') + R"("}]})";
    return "wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\nwrk.body = '" +
           body + "'\n";
}

/// The number that `text` begins with; zero when there is none.
double number(std::string_view text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// "1.23ms", "456.00us", "2.00s" → milliseconds.
double wrk_time(const std::string& text) {
    const double value = number(text);
    if (text.ends_with("us")) {
        return value / 1000;
    }
    return text.ends_with("ms") ? value : value * 1000;
}

struct measured {
    double rps = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double cpu_us = 0;
    long errors = 0;
};

std::optional<std::string> match(const std::string& text, const char* pattern) {
    std::smatch found;
    // lint-allow(call): the text is wrk's own report, a page long
    return std::regex_search(text, found, std::regex(pattern))
               ? std::optional<std::string>(found[1])
               : std::nullopt;
}

result<measured> measure(
    const scratch& folder, const peer& with, const std::string& path, int connections, int seconds
) {
    const std::string url =
        fmt::format("http://127.0.0.1:{}/v1/chat/completions", with.port_of_path.at(path));
    const auto cpu_before =
        with.process != nullptr ? with.process->cpu_time() : std::chrono::microseconds(0);
    auto wrk = child::start(
        {"wrk",
         "-t1",
         fmt::format("-c{}", connections),
         fmt::format("-d{}s", seconds),
         "--latency",
         "-s",
         (folder.path / (path + ".lua")).string(),
         url},
        (folder.path / "wrk.out").string()
    );
    if (!wrk) {
        return std::unexpected(wrk.error());
    }
    if (const int code = wrk->wait(); code != 0) {
        return fail(errc::system_error, fmt::format("wrk against {} ended with {}", url, code));
    }
    const std::string said = folder.read("wrk.out");
    const auto rps = match(said, R"(Requests/sec:\s+([\d.]+))");
    const auto total = match(said, R"((\d+) requests in)");
    const auto p50 = match(said, R"(50%\s+([\d.]+[a-z]+))");
    const auto p99 = match(said, R"(99%\s+([\d.]+[a-z]+))");
    if (!rps || !total || !p50 || !p99) {
        return fail(errc::protocol_error, "wrk said something unexpected: " + said);
    }
    measured made{number(*rps), wrk_time(*p50), wrk_time(*p99)};
    if (with.process != nullptr && number(*total) > 0) {
        const auto used = with.process->cpu_time() - cpu_before;
        made.cpu_us = static_cast<double>(used.count()) / number(*total);
    }
    if (const auto refused = match(said, R"(Non-2xx or 3xx responses:\s+(\d+))")) {
        made.errors += static_cast<long>(number(*refused));
    }
    for (const char* kind : {"connect", "read", "write", "timeout"}) {
        const std::string pattern = std::string(kind) + R"( (\d+))";
        made.errors += static_cast<long>(number(match(said, pattern.c_str()).value_or("0")));
    }
    return made;
}

gateway_bench_row summary(std::vector<measured> rounds) {
    std::ranges::sort(rounds, {}, &measured::rps);
    const measured& middle = rounds[rounds.size() / 2];
    gateway_bench_row row;
    row.rps = middle.rps;
    row.rps_low = rounds.front().rps;
    row.rps_high = rounds.back().rps;
    row.p50_ms = middle.p50_ms;
    row.p99_ms = middle.p99_ms;
    row.cpu_us_per_request = middle.cpu_us;
    for (const measured& one : rounds) {
        row.errors += one.errors;
    }
    return row;
}

result<std::vector<gateway_bench_row>> take_turns(
    const scratch& folder, const std::vector<peer>& peers, const gateway_bench_options& options
) {
    std::vector<gateway_bench_row> rows;
    for (const std::string path : {"json", "sse"}) {
        for (const int connections : options.connections) {
            std::map<std::string, std::vector<measured>> rounds;
            for (int round = 0; round < options.rounds; ++round) {
                for (const peer& one : peers) {
                    auto made = measure(folder, one, path, connections, options.seconds);
                    if (!made) {
                        return std::unexpected(made.error());
                    }
                    rounds[one.name].push_back(*made);
                }
            }
            for (const peer& one : peers) {
                rows.push_back(summary(rounds[one.name]));
                rows.back().peer = one.name;
                rows.back().path = path;
                rows.back().connections = connections;
            }
        }
    }
    return rows;
}

/// rps of sluice over rps of nginx, by path and connections.
std::map<std::string, double> ratios(const std::vector<gateway_bench_row>& rows) {
    std::map<std::string, double> found;
    for (const gateway_bench_row& ours : rows) {
        for (const gateway_bench_row& other : rows) {
            if (ours.peer == "sluice" && other.peer == "nginx" && ours.path == other.path &&
                ours.connections == other.connections && other.rps > 0) {
                found[fmt::format("{}_{}", ours.path, ours.connections)] = ours.rps / other.rps;
            }
        }
    }
    return found;
}

}  // namespace

result<std::vector<gateway_bench_row>> run_gateway_bench(const gateway_bench_options& options) {
    for (const char* program : {"nginx", "wrk"}) {
        if (!is_installed(program)) {
            return fail(
                errc::not_found,
                fmt::format("{0} is not installed; run 'apt-get install nginx-light wrk'", program)
            );
        }
    }
    const scratch folder;
    bench_upstream upstream;
    if (auto started = upstream.start(); !started) {
        return std::unexpected(started.error());
    }
    folder.write("json.lua", wrk_script(false));
    folder.write("sse.lua", wrk_script(true));
    const int nginx_json = free_port();
    const int nginx_sse = free_port();
    const int own = free_port();
    const std::string nginx_file = folder.write(
        "nginx.conf", nginx_config(folder.path, upstream.address(), nginx_json, nginx_sse)
    );
    auto nginx =
        child::start({"/usr/sbin/nginx", "-c", nginx_file}, (folder.path / "nginx.out").string());
    const std::string own_file = folder.write("s.yaml", sluice_config(upstream.address(), own));
    auto sluice = child::start(
        {options.self, "gateway", "--config", own_file}, (folder.path / "sluice.out").string()
    );
    if (!nginx || !sluice) {
        return std::unexpected(!nginx ? nginx.error() : sluice.error());
    }
    for (const auto& [port, name] : {std::pair(nginx_json, "nginx"), std::pair(own, "sluice")}) {
        if (!await_port(port, std::chrono::seconds(10))) {
            return fail(
                errc::unavailable,
                fmt::format(
                    "{0} did not start; it said: {1}", name, folder.read(std::string(name) + ".out")
                )
            );
        }
    }
    const std::string direct = upstream.address();
    const int direct_port = static_cast<int>(number(direct.substr(direct.rfind(':') + 1)));
    const std::vector<peer> peers = {
        {"direct", {{"json", direct_port}, {"sse", direct_port}}, nullptr},
        {"nginx", {{"json", nginx_json}, {"sse", nginx_sse}}, &*nginx},
        {"sluice", {{"json", own}, {"sse", own}}, &*sluice},
    };
    return take_turns(folder, peers, options);
}

std::string to_json(const std::vector<gateway_bench_row>& rows) {
    boost::json::array list;
    for (const gateway_bench_row& row : rows) {
        list.push_back(
            {{"peer", row.peer},
             {"path", row.path},
             {"connections", row.connections},
             {"rps", row.rps},
             {"rps_low", row.rps_low},
             {"rps_high", row.rps_high},
             {"p50_ms", row.p50_ms},
             {"p99_ms", row.p99_ms},
             {"cpu_us_per_request", row.cpu_us_per_request},
             {"errors", row.errors}}
        );
    }
    boost::json::object ratio;
    for (const auto& [name, value] : ratios(rows)) {
        ratio[name] = value;
    }
    return boost::json::serialize(
        boost::json::object{{"rows", std::move(list)}, {"ratio_to_nginx", std::move(ratio)}}
    );
}

std::string to_table(const std::vector<gateway_bench_row>& rows) {
    std::string text = fmt::format(
        "{:<8}{:<6}{:>6}{:>10}{:>20}{:>9}{:>9}{:>9}{:>8}\n",
        "peer",
        "path",
        "conns",
        "rps",
        "(lowest..highest)",
        "p50 ms",
        "p99 ms",
        "cpu us",
        "errors"
    );
    for (const gateway_bench_row& row : rows) {
        text += fmt::format(
            "{:<8}{:<6}{:>6}{:>10.0f}{:>20}{:>9.3f}{:>9.3f}{:>9.1f}{:>8}\n",
            row.peer,
            row.path,
            row.connections,
            row.rps,
            fmt::format("{:.0f}..{:.0f}", row.rps_low, row.rps_high),
            row.p50_ms,
            row.p99_ms,
            row.cpu_us_per_request,
            row.errors
        );
    }
    for (const auto& [name, value] : ratios(rows)) {
        text += fmt::format("sluice / nginx, {}: {:.2f}\n", name, value);
    }
    return text;
}

}  // namespace sluice::lab
