"""GROUP BY of the general path against DuckDB and plain Python, over seeded random tables."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from node_database import (
    DOUBLE,
    INT32,
    INT64,
    TEXT,
    Database,
    call,
    lit,
    same_rows,
)

from raydb.errors import DataError
from raydb.planner.expressions.nodes import AggregateCall
from raydb.planner.plan.nodes import Aggregate, Filter

GROUPINGS = [[], ["a"], ["b"], ["x"], ["d"], ["s"], ["day"], ["f"], ["a", "s"], ["x", "f", "day"]]


@pytest.mark.parametrize("grouping", GROUPINGS, ids="-".join)
@pytest.mark.parametrize("name", ["t", "empty", "one"])
def test_aggregates(db, grouping, name):
    scan, t = db.scan(name)
    wanted = [("count(*)", AggregateCall("count_star", (), INT64))]
    for column in ("a", "b", "x", "d", "s", "day", "f"):
        kind = t[column].type
        wanted += [
            (
                f"{function}({column})",
                AggregateCall(function, (t[column],), INT64 if function == "count" else kind),
            )
            for function in ("count", "min", "max")
        ]
        wanted.append(
            (
                f"count(DISTINCT {column})",
                AggregateCall("count", (t[column],), INT64, distinct=True),
            )
        )
        wanted.append(
            (f"max(DISTINCT {column})", AggregateCall("max", (t[column],), kind, distinct=True))
        )
    total = pa.decimal128(38, 2)
    wanted += [
        ("sum(a)::BIGINT", AggregateCall("sum", (t["a"],), INT64)),
        ("sum(d)", AggregateCall("sum", (t["d"],), total)),
        ("sum(DISTINCT a)::BIGINT", AggregateCall("sum", (t["a"],), INT64, distinct=True)),
        ("sum(DISTINCT d)", AggregateCall("sum", (t["d"],), total, distinct=True)),
    ]
    keys = tuple((db.column(key, t[key].type), t[key]) for key in grouping)
    calls = tuple((db.column(sql, aggregate.type), aggregate) for sql, aggregate in wanted)
    listed = ", ".join([*grouping, *(sql for sql, _ in wanted)])
    by = f"GROUP BY {', '.join(grouping)}" if grouping else ""
    same_rows(db.run(Aggregate(scan, keys, calls)), db.sql(f"SELECT {listed} FROM {name} {by}"))


def reference(db, key, column, function):
    """Return {key: function of the group's values that are not NULL}, in exact numbers."""
    rows = db.tables["t"].rows
    groups = {}
    for group, value in zip(
        rows.column(key).to_pylist(), rows.column(column).to_pylist(), strict=True
    ):
        groups.setdefault(group, [])
        if value is not None:
            groups[group].append(value)
    return {group: function(values) if values else None for group, values in groups.items()}


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("column", ["a", "b", "d", "id"])
def test_averages_are_the_nearest_doubles(db, column, distinct):
    scan, t = db.scan("t")
    k, v = db.column("k", TEXT), db.column("v", DOUBLE)
    aggregate = AggregateCall("avg", (t[column],), DOUBLE, distinct)
    actual = dict(db.run(Aggregate(scan, ((k, t["s"]),), ((v, aggregate),))))

    def average(values):
        values = set(values) if distinct else values
        return float(sum(map(Fraction, values)) / len(values))

    assert actual == reference(db, "s", column, average)


@pytest.mark.parametrize("distinct", [False, True])
def test_sums_and_averages_of_doubles(distinct):
    values = pa.table({"k": [1, 1, 1, 2, 3, 3], "v": [0.5, 0.5, None, None, math.nan, 1.0]})
    db = Database(t=values)
    scan, t = db.scan("t")
    s, m = db.column("s", DOUBLE), db.column("m", DOUBLE)
    calls = (
        (s, AggregateCall("sum", (t["v"],), DOUBLE, distinct)),
        (m, AggregateCall("avg", (t["v"],), DOUBLE, distinct)),
    )
    rows = db.run(Aggregate(scan, ((t["k"], t["k"]),), calls))
    total = 0.5 if distinct else 1.0
    same_rows(rows, [(1, total, 0.5), (2, None, None), (3, "nan", "nan")])


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_sums_of_bigint_are_exact_or_an_error(keys):
    def total(values, target=INT64, distinct=False):
        table = pa.table({"k": pa.array([1] * len(values)), "v": pa.array(values, INT64)})
        db = Database(t=table)
        scan, t = db.scan("t")
        v = db.column("v", target)
        grouping = tuple((t[key], t[key]) for key in keys)
        plan = Aggregate(scan, grouping, ((v, AggregateCall("sum", (t["v"],), target, distinct)),))
        return db.run(plan)[0][-1]

    top = 2**63 - 1
    assert total([top, -top, top, None]) == top
    assert total([-(2**63), 0, None]) == -(2**63)
    assert total([top, top, -top, -top, -7]) == -7
    assert total([top, top, top], pa.decimal128(38, 0)) == 3 * top
    assert total([top, top, 3 - top], INT64, distinct=True) == 3
    for values in ([top, 1], [-(2**63), -1], [top] * 4):
        with pytest.raises(DataError, match=r"^the sum is out of range for BIGINT$"):
            total(values)


def test_sums_of_wide_decimals_are_exact_or_an_error():
    widest = pa.decimal128(38, 2)
    top, bottom = Decimal((0, (9,) * 38, -2)), Decimal((1, (9,) * 38, -2))
    db = Database(
        t=pa.table({"v": pa.array([top, bottom, top], widest)}),
        u=pa.table({"v": pa.array([top, top], widest)}),
    )
    v = db.column("v", widest)
    for name in ("t", "u"):
        scan, columns = db.scan(name)
        plan = Aggregate(scan, (), ((v, AggregateCall("sum", (columns["v"],), widest)),))
        if name == "t":
            assert db.run(plan) == [(top,)]
        else:
            with pytest.raises(DataError, match=r"^the sum is out of range for DECIMAL\(38,2\)$"):
                db.run(plan)


def test_sums_of_narrow_integers_widen():
    for kind in (pa.int8(), pa.int16(), INT32):
        top = 2 ** (kind.bit_width - 1) - 1
        db = Database(t=pa.table({"v": pa.array([top] * 1000, kind)}))
        scan, t = db.scan("t")
        s = db.column("s", INT64)
        assert db.run(Aggregate(scan, (), ((s, AggregateCall("sum", (t["v"],), INT64)),))) == [
            (1000 * top,)
        ]


def test_aggregates_of_type_null(db):
    scan, _ = db.scan("t")
    nothing = lit(None, pa.null())
    calls = [("sum", INT64), ("avg", DOUBLE), ("min", TEXT), ("max", TEXT), ("count", INT64)]
    items = tuple(
        (db.column(f, kind), AggregateCall(f, (nothing,), kind, d))
        for f, kind in calls
        for d in (False, True)
    )
    rows = db.run(Aggregate(scan, ((db.column("k", pa.null()), nothing),), items))
    assert rows == [(None, *[None] * 8, 0, 0)]


def test_group_by_expressions_and_having(db):
    scan, t = db.scan("t")
    k, n, s = db.column("k", INT32), db.column("n", INT64), db.column("s", INT64)
    key = call("modulo", t["a"], lit(2, INT32), kind=INT32)
    argument = call("add", t["a"], lit(1, INT32), kind=INT32)
    groups = Aggregate(
        scan,
        ((k, key),),
        (
            (n, AggregateCall("count_star", (), INT64)),
            (s, AggregateCall("sum", (argument,), INT64)),
        ),
    )
    having = Filter(groups, call("greater", n, lit(20, INT64)))
    same_rows(
        db.run(having),
        db.sql("SELECT a % 2, count(*), sum(a + 1)::BIGINT FROM t GROUP BY 1 HAVING count(*) > 20"),
    )


def test_distinct_rows(db):
    scan, t = db.scan("t")
    names = ("x", "f", "d")
    plan = Aggregate(scan, tuple((t[n], t[n]) for n in names), ())
    same_rows(db.run(plan), db.sql("SELECT DISTINCT x, f, d FROM t"))
