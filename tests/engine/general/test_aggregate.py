"""Aggregates over random groups, with NULLs and values of every type, have DuckDB's answers."""

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
from raydb.engine.operators.aggregate.exact_sums import average, join_limbs, limb_sums
from raydb.engine.operators.codes import group_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED = 20260722
DAY = dt.date(2020, 1, 1)
TYPES = {
    "i": pa.int32(),
    "b": pa.int64(),
    "d": pa.float64(),
    "m": pa.decimal128(8, 2),
    "w": pa.decimal128(35, 2),
    "s": pa.string(),
    "t": pa.date32(),
    "ts": pa.timestamp("us"),
    "tm": pa.time64("us"),
    "o": pa.bool_(),
    "bl": pa.binary(),
}
KEYS = (
    *((), ("g",), ("s",), ("d",), ("m",), ("o",), ("t",), ("tm",), ("bl",), ("ts",), ("b",)),
    *(("g", "s"), ("i", "o"), ("w", "g"), ("g", "s", "o", "t")),
)


def random_value(random: Random, name: str) -> Any:
    match name:
        case "i":
            return random.randint(-3, 4)
        case "b":
            return random.choice((random.randint(-5, 5), 2**62, 2**63 - 1, -(2**63)))
        case "d":
            return random.choice((random.randint(-3, 3) / 2, random.random() * 10, 0.0))
        case "m":
            return Decimal(random.randint(-400, 400)).scaleb(-2)
        case "w":
            return Decimal(random.choice((1, 10**27)) * random.randint(-400, 400)).scaleb(-2)
        case "s":
            return random.choice(("a", "b", "ä", "", "zz"))
        case "t":
            return DAY + dt.timedelta(days=random.randint(-70, 70))
        case "ts":
            return dt.datetime(2020, 1, 1) + dt.timedelta(hours=random.randint(0, 2000))
        case "tm":
            return dt.time(random.randint(0, 23), random.randint(0, 59))
        case "o":
            return random.random() < 0.5
        case _:
            return random.choice((b"", b"\x00", b"a\xff"))


def random_table(random: Random) -> pa.Table:
    row_count, share = random.choice((0, 1, 2, 20, 60, 300)), random.choice((0, 0.2, 0.9))
    columns = {
        name: pa.array(
            [
                None if random.random() < share else random_value(random, name)
                for _ in range(row_count)
            ],
            kind,
        )
        for name, kind in TYPES.items()
    }
    groups = pa.array([random.choice((0, 1, 2, None)) for _ in range(row_count)], pa.int32())
    return pa.table({"id": pa.array(range(row_count), pa.int32()), "g": groups, **columns})


def functions(random: Random) -> list[str]:
    name, number = random.choice(list(TYPES)), random.choice(("i", "b", "m", "d", "w"))
    exact, one, two = random.choice("ibm"), random.choice("imd"), random.choice("imd")
    return [
        *("count(*)", f"count({name})", f"sum({number})", f"avg({number})", f"min({name})"),
        *(f"max({name})", f"count(distinct {name})", f"sum(distinct {exact})", "bool_or(o)"),
        *(f"avg(distinct {exact})", "bool_and(o)", "bit_and(i)", "bit_or(b)", "bit_xor(i)"),
        *(f"stddev({one})", f"var_pop({one})", f"stddev_pop({one})", f"variance({one})"),
        *(f"covar_pop({one}, {two})", f"covar_samp({one}, {two})", f"regr_count({one}, {two})"),
        *("regr_avgx(i, m)", "regr_avgy(i, m)", "regr_sxx(i, m)", "regr_sxy(i, m)"),
        *("median(i)", "median(ts)", "quantile_cont(d, 0.3)", f"quantile_disc({name}, 0.3)"),
        "percentile_cont(0.25) within group (order by d desc)",
        "percentile_disc(0.6) within group (order by s desc)",
        *("string_agg(s, '-' order by id)", "string_agg(distinct s, ',' order by s)"),
        *("list(id order by id)", "array_agg(i order by id desc)", "list(distinct i order by i)"),
        *(f"first({name} order by id)", f"last({name} order by id)"),
        *(f"first({name} order by {exact} desc nulls last, id)", f"arg_max({name}, id)"),
        *(f"any_value({name} order by id)", "arg_min(m, id)", "product(i)", "entropy(s)"),
        *("skewness(i)", "kurtosis(i)", "count(*) filter (where o)", "sum(1)", "sum(i + 1)"),
        *(f"sum({number}) filter (where i > 0)", f"max({name}) filter (where not o)"),
        *("count(distinct s) filter (where o)", "min(3)", "avg(2.5)"),
    ]


def random_query(random: Random) -> tuple[str, int]:
    """Return a query and the number of its keys."""
    keys = random.choice(KEYS)
    chosen = random.sample(functions(random), random.randint(1, 4))
    sql = f"SELECT {', '.join((*keys, *chosen))} FROM t"
    return sql + (f" GROUP BY {', '.join(keys)}" if keys else ""), len(keys)


def by_key(rows: list[tuple[Any, ...]], key_count: int) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [repr(key) for key in row[:key_count]])


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, float) or isinstance(right, float):
        return left == right or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


@pytest.mark.parametrize("number", range(25), ids="case-{}".format)
def test_random_groups(number: int, tmp_path: Path) -> None:
    random = Random(f"{SEED} groups {number}")
    table = random_table(random)
    theirs, ours = duckdb.connect(), raydb.connect()
    theirs.register("t", table)
    pq.write_table(table, tmp_path / "t.parquet")
    ours.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path / 't.parquet'}'")
    for _ in range(20):
        sql, key_count = random_query(random)
        expected = by_key(theirs.execute(sql).fetchall(), key_count)
        found = by_key(ours.execute(sql).fetchall(), key_count)
        wrong = [
            (left, right)
            for left, right in zip(expected, found, strict=True)
            if not all(map(same, left, right))
        ]
        assert not wrong, (sql, wrong[:3])


def all_keys(row_count: int) -> Iterator[list[pa.Array]]:
    """Yield keys that take each way to number groups."""
    random = np.random.default_rng(SEED)
    dense = pa.array(random.integers(0, 50, row_count))
    sparse = pa.array(random.integers(-(2**62), 2**62, 40)[random.integers(0, 40, row_count)])
    texts = pa.array([f"{n:03}" for n in random.integers(0, 50, row_count)])
    words = pa.array([None if n == 7 else "x" * n for n in random.integers(0, 9, row_count)])
    doubles = pa.array(random.choice([0.0, -0.0, math.nan, 1.5], row_count))
    yield from ([key] for key in (dense, sparse, texts, words, doubles))
    yield [sparse, words]
    yield [dense, sparse, texts, words, doubles]
    yield [pa.nulls(row_count), pa.chunked_array([dense[:10], dense[10:]])]


@pytest.mark.parametrize("number", range(8))
def test_groups_are_the_distinct_tuples(number: int) -> None:
    keys = list(all_keys(1000))[number]
    groups = group_rows(keys, 1000)
    # 0.0 equals -0.0, and NaN equals NaN.
    columns = [[repr(v + 0.0) if isinstance(v, float) else v for v in k.to_pylist()] for k in keys]
    tuples = list(zip(*columns, strict=True))
    of_group = [tuples[row] for row in groups.rows]
    assert len(set(of_group)) == len(of_group) == groups.members.count == len(set(tuples))
    assert [of_group[number] for number in groups.members.numbers] == tuples
    assert groups.members.sizes.sum() == 1000


@pytest.mark.parametrize("most", [10, 2**62, 2**63 - 1, 10**30, 10**37])
def test_limbs_add_up(most: int) -> None:
    random = Random(f"{SEED} limbs {most}")
    numbers = [random.randint(-most, most) for _ in range(100)]
    groups = np.array([random.randrange(3) for _ in numbers])
    kind = pa.int64() if most < 2**63 else pa.decimal128(38, 0)
    values = pa.chunked_array([pa.array(numbers[:30], kind), pa.array(numbers[30:], kind)])
    sums = limb_sums(values, groups, 4)
    exact = [sum(n for n, g in zip(numbers, groups, strict=True) if g == k) for k in range(3)]
    some = np.array([True, True, True, False])
    joined = join_limbs(sums, some, pa.decimal128(38, 0)).to_pylist()
    assert [None if s is None else int(s) for s in joined] == [*exact, None]
    counts = np.bincount(groups, minlength=4)
    expected = [total / int(n) for total, n in zip(exact, counts, strict=False)]
    assert average(sums, counts, kind).to_pylist() == [*expected, None]
