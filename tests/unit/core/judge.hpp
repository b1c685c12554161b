// Checks the contract's invariants from outside: from inputs and decisions alone it keeps its own
// books and says what was broken. It knows the rules' promises, not how they are kept; only where a
// promise depends on a reservation or a state that no decision shows, it asks the reference.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "unit/core/reference.hpp"

namespace sluice::core::reference {

class judge {
public:
    explicit judge(const scheduler_config& config)
        : x_config(config), x_most_bypass(config.max_bypass), x_least_bypass(config.max_bypass) {}

    /// Says what the step broke, or nothing. `beside`: the reference after the same step.
    std::optional<std::string> after_step(
        const input& what,
        const std::vector<decision>& decisions,
        bool work_left,
        const scheduler& beside
    );
    /// I5, I8: everything that was submitted has come to its end.
    std::optional<std::string> at_the_end() const;
    void reconfigure(const scheduler_config& config) {
        x_config = config;
        x_most_bypass = std::max(x_most_bypass, config.max_bypass);
        x_least_bypass = std::min(x_least_bypass, config.max_bypass);
    }

private:
    enum class life : std::uint8_t { waits, runs, over };
    struct known_ticket {
        life state = life::waits;
        priority cls = priority::normal;
        bytes prompt_kv;
        bytes peak_kv;
        tokens predicted;
        bytes body;
        std::uint64_t order_key = 0;
        bool came_back = false;
        bool excused = false;
    };
    struct host {
        std::string id;
        worker_epoch epoch{};
        bool present = false;
        std::uint32_t slots = 0;
        bytes capacity;
        bool reports = false;
        fencing_token newest{};
        std::optional<report> last;
    };
    struct permit {
        ticket_id id;
        worker_number worker{};
        worker_epoch epoch{};
        std::uint32_t slot = 0;
        fencing_token token{};
        fencing_token old_token{};
        bytes peak_kv;
    };

    void take_input(const input& what, const std::vector<decision>& decisions);
    void take_join(const worker_joined& what);
    void take_report(const report* what);
    void check(const decision& one, const input& what);
    void check_grant(const decision& one);
    void check_adoption(const decision& one, const permit_adopted& what);
    void check_place(const decision& one);
    void check_order(const decision& one);
    void check_end(const decision& one);
    void check_conserved(const scheduler& beside);
    void check_bounds(const input& what);
    void note_excuses(const scheduler& beside);

    host& host_of(worker_number number) { return x_hosts.at(static_cast<std::size_t>(number)); }
    bool live(const permit& one, const host& on) const;
    bool lists(const host& on, const permit& one) const;
    std::int64_t used_slots(const host& on) const;
    bool memory_suffices(const host& on, const known_ticket& what) const;
    void broken(const std::string& what) {
        if (!x_broken) {
            x_broken = what;
        }
    }

    scheduler_config x_config;
    std::uint32_t x_most_bypass;
    std::uint32_t x_least_bypass;
    std::map<ticket_id, known_ticket> x_tickets;
    std::set<ticket_id> x_waiting;
    std::vector<permit> x_permits;
    std::vector<host> x_hosts;
    std::size_t x_most_waiting = 0;
    std::optional<std::string> x_broken;
};

}  // namespace sluice::core::reference
