"""A star's aggregates taken apart, so that the groups of parts of its rows can be put together."""

import pyarrow as pa

from raydb.planner.expressions.nodes import AggregateCall, Attribute, Call, Column, Literal
from raydb.planner.plan.nodes import Star
from raydb.planner.stars.delta import part_star

A = Attribute((), "a", pa.int32())
D = Attribute((), "d", pa.decimal128(12, 2))
X = Attribute((), "x", pa.float64())
KEY = Column(4, "k", pa.int32())


def star(*calls):
    columns = (Column(10 + n, call.function, call.type) for n, call in enumerate(calls))
    return Star("f", ("f",), (), ((KEY, A),), tuple(zip(columns, calls, strict=True)))


def names(calls):
    return [f"{call.function}({', '.join(a.name for a in call.arguments)})" for _, call in calls]


def test_sums_counts_and_extremes_fold_by_themselves():
    total = AggregateCall("sum", (A,), pa.int64())
    count = AggregateCall("count", (A,), pa.int64())
    least = AggregateCall("min", (D,), D.type)
    parted = part_star(star(total, count, least))
    assert names(parted.star.aggregates) == ["sum(a)", "count(a)", "min(d)"]
    assert names(parted.merged) == ["sum(sum)", "sum(count)", "min(min)"]
    assert [call.type for _, call in parted.merged] == [pa.int64(), pa.int64(), D.type]
    assert parted.star.keys == ((KEY, A),)
    # A count of nothing is 0, not NULL.
    counted = parted.merged[1][0]
    assert parted.items[2][1] == Call("coalesce", (counted, Literal(0, pa.int64())), pa.int64())


def test_an_average_is_a_sum_of_all_digits_and_a_count():
    calls = [AggregateCall("avg", (each,), pa.float64()) for each in (A, D, X)]
    parted = part_star(star(*calls, AggregateCall("count", (A,), pa.int64())))
    assert names(parted.merged)[:3] == ["avg_of_sums(sum, count)"] * 3
    sums = [call.type for _, call in parted.star.aggregates if call.function == "sum"]
    assert sums == [pa.decimal128(38, 0), pa.decimal128(38, 2), pa.float64()]
    # The count of the average is that of the query.
    assert names(parted.star.aggregates).count("count(a)") == 1


def test_an_average_that_may_need_more_digits_is_refused():
    wide = Attribute((), "wide", pa.decimal128(38, 4))
    reason = part_star(star(AggregateCall("avg", (wide,), pa.float64())))
    assert reason == "the sum that AVG over DECIMAL(38,4) needs may not fit 38 digits"


def test_distinct_arguments_become_keys():
    calls = [AggregateCall("count", (each,), pa.int64(), distinct=True) for each in (A, D, A)]
    parted = part_star(star(*calls))
    assert [key for _, key in parted.star.keys] == [A, A, D]
    assert parted.star.aggregates == ()
    assert [call.distinct for _, call in parted.merged] == [True] * 3
    columns = [column for column, _ in (*parted.star.keys, *parted.star.aggregates)]
    assert len({column.number for column in columns}) == len(columns)
