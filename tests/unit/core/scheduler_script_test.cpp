// Golden scripts: inputs with the decisions that follow from the rules written beneath each.
//
//   config max_bypass=3          the first makes the scheduler, later ones change it in place
//   10 submit 1/1 peak=20        an input (core/event_text.hpp)
//     granted 1/1 …              what it led to; "again": the step asks to be called again at once
//   run                          ticks until no work is left
//   show                         what waits and runs, worker by worker
//   # …                          a remark
//
// SLUICE_REWRITE=1 writes what is decided into the files: read the difference before you keep it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/event_text.hpp"
#include "core/recorder.hpp"
#include "unit/core/reference.hpp"

namespace sluice::core {

namespace {

namespace fs = std::filesystem;

fs::path folder() {
    return fs::path(SLUICE_TEST_DATA) / "core";
}

std::vector<std::string> script_names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder())) {
        if (entry.path().extension() == ".txt") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> read_lines(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

class script_runner {
public:
    /// The script with its expected lines replaced by what was decided.
    std::vector<std::string> run(const std::vector<std::string>& script) {
        for (const std::string& line : script) {
            if (line.starts_with("  ")) {
                continue;
            }
            x_result.push_back(line);
            if (line.empty() || line.front() == '#') {
                continue;
            }
            if (line.starts_with("config")) {
                configure(line);
            } else if (line == "run") {
                while (x_wakeup <= x_now) {
                    step(x_now, tick{});
                }
            } else if (line == "show") {
                show();
            } else {
                auto event = parse_line(line);
                if (!event) {
                    ADD_FAILURE() << event.error().message;
                    continue;
                }
                step(event->now, event->what);
            }
        }
        return std::move(x_result);
    }

private:
    void say(const std::string& line) { x_result.push_back("  " + line); }

    void configure(const std::string& line) {
        const auto config = parse_config(line);
        if (!config) {
            ADD_FAILURE() << config.error().message;
            return;
        }
        if (x_started) {
            x_subject.reconfigure(*config);
            x_beside.reconfigure(*config);
        } else {
            x_subject = scheduler(*config);
            x_beside = reference::scheduler(*config);
        }
        x_started = true;
    }

    void step(instant now, const input& what) {
        x_started = true;
        std::vector<decision> decided;
        std::vector<decision> expected;
        x_now = std::max(x_now, now);
        x_wakeup = x_subject.step(now, what, decided);
        x_beside.step(now, what, expected);
        EXPECT_EQ(decided, expected) << "the reference disagrees after: " << x_result.back();
        EXPECT_EQ(x_subject.check_invariants(), std::nullopt) << x_result.back();
        for (const decision& one : decided) {
            say(to_line(one, x_subject));
        }
        if (x_wakeup <= x_now) {
            say("again");
        }
    }

    void show() {
        const pool_snapshot all = x_subject.snapshot(x_now, 100);
        for (const worker_snapshot& one : all.workers) {
            say(one.id + " " + std::string(to_string(one.state)) + " " +
                std::to_string(one.in_use) + "/" + std::to_string(one.slots) +
                " reserved=" + std::to_string(one.kv_reserved.count()) +
                (one.reports ? " headroom=" + std::to_string(one.kv_headroom.count()) : ""));
        }
        std::string queue = "waiting:";
        for (const ticket_snapshot& one : all.queue) {
            queue += " " + std::to_string(static_cast<std::uint64_t>(one.ticket.session)) + "/" +
                     std::to_string(one.ticket.number) + "(" + std::string(to_string(one.cls)) +
                     ")";
        }
        say(queue);
    }

    scheduler x_subject{scheduler_config{}};
    reference::scheduler x_beside{scheduler_config{}};
    bool x_started = false;
    instant x_now;
    instant x_wakeup = never;
    std::vector<std::string> x_result;
};

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

class scheduler_script : public testing::TestWithParam<std::string> {};

TEST_P(scheduler_script, decides_as_written) {
    const fs::path file = folder() / (GetParam() + ".txt");
    const std::vector<std::string> script = read_lines(file);
    ASSERT_FALSE(script.empty()) << file;
    const std::vector<std::string> result = script_runner().run(script);
    if (std::getenv("SLUICE_REWRITE") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
        std::ofstream(file) << joined(result);
        return;
    }
    EXPECT_EQ(joined(result), joined(script));
}

INSTANTIATE_TEST_SUITE_P(
    all,
    scheduler_script,
    testing::ValuesIn(script_names()),
    [](const auto& info) { return info.param; }
);

TEST(scheduler_scripts, are_all_there) {
    EXPECT_GE(script_names().size(), 18U);
}

}  // namespace

}  // namespace sluice::core
