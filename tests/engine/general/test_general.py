"""The nodes of the general path against DuckDB and plain Python, over seeded random tables."""

from __future__ import annotations

import functools
import random

import numpy as np
import pyarrow as pa
import pytest
from node_database import (
    BOOL,
    INT32,
    INT64,
    SEED,
    TEXT,
    Database,
    call,
    lit,
    no_fused_jobs,
    rows_of,
    same_rows,
    statement_context,
)

from raydb.engine.operators import relation, steps
from raydb.engine.operators.run import Sources, run_plan
from raydb.errors import DataError, InternalError, OperationalError
from raydb.planner.expressions.nodes import AggregateCall, Column
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    HashJoin,
    Limit,
    Project,
    Scan,
    Sort,
    SortKey,
    Star,
    Values,
)
from raydb.planner.stars.table_scan import FusedTableScan

# -- scans, constants, filters, computed columns


def test_scan_is_zero_copy(db):
    scan, t = db.scan("t")
    pruned = Scan("t", (t["s"], t["a"]))
    table = run_plan(pruned, Sources(db.tables, no_fused_jobs, statement_context()))
    source = db.tables["t"].rows.column("a").chunk(0).buffers()[1].address
    assert table.column(1).chunk(0).buffers()[1].address == source
    same_rows(db.run(scan), db.sql("FROM t"))


def test_constant_rows(db):
    a, b = db.column("a", INT64), db.column("b", TEXT)
    sum_of_two = call("add", lit(1, INT64), lit(2, INT64), kind=INT64)
    rows = ((lit(1, INT64), lit("x", TEXT)), (sum_of_two, lit(None, pa.null())))
    assert db.run(Values((a, b), rows)) == [(1, "x"), (3, None)]
    assert db.run(Values((a,), ())) == []


def test_select_without_from(db):
    source = Values((), ((),))
    a = db.column("a", INT64)
    assert db.run(Project(source, ((a, lit(7, INT64)),))) == [(7,)]
    never = Filter(source, lit(False, BOOL))
    assert db.run(Project(never, ((a, lit(7, INT64)),))) == []
    count = Aggregate(source, (), ((a, AggregateCall("count_star", (), INT64)),))
    assert db.run(count) == [(1,)]


@pytest.mark.parametrize("name", ["t", "empty", "one"])
def test_filter_and_compute(db, name):
    scan, t = db.scan(name)
    kept = Filter(scan, call("greater", t["a"], lit(0, INT32)))
    twice, text = db.column("twice", INT32), db.column("text", TEXT)
    doubled = call("multiply", t["a"], lit(2, INT32), kind=INT32)
    computed = Project(kept, ((twice, doubled), (t["s"], t["s"]), (text, lit("k", TEXT))))
    again = Filter(computed, call("less", twice, lit(6, INT32)))
    expected = f"SELECT a * 2, s, 'k' FROM {name} WHERE a > 0 AND a * 2 < 6"
    assert db.run(again) == db.sql(expected)
    assert db.run(Filter(scan, lit(None, BOOL))) == []
    assert db.run(kept) == db.sql(f"FROM {name} WHERE a > 0")


def test_filters_run_in_order_and_guard_what_follows(db):
    scan, t = db.scan("t")
    nonzero = Filter(scan, call("not_equal", t["a"], lit(0, INT32)))
    quotient = call("divide", lit(12, INT32), t["a"], kind=INT32)
    q = db.column("q", INT32)
    assert db.run(Project(nonzero, ((q, quotient),))) == db.sql(
        "SELECT 12 // a FROM t WHERE a <> 0"
    )
    with pytest.raises(DataError, match="division by zero"):
        db.run(Project(scan, ((q, quotient),)))


def test_columns_that_nothing_reads_are_not_computed(db):
    scan, t = db.scan("t")
    bad, good, n = db.column("bad", INT32), db.column("good", INT32), db.column("n", INT64)
    zero = lit(0, INT32)
    computed = Project(scan, ((bad, call("divide", t["a"], zero, kind=INT32)), (good, t["a"])))
    total = Aggregate(computed, (), ((n, AggregateCall("count", (good,), INT64)),))
    assert db.run(total) == db.sql("SELECT count(a) FROM t")


def test_more_rows_than_a_morsel(monkeypatch, db):
    monkeypatch.setattr(relation, "MORSEL_ROWS", 7)
    scan, t = db.scan("t")
    total = db.column("total", INT64)
    sum_of = call("add", call("cast", t["a"], kind=INT64), t["id"], kind=INT64)
    plan = Project(Filter(scan, call("less", t["s"], lit("b", TEXT))), ((total, sum_of),))
    assert db.run(plan) == db.sql("SELECT a + id FROM t WHERE s < 'b' ORDER BY id")
    last = call(
        "divide", lit(1, INT64), call("subtract", t["id"], lit(199, INT64), kind=INT64), kind=INT64
    )
    with pytest.raises(DataError, match="division by zero"):
        db.run(Project(scan, ((total, last),)))


# -- joins


KEYS = {
    "int": (["a"], "l.a = r.a"),
    "bigint": (["b"], "l.b = r.b"),
    "double": (["x"], "l.x = r.x"),
    "decimal": (["d"], "l.d = r.d"),
    "text": (["s"], "l.s = r.s"),
    "date": (["day"], "l.day = r.day"),
    "bool": (["f"], "l.f = r.f"),
    "two": (["a", "s"], "l.a = r.a AND l.s = r.s"),
    "none": ([], "true"),
}


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("residual", [False, True])
def test_joins(db, kind, keys, residual):
    names, condition = KEYS[keys]
    for left_name, right_name in [
        ("t", "u"),
        ("u", "t"),
        ("empty", "t"),
        ("t", "empty"),
        ("one", "t"),
        ("t", "one"),
    ]:
        left, lc = db.scan(left_name)
        right, rc = db.scan(right_name)
        tests = (
            (call("less", lc["id"], rc["id"]), call("not_equal", lc["f"], rc["f"]))
            if residual
            else ()
        )
        plan = HashJoin(
            kind, left, right, tuple(lc[n] for n in names), tuple(rc[n] for n in names), tests
        )
        on = condition + (" AND l.id < r.id AND l.f <> r.f" if residual else "")
        same_rows(
            db.run(plan), db.sql(f"SELECT * FROM {left_name} l {kind} JOIN {right_name} r ON {on}")
        )


def test_join_on_expressions_carries_only_what_is_read(db):
    left, lc = db.scan("t")
    right, rc = db.scan("u")
    key = call("add", lc["a"], lit(1, INT32), kind=INT32)
    joined = HashJoin("left", left, right, (key,), (rc["a"],), (call("less", lc["id"], rc["id"]),))
    n = db.column("n", INT64)
    count = Aggregate(joined, (), ((n, AggregateCall("count_star", (), INT64)),))
    expected = "FROM t l LEFT JOIN u r ON l.a + 1 = r.a AND l.id < r.id"
    assert db.run(count) == db.sql(f"SELECT count(*) {expected}")
    by_text = Aggregate(
        joined, ((rc["s"], rc["s"]),), ((n, AggregateCall("count", (lc["x"],), INT64)),)
    )
    same_rows(db.run(by_text), db.sql(f"SELECT r.s, count(l.x) {expected} GROUP BY r.s"))


def test_join_without_any_column(db):
    left, lc = db.scan("t")
    right, rc = db.scan("u")
    n = db.column("n", INT64)
    for keys, on in (((lc["s"],), (rc["s"],)), ((), ())):
        joined = HashJoin("inner", left, right, keys, on)
        count = Aggregate(joined, (), ((n, AggregateCall("count_star", (), INT64)),))
        condition = "l.s = r.s" if keys else "true"
        assert db.run(count) == db.sql(f"SELECT count(*) FROM t l JOIN u r ON {condition}")


def test_join_of_type_null(db):
    left, lc = db.scan("t")
    right, rc = db.scan("u")
    nothing = db.column("nothing", pa.null())
    left = Project(left, ((nothing, lit(None, pa.null())), (lc["id"], lc["id"])))
    key = (nothing,)
    assert db.run(HashJoin("inner", left, right, key, (lit(None, pa.null()),))) == []
    rows = db.run(HashJoin("full", left, right, key, (lit(None, pa.null()),)))
    assert len(rows) == 290
    same_key = HashJoin("inner", left, right, (lc["id"],), (rc["id"],))
    assert [row[0] for row in db.run(same_key)] == [None] * 90


def test_lists_are_carried_by_a_join_and_are_its_keys():
    db = Database(t=pa.table({"a": [[1], [2]], "id": [1, 2]}))
    left, lc = db.scan("t")
    right, rc = db.scan("t")
    for name in ("id", "a"):
        assert db.run(HashJoin("inner", left, right, (lc[name],), (rc[name],))) == [
            ([1], 1, [1], 1),
            ([2], 2, [2], 2),
        ]


def test_a_table_joined_with_itself_many_times(db):
    plan, first = db.scan("one")
    for _ in range(4):
        other, columns = db.scan("one")
        plan = HashJoin("inner", plan, other, (first["id"],), (columns["id"],))
    assert len(db.run(plan)) == 1


def test_cross_product_in_morsels(monkeypatch, db):
    monkeypatch.setattr("raydb.engine.operators.join.partners.MORSEL_ROWS", 50)
    left, lc = db.scan("t")
    right, rc = db.scan("u")
    plan = HashJoin(
        "full",
        left,
        right,
        (),
        (),
        (call("less", call("add", lc["id"], lit(150, INT64), kind=INT64), rc["id"]),),
    )
    same_rows(db.run(plan), db.sql("FROM t l FULL JOIN u r ON l.id + 150 < r.id"))


# -- order


def in_order(rows, keys):
    """Sort rows with Python; `keys` are (position, descending, nulls_first)."""

    def compare(one, other):
        for position, descending, nulls_first in keys:
            a, b = one[position], other[position]
            if a == b:
                continue
            if a is None or b is None:
                return -1 if (a is None) == nulls_first else 1
            if (
                "nan" in (a, b)
                and isinstance(a, float | str)
                and isinstance(b, float | str)
                and not (isinstance(a, str) and isinstance(b, str))
            ):
                less = b == "nan"
            elif isinstance(a, str):
                less = a.encode() < b.encode()
            else:
                less = a < b
            return -1 if less != descending else 1
        return 0

    return sorted(rows, key=functools.cmp_to_key(compare))


@pytest.mark.parametrize("seed", range(30))
def test_sort_and_limit(db, seed):
    draw = random.Random(SEED * 100 + seed)
    scan, t = db.scan("t")
    names = list(t)
    chosen = draw.sample(names[:-1], draw.randint(1, 3))
    keys = [(name, draw.random() < 0.5, draw.random() < 0.5) for name in chosen]
    plan = Sort(scan, tuple(SortKey(t[name], *how) for name, *how in keys))
    rows = db.sql("SELECT * FROM t ORDER BY id")
    expected = in_order(rows, [(names.index(name), *how) for name, *how in keys])
    assert db.run(plan) == expected, f"seed {SEED}, {keys}"
    for count, offset in ((5, 0), (10, 12), (0, 0), (None, 190), (150, 100), (5, 1000)):
        stop = None if count is None else offset + count
        limited = Limit(plan, count, offset)
        assert db.run(limited) == expected[offset:stop], f"seed {SEED}, {keys}, {count}, {offset}"
    only = Project(plan, ((t["id"], t["id"]),))
    assert db.run(Limit(only, 7, 3)) == [(row[-1],) for row in expected[3:10]]
    assert db.run(only) == [(row[-1],) for row in expected]


def test_sort_of_few_rows_and_of_nothing_but_nulls(db):
    for name in ("empty", "one"):
        scan, t = db.scan(name)
        same_rows(db.run(Sort(scan, (SortKey(t["s"]),))), db.sql(f"FROM {name}"))
    scan, t = db.scan("t")
    nothing = db.column("nothing", pa.null())
    plan = Sort(
        Project(scan, ((nothing, lit(None, pa.null())), (t["id"], t["id"]))),
        (SortKey(nothing),),
    )
    assert db.run(plan) == [(None, i) for i in range(200)]


def test_limit_without_order(db):
    scan, t = db.scan("t")
    everything = db.run(scan)
    assert db.run(Limit(scan, 3, 2)) == everything[2:5]
    assert db.run(Limit(scan, None, 198)) == everything[198:]
    assert db.run(Limit(scan, 10**30, 10**30)) == []
    unread = call("divide", t["id"], t["id"], kind=INT64)  # fails for row 0
    plan = Limit(Project(scan, ((db.column("q", INT64), unread),)), 3, 1)
    assert db.run(plan) == [(1,)] * 3


# -- fused jobs, large text, failures


def test_fused_jobs_are_handed_over(db):
    key, total = db.column("k", TEXT), db.column("s", INT64)
    calls = ((total, AggregateCall("sum", (lit(1, INT64),), INT64)),)
    star = Star("t", ("t",), (), ((key, lit("?", TEXT)),), calls)
    job = FusedTableScan(star, "cpu", "", "", 3)
    result = relation.Relation({key: pa.array(["a", "b"]), total: pa.array([1, 2])}, 2)
    plan = Limit(Sort(job, (SortKey(total, descending=True),)), 1, 0)
    table = run_plan(plan, Sources({}, {job: result}.__getitem__, statement_context()))
    assert rows_of(table) == [("b", 2)]


def test_texts_that_are_all_null_fit_one_array(monkeypatch):
    monkeypatch.setattr(relation, "_JOINED_BYTES", 1)
    text = Column(0, "text", TEXT)
    rows = relation.Relation({text: pa.nulls(9, TEXT)}, 9)
    assert rows.take(pa.array([1, 2])).columns[text].to_pylist() == [None, None]


def test_text_beyond_one_array(monkeypatch, db):
    monkeypatch.setattr(relation, "_JOINED_BYTES", 10)
    monkeypatch.setattr(relation, "MORSEL_ROWS", 16)
    scan, t = db.scan("t")
    right, u = db.scan("u")
    ordered = Sort(scan, (SortKey(t["s"]), SortKey(t["id"])))
    assert db.run(ordered) == in_order(
        db.sql("SELECT * FROM t ORDER BY id"), [(4, False, False), (7, False, False)]
    )
    low, n = db.column("low", TEXT), db.column("n", INT64)
    grouped = Aggregate(
        Filter(scan, call("like", t["s"], lit("%", TEXT))),
        ((low, call("upper", t["s"], kind=TEXT)),),
        ((n, AggregateCall("count_star", (), INT64)),),
    )
    same_rows(
        db.run(grouped), db.sql("SELECT upper(s), count(*) FROM t WHERE s IS NOT NULL GROUP BY 1")
    )
    joined = HashJoin(
        "full", scan, right, (t["s"],), (u["s"],), (call("less", t["s"], lit("b", TEXT)),)
    )
    same_rows(db.run(joined), db.sql("FROM t l FULL JOIN u r ON l.s = r.s AND l.s < 'b'"))


@pytest.mark.parametrize(
    ("failure", "raised", "message"),
    [
        (
            pa.ArrowMemoryError("malloc of size 1 failed"),
            OperationalError,
            "there is not enough memory",
        ),
        (MemoryError(), OperationalError, "there is not enough memory"),
        (pa.ArrowInvalid("odd"), InternalError, "Arrow failed to run the plan: odd"),
        (DataError("division by zero"), DataError, "division by zero"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_failures(monkeypatch, db, failure, raised, message):
    def fail(*arguments):
        raise failure

    scan, t = db.scan("t")
    monkeypatch.setattr(relation, "MORSEL_ROWS", 7)
    monkeypatch.setattr(steps, "evaluate", fail)
    with pytest.raises(raised, match=message):
        run_plan(Filter(scan, t["f"]), Sources(db.tables, no_fused_jobs, statement_context()))
    monkeypatch.undo()
    assert len(db.run(Filter(scan, t["f"]))) == db.sql("SELECT count(*) FROM t WHERE f")[0][0]


def test_a_star_join_of_many_rows():
    """Three dimensions, more rows than a morsel: joins and groups run in threads."""
    draw = np.random.default_rng(SEED)
    rows = 300_000
    fact = pa.table(
        {
            "day": draw.integers(0, 2000, rows).astype(np.int32),
            "part": draw.integers(0, 5000, rows).astype(np.int32),
            "supplier": draw.integers(0, 400, rows).astype(np.int32),
            "revenue": draw.integers(-(10**6), 10**7, rows),
        }
    )
    dimensions = {
        "days": pa.table(
            {
                "day": pa.array(range(1990), INT32),
                "year": pa.array([1992 + i // 365 for i in range(1990)], INT32),
            }
        ),
        "parts": pa.table(
            {"part": pa.array(range(5000), INT32), "brand": [f"B{i % 40}" for i in range(5000)]}
        ),
        "suppliers": pa.table(
            {
                "supplier": pa.array(range(400), INT32),
                "region": ["ASIA" if i % 5 else None for i in range(400)],
            }
        ),
    }
    db = Database(fact=fact, **dimensions)
    plan, f = db.scan("fact")
    found = {}
    for name, key in (("days", "day"), ("parts", "part"), ("suppliers", "supplier")):
        dimension, columns = db.scan(name)
        found |= columns
        if name == "suppliers":
            dimension = Filter(dimension, call("equal", columns["region"], lit("ASIA", TEXT)))
        plan = HashJoin("inner", plan, dimension, (f[key],), (columns[key],))
    s, m = db.column("s", INT64), db.column("m", INT64)
    calls = (
        (s, AggregateCall("sum", (f["revenue"],), INT64)),
        (m, AggregateCall("max", (f["revenue"],), INT64)),
    )
    keys = tuple((found[name], found[name]) for name in ("year", "brand"))
    ordered = Sort(Aggregate(plan, keys, calls), tuple(SortKey(column) for column, _ in keys))
    expected = db.sql(
        "SELECT year, brand, sum(revenue)::BIGINT, max(revenue) FROM fact JOIN days USING (day) "
        "JOIN parts USING (part) JOIN suppliers USING (supplier) WHERE region = 'ASIA' "
        "GROUP BY ALL ORDER BY ALL"
    )
    assert db.run(ordered) == expected
