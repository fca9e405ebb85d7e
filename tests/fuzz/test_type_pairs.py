"""Casts and comparisons of all pairs of types, at the bounds of each.

Comparisons have an exact answer, of fractions or, where one side is REAL or DOUBLE, of doubles.
Every place where a comparison may stand must give it: expressions, joins, IN, CASE, constants.
DuckDB is asked about casts and set operations; `intended` is where RayDB differs on purpose, as
docs/sql/types.md says.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import random
from decimal import Context, Decimal
from itertools import product

import duckdb
import pytest
from stars import SEED

import raydb

EXACT = Context(prec=100)
FLOATS = ("REAL", "DOUBLE")
MOMENTS = ("DATE", "TIMESTAMP")
OF_FLOATS = "0 1 0.5 -1.5 0.1 -0.0 9007199254740992 9223372036854775807 NaN Infinity -Infinity"
# Values at the bounds, and beside those of other types.
VALUES = {
    "TINYINT": "-128 127 0 1",
    "SMALLINT": "-32768 32767 0 1 128",
    "INTEGER": "-2147483648 2147483647 0 1 16777217",
    "BIGINT": "-9223372036854775808 9223372036854775807 0 1 9007199254740993",
    "HUGEINT": f"{'9' * 38} -{'9' * 38} 0 1 9223372036854775808 9007199254740993",
    "DECIMAL(4,2)": "99.99 -99.99 0 1 0.5 2.5 -0.5",
    "DECIMAL(18,3)": "999999999999999.999 -999999999999999.999 0 1 0.5",
    "DECIMAL(20,2)": "999999999999999999.99 9007199254740993 9007199254740992 0 1 0.5",
    "DECIMAL(38,2)": f"{'9' * 36}.99 -{'9' * 36}.99 0 1 9007199254740993",
    "DECIMAL(38,19)": f"{'9' * 19}.{'9' * 19} 1 0 -0.5 9223372036854775807 9223372036854775808",
    "DECIMAL(38,38)": f"0.{'9' * 38} -0.{'9' * 38} 0 0.5 0.{'0' * 37}1",
    "REAL": f"{OF_FLOATS} 3.4028234663852886e38 1e-45 16777216",
    "DOUBLE": f"{OF_FLOATS} 1.7976931348623157e308 5e-324 1e38 127.5 2.5",
    "DATE": "2024-02-29 1969-12-31 0001-01-01 9999-12-31",
    "TIMESTAMP": "2024-02-29T00:00:00 1969-12-31T23:59:59.999999 0001-01-01T00:00:00"
    " 9999-12-31T23:59:59.999999",
    "BOOLEAN": "true false",
    "VARCHAR": f"a 1 -1 0.5 1.5e0 2024-02-29 true f {'9' * 38} 1{'0' * 38} {2**128 + 1} 4e38 1e400"
    f" 1e -0 +5 .5 0.{'1' * 60}",
}
NAMES = {kind: f"t{number}" for number, kind in enumerate(VALUES)}
NUMBERS = [kind for kind in VALUES if kind not in (*MOMENTS, "BOOLEAN", "VARCHAR")]
COMPARABLE = [*product(NUMBERS, NUMBERS), *product(MOMENTS, MOMENTS)]
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
# How many pairs of types are compared; 0 is all.
COUNT = int(os.environ.get("RAYDB_TYPE_PAIRS", "10")) or len(COMPARABLE)
SAMPLED = random.Random(SEED).sample(COMPARABLE, COUNT)
EXACT_PAIRS = [kinds for kinds in SAMPLED if not set(kinds) & set(FLOATS)]


def literal(kind, text):
    return f"CAST('{text}' AS {kind})"


@pytest.fixture(scope="module")
def rivals():
    """RayDB and DuckDB with a table of values for each type, NULL as the last one."""
    both = raydb.connect(), duckdb.connect()
    for con in both:
        for kind, table in NAMES.items():
            texts = VALUES[kind].split()
            rows = [f"({i}, {literal(kind, text)})" for i, text in enumerate(texts)]
            con.execute(f"CREATE TABLE {table} (i INTEGER, v {kind})")
            con.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}, ({len(rows)}, NULL)")
    return both


def shown(value):
    """Return a value as both databases have it: NaN equals itself, 1.50 is 1.5."""
    match value:
        case Decimal():
            return value.normalize(EXACT)
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return value + 0.0
        case _:
            return value


def answer(con, query):
    return [tuple(map(shown, row)) for row in con.execute(query).fetchall()]


def stored(con, kind):
    return [value for (value,) in con.execute(f"SELECT v FROM {NAMES[kind]} ORDER BY i").fetchall()]


def compared(value, kinds):
    """Return a value as what compares in Python as SQL does; NaN is the greatest."""
    if any(kind in FLOATS for kind in kinds):
        number = float(value)
        return (1, 0.0) if math.isnan(number) else (0, number)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return value


def expected(con, kinds, operator):
    """Return the answer for each pair of rows."""
    holds = {
        "=": lambda one, other: one == other,
        "<>": lambda one, other: one != other,
        "<": lambda one, other: one < other,
        "<=": lambda one, other: one <= other,
        ">": lambda one, other: one > other,
        ">=": lambda one, other: one >= other,
    }[operator]
    sides = (enumerate(stored(con, kind)) for kind in kinds)
    return {
        (i, j): None if None in (a, b) else holds(compared(a, kinds), compared(b, kinds))
        for (i, a), (j, b) in product(*sides)
    }


@pytest.mark.parametrize("kinds", SAMPLED, ids=" and ".join)
def test_comparisons_are_exact_wherever_they_stand(rivals, kinds):
    con, _ = rivals
    one, other = (NAMES[kind] for kind in kinds)
    pairs = f"{one} AS a, {other} AS b"
    for operator in OPERATORS:
        wanted = expected(con, kinds, operator)
        partners = {pair for pair, holds in wanted.items() if holds}
        rows = con.execute(f"SELECT a.i, b.i, a.v {operator} b.v FROM {pairs}").fetchall()
        assert {(i, j): holds for i, j, holds in rows} == wanted, operator
        joined = f"SELECT a.i, b.i FROM {one} AS a JOIN {other} AS b ON a.v {operator} b.v"
        assert sorted(con.execute(joined).fetchall()) == sorted(partners), operator
    wanted = expected(con, kinds, "=")
    found = sorted({i for (i, _), holds in wanted.items() if holds})
    count = len(VALUES[kinds[0]].split()) + 1
    rest = sorted(set(range(count)) - set(found))
    queries = {
        f"SELECT i FROM {one} WHERE v IN (SELECT v FROM {other})": found,
        f"SELECT i FROM {one} AS a WHERE NOT EXISTS (SELECT 1 FROM {other} AS b WHERE a.v = b.v)": (
            rest
        ),
    }
    for query, rows in queries.items():
        assert sorted(i for (i,) in con.execute(query).fetchall()) == rows, query
    forms = "a.v IS NOT DISTINCT FROM b.v, CASE a.v WHEN b.v THEN true ELSE false END, a.v IN (b.v)"
    for i, j, same, chosen, among in con.execute(f"SELECT a.i, b.i, {forms} FROM {pairs}"):
        equal = wanted[i, j]
        both_null = i == count - 1 and j == len(VALUES[kinds[1]].split())
        assert (same, chosen, among) == (bool(equal) or both_null, bool(equal), equal), (i, j)


@pytest.mark.parametrize("kinds", SAMPLED, ids=" and ".join)
def test_constants_are_compared_as_columns_are(rivals, kinds):
    con, _ = rivals
    wanted = {operator: expected(con, kinds, operator) for operator in ("=", "<", ">=")}
    for j, text in enumerate(VALUES[kinds[1]].split()):
        value = literal(kinds[1], text)
        query = f"SELECT i, v = {value}, v < {value}, v >= {value} FROM {NAMES[kinds[0]]}"
        for i, *found in con.execute(query).fetchall():
            assert found == [wanted[operator][i, j] for operator in wanted], (i, text)
        kept = con.execute(f"SELECT i FROM {NAMES[kinds[0]]} WHERE v IN ({value})").fetchall()
        assert sorted(kept) == sorted((i,) for (i, k), h in wanted["="].items() if h and k == j)


def intended(source, target, value, theirs):
    """Say whether a cast differs from DuckDB's on purpose."""
    if source == "VARCHAR":
        # An integer is written as one, the digits of a decimal have no end, and no number is
        # infinite unless its text says so.
        fraction = set(value) & set(".eE")
        is_integer = "INT" in target
        long = len(value) > 38 or "e" in value
        return (is_integer and fraction) or long or (theirs in (math.inf, -math.inf))
    if target == "VARCHAR" and source == "DECIMAL(38,38)":
        return True  # 0.5 and not .5
    if target == "HUGEINT" and source in FLOATS:
        return True  # HUGEINT is a DECIMAL, whose halves are rounded away from zero
    return source == "BOOLEAN" and target == "DECIMAL(38,38)"  # true is 1, which has no room


@pytest.mark.parametrize("source", VALUES)
def test_casts_agree_with_duckdb_and_with_themselves(rivals, source):
    con, rival = rivals
    texts = VALUES[source].split()
    for target in VALUES:
        query = f"SELECT i, TRY_CAST(v AS {target}) FROM {NAMES[source]} WHERE v IS NOT NULL"
        try:
            ours = dict(answer(con, query))
        except raydb.ProgrammingError as error:
            if "cannot cast" not in str(error):
                raise
            continue
        theirs = dict(answer(rival, query))
        for i, text in enumerate(texts):
            value = literal(source, text) if source != "VARCHAR" else f"'{text}'"
            try:
                ((alone,),) = answer(con, f"SELECT CAST({value} AS {target})")
            except raydb.DataError:
                alone = None
            assert alone == ours[i], (target, text)
            assert ours[i] == theirs[i] or intended(source, target, text, theirs[i]), (target, text)


@pytest.mark.parametrize("kinds", EXACT_PAIRS, ids=" and ".join)
def test_set_operations_keep_every_digit_or_fail(rivals, kinds):
    con, _ = rivals
    one, other = (NAMES[kind] for kind in kinds)
    sides = [[compared(value, kinds) for value in stored(con, kind)] for kind in kinds]
    wanted = {
        "UNION": set(sides[0]) | set(sides[1]),
        "INTERSECT": set(sides[0]) & set(sides[1]),
        "EXCEPT": set(sides[0]) - set(sides[1]),
    }
    for word, values in wanted.items():
        try:
            rows = con.execute(f"SELECT v FROM {one} {word} SELECT v FROM {other}").fetchall()
        except raydb.DataError as error:
            if "is out of range for DECIMAL(38," not in str(error):
                raise
            continue
        found = [compared(value, kinds) for (value,) in rows]
        assert len(found) == len(values)
        assert set(found) == values
