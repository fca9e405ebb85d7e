"""Queries of ENUM columns give what DuckDB gives, with room and without, with a BVH and without."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

MOODS = ("sad", "ok", "happy", "it's")
SIZES = ("xl", "s", "m", "l", "happy")
SCHEMA = f"""
CREATE TYPE mood AS ENUM {tuple(MOODS[:3])!r};
CREATE TYPE size AS ENUM {SIZES!r};
CREATE TABLE one (id INTEGER PRIMARY KEY, m mood, s size, t VARCHAR, v INTEGER);
CREATE TABLE two (m mood, s size, w INTEGER);
"""

SCALARS = (
    *("m", "s", "t", "id", "m::VARCHAR", "s::VARCHAR::size", "upper(m)", "m || '-' || s"),
    *("enum_code(m)", "coalesce(m, 'ok'::mood)", "coalesce(m, t)", "nullif(m, 'ok')"),
    *("CASE WHEN v > 4 THEN m ELSE 'sad'::mood END", "CASE m WHEN 'ok' THEN 1 ELSE 0 END"),
    *("greatest(m, 'ok'::mood)", "least(s, 'm'::size)", "if(v > 2, s, NULL)", "length(s)"),
    *("TRY_CAST(t AS mood)", "TRY_CAST(s::VARCHAR AS mood)", "[m, NULL]", "{'a': s}"),
    *("list_contains([m], 'ok'::mood)", "m IS NULL", "m = s", "m < s", "typeof(m)"),
)
CONDITIONS = (
    *("m = 'ok'", "m <> 'ok'", "m IN ('ok', 'sad')", "m IN ('ok', 'none')", "m = 'none'"),
    *("m > 'sad'::mood", "m <= 'ok'::mood", "m < 'ok'", "m BETWEEN 'sad'::mood AND 'ok'::mood"),
    *("m = s", "s = t", "m IS DISTINCT FROM 'ok'", "m IS NOT NULL", "m LIKE '%a%'", "v > 3"),
    *("m NOT IN ('happy')", "s IN (SELECT s FROM two)", "m = (SELECT max(m) FROM two)"),
    *("EXISTS (SELECT 1 FROM two WHERE two.m = one.m)", "'ok' = m", "m = t"),
)
AGGREGATES = (
    *("count(*)", "count(m)", "count(DISTINCT s)", "min(m)", "max(m)", "min(s)", "sum(v)"),
    *(
        "max(s) FILTER (WHERE v > 3)",
        "list(m ORDER BY m, id)",
        "arg_max(m, id)",
        "bool_or(m = 'ok')",
    ),
    *(
        "string_agg(s, ',' ORDER BY s, id)",
        "count(*) FILTER (WHERE m = 'happy')",
        "quantile_disc(m, 0.5)",
    ),
)
WINDOWS = (
    *("lag(m) OVER (ORDER BY id)", "max(m) OVER (ORDER BY id ROWS 2 PRECEDING)"),
    *("rank() OVER (ORDER BY m)", "first_value(s) OVER (PARTITION BY m ORDER BY id)"),
    *(
        "count(*) OVER (PARTITION BY s)",
        "min(s) OVER (ORDER BY id)",
        "dense_rank() OVER (ORDER BY s DESC NULLS LAST)",
    ),
    *("lead(s, 1, 'm'::size) OVER (ORDER BY id)", "nth_value(m, 2) OVER (ORDER BY id)"),
)


def random_query(draw: random.Random) -> str:
    where = f" WHERE {draw.choice(CONDITIONS)}" if draw.random() < 0.7 else ""
    few = lambda what, most: ", ".join(draw.sample(what, draw.randint(1, most)))  # noqa: E731
    match draw.randrange(8):
        case 0:
            return f"SELECT {few(SCALARS, 3)} FROM one{where}"
        case 1:
            key = draw.choice(("m", "s", "m, s", "upper(m)", "m = 'ok'", "coalesce(m, 'ok'::mood)"))
            having = draw.choice(("", " HAVING count(*) > 2", " HAVING max(v) > 3"))
            return f"SELECT {key}, {few(AGGREGATES, 3)} FROM one{where} GROUP BY {key}{having}"
        case 2:
            return f"SELECT {few(AGGREGATES, 4)} FROM one{where}"
        case 3:
            kind = draw.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
            on = draw.choice(
                ("one.m = two.m", "one.s = two.s AND one.v > w", "one.m = two.s", "t = two.m")
            )
            return f"SELECT one.id, two.m, two.s, w FROM one {kind} two ON {on}"
        case 4:
            word = draw.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
            left, right = draw.choice((("m", "m"), ("m", "s"), ("m", "t"), ("m, s", "m, s")))
            other = "one" if "t" in right else "two"
            return f"SELECT {left} FROM one{where} {word} SELECT {right} FROM {other}"
        case 5:
            return f"SELECT id, {few(WINDOWS, 3)} FROM one{where}"
        case 6:
            return f"SELECT DISTINCT {few(('m', 's', 'v > 3', 'm = s'), 3)} FROM one{where}"
        case _:
            order = draw.choice(
                ("m, id", "m DESC NULLS LAST, id", "s, m DESC NULLS LAST, id", "m::VARCHAR, id")
            )
            return f"SELECT id, m, s FROM one{where} ORDER BY {order} LIMIT {draw.randint(1, 30)}"


@pytest.fixture(scope="module", params=["whole", "spilled", "in files"])
def databases(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[raydb.Connection, duckdb.DuckDBPyConnection]]:
    draw = random.Random(11)
    one = [
        (
            i,
            *(draw.choice((*each, None)) for each in (MOODS[:3], SIZES)),
            draw.choice((*MOODS, None)),
            draw.randrange(8),
        )
        for i in range(300)
    ]
    two = [
        (draw.choice((*MOODS[:3], None)), draw.choice(SIZES), draw.randrange(8)) for _ in range(12)
    ]
    path = (
        str(tmp_path_factory.mktemp("enums") / "db") if request.param == "in files" else ":memory:"
    )
    with raydb.connect(path) as ours, duckdb.connect() as theirs:
        for each in (ours, theirs):
            each.execute(SCHEMA)
            each.executemany("INSERT INTO one VALUES (?, ?, ?, ?, ?)", one)
            each.executemany("INSERT INTO two VALUES (?, ?, ?)", two)
        if request.param == "spilled":
            ours.execute("SET memory_limit = '1MB'")
        if request.param == "in files":
            ours.execute("CREATE BVH cube ON one (SCAN (m, v), GROUP BY (m, s), AGGREGATE (v))")
            ours.execute("CHECKPOINT")
        yield ours, theirs


def comparable(rows: list[tuple[Any, ...]], query: str) -> list[Any]:
    return rows if "ORDER BY" in query.rpartition("FROM")[2] else sorted(rows, key=repr)


@pytest.mark.long
def test_random_queries(
    databases: tuple[raydb.Connection, duckdb.DuckDBPyConnection],
) -> None:
    ours, theirs = databases
    draw = random.Random(5)
    for _ in range(250):
        query = random_query(draw)
        expected = theirs.execute(query).fetchall()
        found = ours.execute(query).fetchall()
        assert comparable(found, query) == comparable(expected, query), query
