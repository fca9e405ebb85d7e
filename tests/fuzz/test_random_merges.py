"""Files that are merged beside rows in Python: random changes of rows and columns, and reopening.

Few bytes make a file final here, so that files are merged, split and left alone all the time.
RAYDB_FUZZ_MERGES says how many statements to run.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from stars import SEED

import raydb
from raydb.engine.catalog import database

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.engine.api.connection import Connection

STATEMENTS = int(os.environ.get("RAYDB_FUZZ_MERGES", "200"))
STATEMENTS_A_RUN = 100
RUN_COUNT = -(-STATEMENTS // STATEMENTS_A_RUN)

SCHEMA = """
CREATE TABLE place (p INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE t (
    id INTEGER PRIMARY KEY, code INTEGER UNIQUE, place INTEGER REFERENCES place (p),
    v FLOAT[1] NOT NULL, boss INTEGER REFERENCES t (id));
INSERT INTO place SELECT range, 'place ' || range % 3 FROM range(6);
INSERT INTO t SELECT range, NULL, NULL, [range]::FLOAT[1], NULL FROM range(4);
CREATE BVH x ON t (SCAN (name, id), GROUP BY (name), AGGREGATE (code));
CREATE INDEX near ON t USING ivf (v) WITH (lists = 2);
"""
FIXED = ("code", "place", "v", "boss")

outcomes: Counter[str] = Counter()


@dataclass
class Run:
    """A database, and the rows that it should have, by id; `columns` are those that come and go."""

    random: Random
    path: Path
    con: Connection
    rows: dict[int, dict[str, Any]]
    columns: list[str] = field(default_factory=list)
    number: int = 3

    def do(self, text: str) -> None:
        self.con.execute(text)

    def files(self) -> int:
        return len(list((self.path / "data").glob("*.flat")))


@pytest.mark.long
@pytest.mark.parametrize("number", range(RUN_COUNT), ids="run-{}".format)
def test_merged_files_have_the_rows(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"merges {SEED} {number}")
    monkeypatch.setattr(database, "CHECKPOINT_BYTES", random.choice((200, 1000, 10**6)))
    monkeypatch.setattr(database, "VACUUM_BYTES", random.choice((300, 10**6)))
    con = raydb.connect(tmp_path / "db")
    con.execute(SCHEMA)
    first = {"code": None, "place": None, "boss": None}
    run = Run(random, tmp_path / "db", con, {n: {**first, "v": n} for n in range(4)})
    reader = raydb.connect(run.path, read_only=True)
    for _ in range(STATEMENTS_A_RUN):
        change = random.choices(CHANGES, WEIGHTS)[0]
        outcomes[change.__name__] += 1
        change(run)
        if random.random() < 0.2:
            check(run, random.choice((run.con, reader)))
    reopen(run)
    check(run, run.con)
    check(run, reader)
    reader.close()
    run.con.close()


def insert(run: Run) -> None:
    random = run.random
    for _ in range(random.choice((1, 1, 2, 10))):
        run.number += 1
        row: dict[str, Any] = {
            "code": random.choice((None, run.number)),
            "place": random.choice((None, *range(6))),
            "v": random.randint(0, 99),
            "boss": random.choice((None, *run.rows)),
        }
        row |= {name: random.choice((None, f"{name} {run.number}")) for name in run.columns}
        names = ", ".join(("id", *row))
        marks = ", ".join("[?]" if name == "v" else "?" for name in ("id", *row))
        values = [run.number, *row.values()]
        run.con.execute(f"INSERT INTO t ({names}) VALUES ({marks})", values)
        run.rows[run.number] = row


def update(run: Run) -> None:
    rest = run.random.randint(0, 4)
    run.do(f"UPDATE t SET code = code + 1000000, v = [7] WHERE id % 5 = {rest}")
    for number, row in run.rows.items():
        if number % 5 == rest:
            row["code"] = None if row["code"] is None else row["code"] + 1_000_000
            row["v"] = 7


def delete(run: Run) -> None:
    bosses = {row["boss"] for row in run.rows.values()}
    free = [number for number in run.rows if number not in bosses]
    gone = run.random.sample(free, len(free) // 4)
    if gone:
        run.do(f"DELETE FROM t WHERE id IN ({', '.join(map(str, gone))})")
    run.rows = {number: row for number, row in run.rows.items() if number not in gone}


def add_column(run: Run) -> None:
    run.number += 1
    name, default = f"c{run.number}", run.random.choice((None, "same"))
    run.do(f"ALTER TABLE t ADD COLUMN {name} VARCHAR" + (f" DEFAULT '{default}'" * bool(default)))
    run.columns.append(name)
    for row in run.rows.values():
        row[name] = default


def drop_column(run: Run) -> None:
    if run.columns:
        name = run.columns.pop(run.random.randrange(len(run.columns)))
        run.do(f"ALTER TABLE t DROP COLUMN {name}")
        for row in run.rows.values():
            del row[name]


def rename_column(run: Run) -> None:
    if run.columns:
        place = run.random.randrange(len(run.columns))
        run.number += 1
        name, to = run.columns[place], f"c{run.number}"
        run.do(f"ALTER TABLE t RENAME COLUMN {name} TO {to}")
        run.columns[place] = to
        for row in run.rows.values():
            row[to] = row.pop(name)


def checkpoint(run: Run) -> None:
    before = run.files()
    run.do("CHECKPOINT")
    outcomes["merged"] += run.files() < before


def vacuum(run: Run) -> None:
    run.do("VACUUM")


def reopen(run: Run) -> None:
    run.con.close()
    run.con = raydb.connect(run.path)


CHANGES = (
    insert,
    update,
    delete,
    add_column,
    drop_column,
    rename_column,
    checkpoint,
    vacuum,
    reopen,
)
WEIGHTS = (12, 2, 3, 1, 1, 1, 12, 1, 2)


def check(run: Run, con: Connection) -> None:
    """Compare the rows, what a BVH and a vector index say of them, and single rows by key."""
    names = ("id", *FIXED, *run.columns)
    rows = con.execute(f"SELECT {', '.join(names)} FROM t").fetchall()
    known = {
        number: (number, *(((row[name],) if name == "v" else row[name]) for name in names[1:]))
        for number, row in run.rows.items()
    }
    assert {row[0]: row for row in rows} == known
    assert len(rows) == len(known)
    text = "SELECT name, count(*), sum(code) FROM t JOIN place ON place = p GROUP BY name"
    assert con.execute("EXPLAIN " + text).fetchone() == ("path: fused",)
    sums: dict[str, list[int]] = {}
    for row in run.rows.values():
        if row["place"] is not None:
            sums.setdefault(f"place {row['place'] % 3}", [0, 0])[0] += 1
            sums[f"place {row['place'] % 3}"][1] += row["code"] or 0
    found = con.execute(text).fetchall()
    assert {name: [count, total or 0] for name, count, total in found} == sums
    near = con.execute("SELECT distance FROM vector_search(t, v, [50], k => 3, nprobe => 9)")
    distances = sorted(abs(row["v"] - 50) for row in run.rows.values())[:3]
    assert [distance for (distance,) in near.fetchall()] == pytest.approx(distances)
    number = run.random.choice(list(run.rows))
    assert con.execute("SELECT v FROM t WHERE id = ?", [number]).fetchall() == [
        ((run.rows[number]["v"],),)
    ]
    bosses = con.execute("SELECT t.id, b.v FROM t JOIN t AS b ON t.boss = b.id").fetchall()
    assert {id_: boss[0] for id_, boss in bosses} == {
        id_: run.rows[row["boss"]]["v"] for id_, row in run.rows.items() if row["boss"] is not None
    }


def test_files_were_merged() -> None:
    if outcomes["checkpoint"] < 10 * RUN_COUNT:
        pytest.skip("only some of the runs have taken place")
    assert outcomes["merged"] >= RUN_COUNT, outcomes
