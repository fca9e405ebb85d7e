"""Window functions over random rows, with NULLs and ties, have DuckDB's answers."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb
from raydb.engine.operators.window import frames

if TYPE_CHECKING:
    from pathlib import Path

SEED = 20260721
DAY = dt.date(2020, 1, 1)
TYPES = {
    "i": pa.int32(),
    "b": pa.int64(),
    "d": pa.float64(),
    "m": pa.decimal128(8, 2),
    "s": pa.string(),
    "t": pa.date32(),
    "ts": pa.timestamp("us"),
    "o": pa.bool_(),
}
# Keys to which an offset of RANGE can be added, with offsets.
RANGES = {
    "i": ("0", "1", "2"),
    "d": ("0.5", "1"),
    "m": ("0.5", "2.25"),
    "t": ("interval '3' day", "interval '1' month", "interval '0' day"),
    "ts": ("interval '30' hour", "interval '1' month"),
}
BOUNDS = ("unbounded preceding", "{} preceding", "current row", "{} following")
EXCLUDES = ("", "", "", " exclude current row", " exclude group", " exclude ties")


@pytest.fixture(autouse=True)
def with_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loops fold few rows, too."""
    monkeypatch.setattr(frames, "_FEW_ROWS", -1)


def random_value(random: Random, name: str) -> Any:
    if random.random() < 0.2:
        return None
    match name:
        case "i":
            return random.randint(-3, 4)
        case "b":
            return random.choice((random.randint(-5, 5), 2**62, -(2**62), 2**63 - 1))
        case "d":
            return random.choice((random.randint(-3, 3) / 2, random.random(), math.inf, 1e300))
        case "m":
            return Decimal(random.randint(-400, 400)).scaleb(-2)
        case "s":
            return random.choice(("a", "b", "ä", "", "zz"))
        case "t":
            return DAY + dt.timedelta(days=random.randint(0, 70))
        case "ts":
            return dt.datetime(2020, 1, 1) + dt.timedelta(hours=random.randint(0, 2000))
        case _:
            return random.random() < 0.5


def random_table(random: Random, row_count: int) -> pa.Table:
    columns = {
        name: pa.array([random_value(random, name) for _ in range(row_count)], kind)
        for name, kind in TYPES.items()
    }
    groups = [random.choice((0, 1, 2, None)) for _ in range(row_count)]
    return pa.table({"id": range(row_count), "g": pa.array(groups, pa.int32()), **columns})


def random_frame(random: Random, key: str, is_total: bool) -> str:
    """Return a frame; ROWS only where the order leaves no choice."""
    units = [*(["rows"] if is_total else []), *([] if is_total else ["range"]), "groups"]
    unit = random.choice(units)
    first, last = sorted((random.randrange(4), random.randrange(4)))
    bounds = BOUNDS
    if unit == "range" and key not in RANGES:
        first, last, bounds = 0, random.choice((0, 1)), ("unbounded preceding", "current row")
        last = 1
    offsets = RANGES[key] if unit == "range" and key in RANGES else ("0", "1", "2")
    start = bounds[first].format(random.choice(offsets))
    end = "unbounded following" if last == 0 else bounds[last].format(random.choice(offsets))
    return f"{unit} between {start} and {end}{random.choice(EXCLUDES)}"


def random_function(random: Random, is_total: bool) -> str:
    name, number = random.choice(list(TYPES)), random.choice(("i", "b", "m"))
    functions = [
        *("rank()", "dense_rank()", "percent_rank()", "cume_dist()", "count(*)"),
        *(f"count({name})", f"min({name})", f"max({name})", f"sum({number})", f"avg({number})"),
        *("avg(d)", f"sum({number}) filter (where i > 0)", f"min({name}) filter (where i < 2)"),
        *(f"count(distinct {name})", f"sum(distinct {number})", "bool_and(o)", "stddev(i)"),
        *("median(i)", "bit_xor(i)", "count(*) filter (where o)", "bool_or(i > 1)", "bit_and(i)"),
        *(f"bit_or({random.choice('ib')})", "var_pop(m)", "stddev_pop(i) filter (where m > 0)"),
        *("covar_pop(i, m)", "covar_samp(m, i)", "sem(i)", "regr_count(m, b)", "skewness(i)"),
        *("kurtosis(i)", "kurtosis_pop(m)", f"quantile_disc({name}, {random.random():.2f})"),
        *("quantile_cont(i, 0.3)", "median(t)", "median(i) filter (where o)", "product(i)"),
        "mad(i)",
    ]
    if is_total:
        functions += [
            *("row_number()", f"ntile({random.randint(1, 7)})", f"lag({name})"),
            *(f"lead({name}, {random.randint(-2, 3)})", f"lag(i, {random.randint(0, 3)}, -7)"),
            *(f"lag({name}, 1 ignore nulls)", f"lead({name}, 2 ignore nulls)"),
            *(f"first_value({name})", f"last_value({name})", f"nth_value({name}, 2)"),
            *(f"first_value({name} ignore nulls)", f"last_value({name} ignore nulls)"),
            *("string_agg(s, '-')", f"nth_value({name}, 2 ignore nulls)"),
            *(f"any_value({name})", f"arg_min({name}, {number})", f"arg_max(s, {name})"),
            *(f"arg_max({name}, i) filter (where o)", f"any_value({name}) filter (where i > 0)"),
        ]
    return random.choice(functions)


def random_query(random: Random) -> str:
    partition = random.choice(("", "partition by g", "partition by s, g", "partition by d"))
    key, is_total = random.choice(list(TYPES)), random.random() < 0.5
    direction, nulls = random.choice(("asc", "desc")), random.choice(("first", "last"))
    order = f"order by {key} {direction} nulls {nulls}{', id' if is_total else ''}"
    frame = random_frame(random, key, is_total) if random.random() < 0.7 else ""
    function = random_function(random, is_total)
    return f"SELECT id, {function} OVER ({partition} {order} {frame}) FROM t ORDER BY id"


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, float) or isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=1e-11, abs_tol=1e-11)
    return bool(left == right)


@pytest.mark.parametrize("number", range(25), ids="case-{}".format)
def test_random_windows(number: int, tmp_path: Path) -> None:
    random = Random(f"{SEED} windows {number}")
    table = random_table(random, random.choice((0, 1, 2, 5, 20, 60)))
    theirs, ours = duckdb.connect(), raydb.connect()
    theirs.register("t", table)
    pq.write_table(table, tmp_path / "t.parquet")
    ours.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path / 't.parquet'}'")
    for _ in range(20):
        sql = random_query(random)
        expected, found = theirs.execute(sql).fetchall(), ours.execute(sql).fetchall()
        wrong = [
            (left, right)
            for left, right in zip(expected, found, strict=True)
            if left[0] != right[0] or not same(left[1], right[1])
        ]
        assert not wrong, (sql, wrong[:3])


# What DuckDB answers otherwise: NaN where there is no variance, medians of decimals as decimals.
OTHERS = (
    *("corr(m, i)", "corr(i, d)", "regr_slope(i, m)", "regr_intercept(m, i)", "regr_r2(m, i)"),
    *("stddev(d)", "var_pop(d) filter (where o)", "covar_samp(d, i)", "skewness(d)", "median(m)"),
    *("quantile_cont(m, 0.4)", "median(d)", "quantile_cont(ts, 0.7)", "count(distinct [i, b])"),
    *("quantile_disc(d, 0.5)", "product(d)", "entropy(i)", "sum(distinct b)", "list(s)"),
    *("arg_max(s, d)", "arg_min([i], ts)", "last(s)", "first(d)", "mode(i)", "max(distinct s)"),
)


@pytest.mark.parametrize("number", range(25), ids="case-{}".format)
def test_frames_have_what_their_rows_have_alone(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folds of moving frames give what the aggregate gives of each frame's rows."""
    random = Random(f"{SEED} frames {number}")
    con = raydb.connect()
    con.register("rows", random_table(random, random.choice((1, 5, 60, 200))))
    con.execute("CREATE TABLE t AS SELECT * FROM rows")
    for _ in range(10):
        sql = random_query(random)
        over = sql[sql.index(" OVER (") : sql.index(" FROM t ORDER BY id")]
        sql = f"SELECT id, {random.choice(OTHERS)}{over} FROM t ORDER BY id"
        found = con.execute(sql).fetchall()
        with monkeypatch.context() as patch:
            patch.setattr(frames, "_fold_of", lambda *_: None)
            expected = con.execute(f"{sql} -- anew").fetchall()
        wrong = [
            pair
            for pair in zip(expected, found, strict=True)
            if not same_or_nan(pair[0][1], pair[1][1])
        ]
        assert not wrong, (sql, wrong[:3])


def same_or_nan(left: Any, right: Any) -> bool:
    is_nan = [isinstance(each, float) and math.isnan(each) for each in (left, right)]
    return all(is_nan) or same(left, right)


@pytest.mark.parametrize("frame", ["order by i", "order by i rows 900 preceding", "partition by g"])
def test_many_rows_have_moments_of_numpy(frame: str) -> None:
    """Frames of many rows come of a tree: means far from zero, and groups that go on."""
    rng = np.random.default_rng(7)
    con = raydb.connect()
    table = pa.table({"i": range(5000), "g": rng.integers(0, 3, 5000), "x": 1e6 + rng.random(5000)})
    con.register("rows", table)
    con.execute("CREATE TABLE t AS SELECT * FROM rows")
    sql = f"SELECT i, g, var_pop(x) OVER ({frame}), covar_pop(x, i) OVER ({frame}) FROM t"
    x, i, g = (table.column(name).to_numpy() for name in "xig")
    for row, group, variance, covariance in con.execute(sql).fetchall()[::97]:
        if frame == "partition by g":
            some = g == group
        else:
            some = (i <= row) & (i >= (row - 900 if "900" in frame else 0))
        assert math.isclose(variance, np.var(x[some]), rel_tol=1e-9, abs_tol=1e-12)
        expected = np.cov(x[some], i[some], bias=True)[0, 1] if some.sum() > 1 else 0.0
        assert math.isclose(covariance, expected, rel_tol=1e-8, abs_tol=1e-8)


def test_a_row_outside_of_a_frame_costs_it_no_digits() -> None:
    """Moments in microseconds, one of them 0: means need more digits than a double has."""
    rng = np.random.default_rng(1)
    x = 1.7e15 + rng.integers(0, 1000, 3000).astype(float)
    x[0] = 0
    con = raydb.connect()
    con.register("rows", pa.table({"i": range(3000), "x": x}))
    con.execute("CREATE TABLE t AS SELECT * FROM rows")
    over = "OVER (ORDER BY i ROWS 99 PRECEDING)"
    sql = f"SELECT i, stddev_pop(x) {over}, regr_slope(x, i) {over} FROM t"
    for row, deviation, slope in con.execute(sql).fetchall()[100::131]:
        some = x[row - 99 : row + 1] - 1.7e15
        assert math.isclose(deviation, np.std(some), rel_tol=1e-12)
        assert math.isclose(slope, np.polyfit(np.arange(100.0), some, 1)[0], rel_tol=1e-9)


def moving(values: np.ndarray, width: int, fold: Any) -> list[float]:
    return [fold(values[max(0, place - width + 1) : place + 1]) for place in range(len(values))]


@pytest.mark.parametrize("width", [5, 100])
def test_moving_folds_of_doubles_lose_nothing(width: int, tmp_path: Path) -> None:
    """A large value that has left the frame leaves no trace, nor does an infinite one."""
    values = np.random.default_rng(SEED).normal(size=3000)
    values[::500] = 1e18
    values[1234] = np.inf
    pq.write_table(pa.table({"id": range(3000), "x": values}), tmp_path / "t.parquet")
    frame = f"(ORDER BY id ROWS {width - 1} PRECEDING)"
    rows = raydb.connect().execute(
        f"SELECT sum(x) OVER {frame}, min(x) OVER {frame}, max(x) OVER {frame}"
        f" FROM '{tmp_path / 't.parquet'}' ORDER BY id"
    )
    sums, least, most = zip(*rows.fetchall(), strict=True)
    assert sums == pytest.approx(moving(values, width, math.fsum), rel=1e-12, abs=1e-12)
    assert list(least) == moving(values, width, np.min)
    assert list(most) == moving(values, width, np.max)


def test_order_of_many_bits(tmp_path: Path) -> None:
    """Three keys of 64 bits do not fit one word, and their ranks do."""
    random = np.random.default_rng(SEED)
    columns = {name: random.normal(size=2000).round(1) for name in "abc"}
    table = pa.table({"id": range(2000), **columns})
    pq.write_table(table, tmp_path / "t.parquet")
    sql = (
        "SELECT id, row_number() OVER (PARTITION BY a ORDER BY b DESC, c, id DESC),"
        " rank() OVER (PARTITION BY a, b ORDER BY c) FROM t ORDER BY id"
    )
    theirs = duckdb.connect()
    theirs.register("t", table)
    found = raydb.connect().execute(sql.replace("FROM t", f"FROM '{tmp_path / 't.parquet'}'"))
    assert found.fetchall() == theirs.execute(sql).fetchall()
