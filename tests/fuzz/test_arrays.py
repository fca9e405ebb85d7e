"""Arrays of any type give what DuckDB gives: compared, grouped, joined, cast, in functions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from stars import SEED

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ELEMENTS = {
    "INTEGER": "0 1 2 -1",
    "BIGINT": "0 9223372036854775807 -1",
    "VARCHAR": "'a' 'b' '' 'a,b' 'it''s'",
    "DATE": "DATE'2024-02-29' DATE'1969-12-31'",
    "DECIMAL(5,2)": "1.50 -2.25 0",
    "DOUBLE": "0.5 -1.5 'nan'::DOUBLE 'inf'::DOUBLE",
    "BOOLEAN": "true false",
    "TIME": "TIME'10:37:00' TIME'00:00:00'",
}
EXPRESSIONS = (
    *("a", "a::VARCHAR", "typeof(a)", "a[1]", "a[-1]", "a[9]", "a[1:2]", "len(a)", "a || a"),
    *("list_sort(a)", "list_reverse(a)", "list_distinct(a)::VARCHAR[] = []", "a IS NULL"),
    *("list_contains(a, a[1])", "list_position(a, a[2])", "a = b", "a < b", "a >= b"),
    *("a IS DISTINCT FROM b", "coalesce(a, b)", "CASE WHEN i > 3 THEN a ELSE b END"),
    *("nullif(a, b)", "[a, b]", "{'x': a}", "array_value(a, b)", "flatten([a, b])"),
    *("list_transform(a, lambda x: x IS NULL)", "a::VARCHAR[]"),
    "CASE WHEN NOT list_has_any(a::VARCHAR[], ['nan', 'inf']) THEN to_json(a) END",
    *("list_filter(a, lambda x: x IS NOT NULL)", "list_min(a)", "list_max(a)", "a IN (a, b)"),
    *("a::VARCHAR::{kind}", "a::{element}[]::{kind}", "TRY_CAST(a::{element}[] AS {element}[7])"),
)
QUERIES = (
    "SELECT a, count(*), min(i) FROM t GROUP BY a ORDER BY a",
    "SELECT DISTINCT a, b FROM t ORDER BY a, b",
    "SELECT i, a FROM t ORDER BY a DESC NULLS LAST, b NULLS FIRST, i",
    "SELECT l.i, r.i FROM t l JOIN t r ON l.a = r.b ORDER BY ALL",
    "SELECT l.i, r.i FROM t l LEFT JOIN t r ON l.a = r.b AND l.i < r.i ORDER BY ALL",
    "SELECT l.i, r.i FROM t l JOIN t r ON l.a < r.b ORDER BY ALL",
    "SELECT a FROM t UNION SELECT b FROM t ORDER BY 1",
    "SELECT a FROM t INTERSECT SELECT b FROM t ORDER BY 1",
    "SELECT a FROM t EXCEPT SELECT b FROM t ORDER BY 1",
    "SELECT i FROM t WHERE a IN (SELECT b FROM t) ORDER BY i",
    "SELECT count(DISTINCT a), list(a ORDER BY i), arg_max(a, i) FROM t",
    "SELECT i, row_number() OVER (PARTITION BY a ORDER BY i), lag(b) OVER (ORDER BY a, i) FROM t"
    " ORDER BY i",
    "SELECT i, unnest(a) FROM t ORDER BY ALL",
    "SELECT i, x FROM t, unnest(b) AS u (x) ORDER BY ALL",
    "SELECT a[1], count(*), list(a ORDER BY i) FROM t GROUP BY 1 ORDER BY 1",
)


def some_array(rng: random.Random, values: list[str], length: int) -> str:
    return f"[{', '.join(rng.choice([*values, 'NULL']) for _ in range(length))}]"


def some_value(rng: random.Random, values: list[str], kind: str) -> str:
    """Return an array, or an array of arrays, or NULL, as a constant of its type."""
    if rng.random() < 0.15:
        return "NULL"
    outer, *inner = (int(part.rstrip("]")) for part in reversed(kind.split("[")[1:]))
    if not inner:
        return some_array(rng, values, outer)
    return f"[{', '.join(some_array(rng, values, inner[0]) for _ in range(outer))}]"


def shown(value: Any) -> Any:
    """Return a value whose NaN equals itself."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return type(value)(map(shown, value)) if isinstance(value, list | tuple) else value


@pytest.fixture(params=range(4))
def rivals(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any, str]]:
    rng = random.Random(f"{SEED} {request.param}")
    element = rng.choice(list(ELEMENTS))
    kind = f"{element}[{rng.randint(1, 3)}]"
    if request.param % 2:
        kind += f"[{rng.randint(1, 2)}]"
    values = ELEMENTS[element].split()
    rows = [
        f"({i}, {some_value(rng, values, kind)}, {some_value(rng, values, kind)})"
        for i in range(rng.choice([3, 40]))
    ]
    both = raydb.connect(), duckdb.connect()
    for con in both:
        con.execute(f"CREATE TABLE t (i INTEGER, a {kind}, b {kind})")
        con.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    yield *both, kind
    for con in both:
        con.close()


def test_arrays_as_in_duckdb(rivals: tuple[Any, Any, str]) -> None:
    con, rival, kind = rivals
    element = kind.rpartition("[")[0]
    chosen = [each.replace("{kind}", kind).replace("{element}", element) for each in EXPRESSIONS]
    for query in (*QUERIES, *(f"SELECT {each} FROM t ORDER BY i" for each in chosen)):
        try:
            theirs = rival.execute(query).fetchall()
        except duckdb.Error:
            continue
        ours = con.execute(query).fetchall()
        assert [shown(row) for row in ours] == [shown(row) for row in theirs], (kind, query)


def test_arrays_are_kept(rivals: tuple[Any, Any, str], tmp_path: Path) -> None:
    """A database directory, its dump and files of each format have the same values and types."""
    con, _, kind = rivals
    wanted = [shown(row) for row in con.execute("FROM t ORDER BY i").fetchall()]
    rows = con.execute("FROM t").to_arrow_table()
    with raydb.connect(tmp_path / "d.raydb") as disk:
        disk.register("rows", rows)
        disk.execute("CREATE TABLE t AS FROM rows")
        for name in ("t.parquet", "t.flat"):
            disk.execute(f"COPY t TO '{tmp_path / name}'")
    with raydb.connect(tmp_path / "d.raydb", read_only=True) as disk:
        for source in ("t", f"'{tmp_path}/t.parquet'", f"'{tmp_path}/t.flat'"):
            found = disk.execute(f"FROM {source} ORDER BY i").fetchall()
            assert [shown(row) for row in found] == wanted, source
            kinds = disk.execute(f"SELECT typeof(a), typeof(b) FROM {source} LIMIT 1").fetchall()
            assert kinds == [(kind, kind)], source
