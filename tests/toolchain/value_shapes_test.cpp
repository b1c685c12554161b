// Shapes of everyday coroutines around values and control flow. Several of them crash, skip code or
// destroy twice under g++ 12; all of them have to hold under the compiler that builds Sluice.
#include <gtest/gtest.h>

#include <array>
#include <expected>
#include <map>
#include <optional>
#include <vector>

#include "toolchain/coroutine_shapes.hpp"

namespace sluice::toolchain {
namespace {

class ValueShapes : public testing::TestWithParam<pace> {
protected:
    ~ValueShapes() override { EXPECT_EQ(0, counted::alive); }
};

struct order {
    counted id;
    std::string tenant;
    int weight = 1;
};

struct reply {
    counted first;
    counted second;
};

task<int> submit(pace how, order what) {
    co_await breathe(how);
    co_return what.id.value() * what.weight + static_cast<int>(what.tenant.size());
}

task<int> value_of(pace how, counted what) {
    co_await breathe(how);
    co_return what.value();
}

template <class Function>
task<int> apply(pace how, Function function) {
    co_await breathe(how);
    co_return function();
}

int if_hits = 0;

task<int> if_without_locals(pace how) {
    if (co_await answer(how, true)) {
        ++if_hits;
    }
    co_return if_hits;
}
TEST_P(ValueShapes, IfInACoroutineWithoutLocals) {
    if_hits = 0;
    EXPECT_EQ(1, run(if_without_locals(GetParam())));
}

task<int> negated_if(pace how) {
    if (!(co_await answer(how, false))) {
        co_return 7;
    }
    co_return 0;
}
TEST_P(ValueShapes, NegatedIf) {
    EXPECT_EQ(7, run(negated_if(GetParam())));
}

task<int> if_with_initializer(pace how) {
    if (const counted got = co_await make(how, 5); got.value() == 5) {
        co_return got.value() + 1;
    }
    co_return 0;
}
TEST_P(ValueShapes, IfWithInitializer) {
    EXPECT_EQ(6, run(if_with_initializer(GetParam())));
}

task<int> while_condition(pace how) {
    int turns = 0;
    while (co_await answer(how, turns < 3)) {
        ++turns;
    }
    co_return turns;
}
TEST_P(ValueShapes, WhileCondition) {
    EXPECT_EQ(3, run(while_condition(GetParam())));
}

task<int> aggregate_temporary(pace how) {
    co_return co_await submit(how, {counted(3), "acme"});
}
TEST_P(ValueShapes, AggregateTemporaryInAnAwaitingExpression) {
    EXPECT_EQ(7, run(aggregate_temporary(GetParam())));
}

task<int> designated_temporary(pace how) {
    const int sum = co_await submit(how, {.id = counted(3), .tenant = "acme", .weight = 2});
    co_return sum;
}
TEST_P(ValueShapes, DesignatedAggregateTemporary) {
    EXPECT_EQ(10, run(designated_temporary(GetParam())));
}

task<int> capturing_lambda(pace how) {
    const counted owned(9);
    co_return co_await apply(how, [owned, extra = counted(2)] {
        return owned.value() + extra.value();
    });
}
TEST_P(ValueShapes, CapturingLambdaInAnAwaitingExpression) {
    EXPECT_EQ(11, run(capturing_lambda(GetParam())));
}

task<int> conditional_left(pace how, bool choose, counted other) {
    const counted got = choose ? co_await make(how, 4) : other;
    co_return got.value();
}
TEST_P(ValueShapes, ConditionalWithOneAwait) {
    EXPECT_EQ(4, run(conditional_left(GetParam(), true, counted(6))));
    EXPECT_EQ(6, run(conditional_left(GetParam(), false, counted(6))));
}

task<int> conditional_both(pace how, bool choose) {
    const counted got = choose ? co_await make(how, 4) : co_await make(how, 8);
    co_return got.value();
}
TEST_P(ValueShapes, ConditionalWithTwoAwaits) {
    EXPECT_EQ(4, run(conditional_both(GetParam(), true)));
    EXPECT_EQ(8, run(conditional_both(GetParam(), false)));
}

task<int> braces(pace how) {
    const counted before(1);
    const reply both{before, co_await make(how, 2)};
    co_return both.first.value() * 10 + both.second.value();
}
TEST_P(ValueShapes, BracesWithAnAwaitBehindAValue) {
    EXPECT_EQ(12, run(braces(GetParam())));
}

task<int> braces_twice(pace how) {
    const reply both{co_await make(how, 3), co_await make(how, 4)};
    co_return both.first.value() * 10 + both.second.value();
}
TEST_P(ValueShapes, BracesWithTwoAwaits) {
    EXPECT_EQ(34, run(braces_twice(GetParam())));
}

task<int> array_of_awaits(pace how) {
    const std::array<counted, 3> all{
        co_await make(how, 1), co_await make(how, 2), co_await make(how, 3)
    };
    co_return all[0].value() * 100 + all[1].value() * 10 + all[2].value();
}
TEST_P(ValueShapes, ArrayOfAwaits) {
    EXPECT_EQ(123, run(array_of_awaits(GetParam())));
}

task<int> nested(pace how) {
    co_return co_await value_of(how, counted(co_await value_of(how, co_await make(how, 8)) + 1));
}
TEST_P(ValueShapes, NestedAwaits) {
    EXPECT_EQ(9, run(nested(GetParam())));
}

task<std::vector<counted>> several(pace how) {
    std::vector<counted> all;
    for (int i = 1; i <= 3; ++i) {
        all.push_back(co_await make(how, i));
    }
    co_return all;
}

task<int> range_for(pace how) {
    int sum = 0;
    for (const counted& each : co_await several(how)) {
        sum = sum * 10 + each.value();
    }
    co_return sum;
}
TEST_P(ValueShapes, RangeForOverAnAwait) {
    EXPECT_EQ(123, run(range_for(GetParam())));
}

task<int> await_in_range_for(pace how) {
    int sum = 0;
    for (const counted& each : std::vector<counted>{counted(4), counted(5)}) {
        if (each.value() == 4) {
            continue;
        }
        sum += co_await value_of(how, each);
    }
    co_return sum;
}
TEST_P(ValueShapes, AwaitInTheBodyOfARangeForOverATemporary) {
    EXPECT_EQ(5, run(await_in_range_for(GetParam())));
}

task<int> short_circuit(pace how, int& calls) {
    const auto count = [&calls](pace p, bool value) -> task<bool> {
        ++calls;
        co_return co_await answer(p, value);
    };
    const bool neither = co_await count(how, false) && co_await count(how, true);
    const bool either = co_await count(how, true) || co_await count(how, true);
    co_return (neither ? 10 : 0) + (either ? 1 : 0);
}
TEST_P(ValueShapes, ShortCircuitEvaluatesNoMoreThanItMust) {
    int calls = 0;
    EXPECT_EQ(1, run(short_circuit(GetParam(), calls)));
    EXPECT_EQ(2, calls);
}

task<int> switch_on_await(pace how) {
    switch (co_await value_of(how, counted(2))) {
        case 1:
            co_return 10;
        case 2: {
            const counted local = co_await make(how, 20);
            co_return local.value();
        }
        default:
            co_return 30;
    }
}
TEST_P(ValueShapes, SwitchOnAnAwait) {
    EXPECT_EQ(20, run(switch_on_await(GetParam())));
}

task<std::pair<counted, counted>> pair_of(pace how) {
    co_await breathe(how);
    co_return std::pair(counted(5), counted(6));
}

task<int> structured_binding(pace how) {
    const auto [left, right] = co_await pair_of(how);
    co_await breathe(how);
    co_return left.value() * 10 + right.value();
}
TEST_P(ValueShapes, StructuredBinding) {
    EXPECT_EQ(56, run(structured_binding(GetParam())));
}

task<std::unique_ptr<counted>> owned(pace how, std::unique_ptr<counted> what) {
    co_await breathe(how);
    co_return what;
}

task<int> move_only(pace how) {
    const auto got = co_await owned(how, std::make_unique<counted>(13));
    co_return got->value();
}
TEST_P(ValueShapes, MoveOnlyArgumentsAndResults) {
    EXPECT_EQ(13, run(move_only(GetParam())));
}

task<int> lifetime_extension(pace how) {
    const counted& extended = co_await make(how, 15);
    co_await breathe(how);
    co_return extended.value();
}
TEST_P(ValueShapes, ReferenceExtendsTheLifeOfAResult) {
    EXPECT_EQ(15, run(lifetime_extension(GetParam())));
}

task<int> compound(pace how) {
    int sum = 1;
    sum += co_await value_of(how, counted(2));
    std::map<int, counted> all;
    all.insert_or_assign(1, co_await make(how, 3));
    all.at(1) = co_await make(how, 4);
    co_return sum * 10 + all.at(1).value();
}
TEST_P(ValueShapes, CompoundAssignment) {
    EXPECT_EQ(34, run(compound(GetParam())));
}

task<std::expected<counted, std::string>> expected_of(pace how, bool good) {
    co_await breathe(how);
    if (!good) {
        co_return std::unexpected("no worker");
    }
    co_return counted(16);
}

task<int> expected_result(pace how) {
    const auto good = co_await expected_of(how, true);
    if (auto bad = co_await expected_of(how, false); !bad) {
        co_return good->value() * 10 + static_cast<int>(bad.error().size());
    }
    co_return 0;
}
TEST_P(ValueShapes, ExpectedAsResult) {
    EXPECT_EQ(169, run(expected_result(GetParam())));
}

task<int> optional_member(pace how) {
    std::optional<counted> slot;
    slot.emplace(co_await make(how, 2));
    slot = co_await make(how, 17);
    co_return slot->value();
}
TEST_P(ValueShapes, OptionalFilledByAwaits) {
    EXPECT_EQ(17, run(optional_member(GetParam())));
}

task<int> joined_text(pace how, std::string name) {
    const auto length = [](pace p, const std::string& text) -> task<int> {
        co_await breathe(p);
        co_return static_cast<int>(text.size());
    };
    co_return co_await length(how, std::string("a rather long prefix, ") + name);
}
TEST_P(ValueShapes, TemporaryBoundToAReferenceParameter) {
    EXPECT_EQ(26, run(joined_text(GetParam(), "name")));
}

class machine {
public:
    explicit machine(int value) : x_state(value) {}
    task<int> step(pace how) {
        x_state = co_await make(how, x_state.value() + 1);
        co_return x_state.value();
    }

private:
    counted x_state;
};

task<int> member_coroutine(pace how) {
    machine one(1);
    co_return co_await one.step(how) * 10 + co_await one.step(how);
}
TEST_P(ValueShapes, MemberCoroutine) {
    EXPECT_EQ(23, run(member_coroutine(GetParam())));
}

task<int> lambda_on_the_spot(pace how) {
    co_return co_await [](pace p, counted what) -> task<int> {
        co_await breathe(p);
        co_return what.value();
    }(how, counted(18));
}
TEST_P(ValueShapes, LambdaCoroutineCalledOnTheSpot) {
    EXPECT_EQ(18, run(lambda_on_the_spot(GetParam())));
}

task<int> recursion(pace how, int depth) {
    const counted local(depth);
    if (depth == 0) {
        co_return 0;
    }
    co_return co_await recursion(how, depth - 1) + (local.value() == depth ? 1 : 0);
}
TEST_P(ValueShapes, Recursion) {
    EXPECT_EQ(200, run(recursion(GetParam(), 200)));
}

INSTANTIATE_TEST_SUITE_P(
    Paces,
    ValueShapes,
    testing::Values(pace::immediate, pace::suspending),
    [](const auto& each) { return each.param == pace::immediate ? "Immediate" : "Suspending"; }
);

}  // namespace
}  // namespace sluice::toolchain
