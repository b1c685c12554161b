// Keeps book of everything a backend tells its sink and finds breaches of the contract by itself:
// I1 (slots and slot indexes), I5 (one final outcome) and I7 (rising tokens), whatever the test
// does.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coord/ports.hpp"

namespace sluice::conformance {

class ledger : public coord::outcome_sink {
public:
    void on_outcomes(std::span<const coord::outcome> batch) override {
        for (const coord::outcome& one : batch) {
            all.push_back(one);
            note(one);
        }
    }

    std::vector<coord::outcome> all;
    /// The first breach, in words.
    std::optional<std::string> breach;

    std::vector<coord::outcome> of(core::decision_kind kind) const {
        std::vector<coord::outcome> found;
        std::ranges::copy_if(all, std::back_inserter(found), [kind](const coord::outcome& one) {
            return one.kind == kind;
        });
        return found;
    }
    std::vector<std::uint64_t> granted_numbers() const {
        std::vector<std::uint64_t> numbers;
        for (const coord::outcome& one : of(core::decision_kind::granted)) {
            numbers.push_back(one.ticket.number);
        }
        return numbers;
    }
    std::optional<coord::outcome> last_of(ticket_id id) const {
        for (auto one = all.rbegin(); one != all.rend(); ++one) {
            if (one->ticket == id && one->kind != core::decision_kind::call_failed) {
                return *one;
            }
        }
        return std::nullopt;
    }
    const coord::permit& permit_of(ticket_id id) const { return live.at(id); }
    bool holds(ticket_id id) const { return live.contains(id); }

    std::map<ticket_id, coord::permit> live;

private:
    static bool is_final(core::decision_kind kind) {
        using enum core::decision_kind;
        return kind == rejected || kind == timed_out || kind == cancelled || kind == released ||
               kind == lost;
    }

    void note(const coord::outcome& one) {
        using enum core::decision_kind;
        if (is_final(one.kind) && !x_final.insert(one.ticket).second) {
            found("ticket " + std::to_string(one.ticket.number) + " has two final outcomes");
        }
        if (one.kind == granted || one.kind == adopted) {
            note_grant(one);
        } else if (is_final(one.kind) || one.kind == requeued) {
            live.erase(one.ticket);
        }
    }

    void note_grant(const coord::outcome& one) {
        if (x_final.contains(one.ticket)) {
            found("ticket " + std::to_string(one.ticket.number) + " was granted after its end");
        }
        const coord::worker_info& on = *one.permit.worker;
        std::uint32_t running = 0;
        for (const auto& [id, held] : live) {
            if (held.worker->id != on.id || held.worker->epoch != on.epoch) {
                continue;
            }
            ++running;
            if (held.slot == one.permit.slot) {
                found("slot " + std::to_string(held.slot) + " of " + on.id + " is held twice");
            }
        }
        if (running >= on.slots) {
            found(on.id + " runs more than its slots");
        }
        fencing_token& newest = x_newest[on.id];
        if (one.permit.token <= newest) {
            found("a token of " + on.id + " did not rise");
        }
        newest = one.permit.token;
        live[one.ticket] = one.permit;
    }

    void found(std::string what) {
        if (!breach) {
            breach = std::move(what);
        }
    }

    std::set<ticket_id> x_final;
    std::map<std::string, fencing_token> x_newest;
};

}  // namespace sluice::conformance
