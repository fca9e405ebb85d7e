"""Generated columns on all ways into a table and out of it, and against DuckDB's."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb
from raydb.engine.shell.outside.dump import dump

if TYPE_CHECKING:
    from pathlib import Path

TABLE = """
    CREATE TABLE t (
        a INTEGER, twice AS (a * 2), word VARCHAR DEFAULT 'none',
        long VARCHAR GENERATED ALWAYS AS (word || ':' || twice::VARCHAR) STORED)
"""
# Columns of numbers and texts; `{a}` and the like stand for columns before it.
EXPRESSIONS = (
    "{a} + {b}",
    "{a} * 3 - 1",
    "coalesce({a}, {b}, 7)",
    "CASE WHEN {a} > {b} THEN {a} ELSE -{b} END",
    "{a} % 5",
    "abs({a})",
    "CASE WHEN {a} IS NULL THEN 1 END",
    "length(upper(coalesce(word, '') || {a}::VARCHAR))",
)


def rows(con: Any, query: str = "FROM t ORDER BY ALL") -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def expected(pairs: list[tuple[int | None, str | None]]) -> list[tuple[Any, ...]]:
    return [
        (a, a and 2 * a, word, None if a is None or word is None else f"{word}:{2 * a}")
        for a, word in pairs
    ]


def test_rows_come_in_on_all_ways(tmp_path: Path) -> None:
    con = raydb.connect(tmp_path / "db")
    con.execute(TABLE)
    con.executemany("INSERT INTO t VALUES (?, ?)", [(1, "one"), (2, None)])
    with con.appender("t") as appender:
        appender.append(3, "three")
    with con.appender("t", ["a"]) as appender:
        appender.append(4)
    con.register("frame", pa.table({"word": ["five", "six"], "a": [5, 6]}))
    con.execute("INSERT INTO t BY NAME FROM frame")
    pq.write_table(pa.table({"a": [7, None], "word": ["seven", "eight"]}), tmp_path / "f.parquet")
    con.execute(f"COPY t FROM '{tmp_path}/f.parquet'")
    (tmp_path / "f.csv").write_text("9\n10\n")
    con.execute(f"COPY t (a) FROM '{tmp_path}/f.csv'")
    (tmp_path / "f.json").write_text('{"a": 11, "word": "last"}\n')
    con.execute(f"COPY t FROM '{tmp_path}/f.json'")
    con.execute(f"INSERT INTO t (a) SELECT a + 100 FROM '{tmp_path}/f.parquet'")
    texts = [(1, "one"), (2, None), (3, "three"), (4, "none"), (5, "five"), (6, "six")]
    texts += [(7, "seven"), (9, "none"), (10, "none"), (11, "last"), (107, "none")]
    assert rows(con) == expected([*texts, (None, "eight"), (None, "none")])
    before = rows(con)
    con.close()
    assert rows(raydb.connect(tmp_path / "db")) == before


def test_a_value_for_a_generated_column_is_refused(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute(TABLE)
    (tmp_path / "f.csv").write_text("a,twice,word\n1,2,x\n")
    with pytest.raises(raydb.Error, match="3 fields where 2 are expected"):
        con.execute(f"COPY t FROM '{tmp_path}/f.csv' (HEADER)")
    with pytest.raises(raydb.ProgrammingError, match="'twice' of table 't' is generated"):
        con.appender("t", ["a", "twice"])
    assert rows(con) == []


def test_they_are_in_what_makes_a_database_again(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute(TABLE)
    con.execute("INSERT INTO t VALUES (1, 'one'), (NULL, 'x')")
    con.execute('ALTER TABLE t RENAME COLUMN a TO "the a"')
    con.execute(f"EXPORT DATABASE '{tmp_path}/out'")
    again, dumped = raydb.connect(), raydb.connect()
    again.execute(f"IMPORT DATABASE '{tmp_path}/out'")
    dumped.execute("\n".join(dump(con)))
    for other in (again, dumped):
        assert rows(other) == rows(con)
        other.execute("INSERT INTO t VALUES (5, 'five')")
        assert rows(other, 'SELECT twice, long FROM t WHERE "the a" = 5') == [(10, "five:10")]
        with pytest.raises(raydb.ProgrammingError, match="generated"):
            other.execute("UPDATE t SET twice = 1")


def test_the_log_and_a_checkpoint_keep_them(tmp_path: Path) -> None:
    con = raydb.connect(tmp_path / "db")
    con.execute(TABLE)
    con.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two'); CHECKPOINT")
    con.execute("UPDATE t SET a = a + 10 WHERE twice = 2; INSERT INTO t (a) VALUES (3)")
    con.execute("ALTER TABLE t ADD COLUMN more AS (twice + 1); DELETE FROM t WHERE more = 5")
    con.close()
    con = raydb.connect(tmp_path / "db")
    assert rows(con) == [(3, 6, "none", "none:6", 7), (11, 22, "one", "one:22", 23)]
    con.execute("VACUUM; UPDATE t SET a = 4 WHERE more = 7")
    assert rows(con, "SELECT more FROM t ORDER BY a") == [(9,), (23,)]


def test_a_value_is_computed_once() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE t (a DOUBLE, same AS (a), also AS (same))")
    con.execute("INSERT INTO t SELECT random() FROM range(100)")
    con.execute("UPDATE t SET a = random()")
    assert rows(con, "SELECT count(*) FROM t WHERE a = same AND same = also") == [(100,)]


def test_a_long_chain() -> None:
    con = raydb.connect()
    chain = ", ".join(f"c{n} AS (c{n + 1} + 1)" for n in range(40))
    con.execute(f"CREATE TABLE t ({chain}, c40 BIGINT)")
    con.execute("INSERT INTO t VALUES (1)")
    assert rows(con, "SELECT c0 FROM t") == [(41,)]


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_are_as_in_duckdb(seed: int) -> None:
    choose = random.Random(seed)
    numbers = ["x", "y"]
    columns = ["x BIGINT", "y BIGINT", "word VARCHAR"]
    for number in range(choose.randint(1, 5)):
        a, b = choose.choices(numbers, k=2)
        text = choose.choice(EXPRESSIONS).format(a=a, b=b)
        name = f"g{number}"
        columns.insert(choose.randint(0, len(columns)), f"{name} BIGINT AS ({text})")
        numbers.append(name)
    ours, theirs = raydb.connect(), duckdb.connect()
    statements = [f"CREATE TABLE t ({', '.join(columns)})"]
    for _ in range(30):
        x, y = (choose.choice(["NULL", str(choose.randint(-9, 9))]) for _ in range(2))
        word = choose.choice(["NULL", "'a'", "'bcd'"])
        where = f"{choose.choice(numbers)} {choose.choice(['<', '>', '='])} {choose.randint(-5, 9)}"
        statements.append(
            choose.choice(
                [
                    f"INSERT INTO t VALUES ({', '.join(_in_order(columns, x, y, word))})",
                    f"INSERT INTO t (y) VALUES ({y})",
                    f"INSERT INTO t (word, x) SELECT {word}, {x} FROM t WHERE {where}",
                    f"UPDATE t SET x = {x}, word = {word} WHERE {where}",
                    f"UPDATE t SET y = x WHERE {where}",
                    f"DELETE FROM t WHERE {where}",
                ]
            )
        )
    for statement in statements:
        ours.execute(statement)
        theirs.execute(statement)
        query = "SELECT * FROM t ORDER BY ALL"
        assert ours.execute(query).fetchall() == theirs.execute(query).fetchall(), statement


def _in_order(columns: list[str], x: str, y: str, word: str) -> list[str]:
    given = {"x": x, "y": y, "word": word}
    names = [column.split()[0] for column in columns]
    return [given[name] for name in names if name in given]
