"""ON DELETE and ON UPDATE of foreign keys, at random, against SQLite.

Keys of two columns, chains, rows that refer to their own table, several keys of a row, CHECKs that
hold rows back. RAYDB_FUZZ_FOREIGN_KEYS says how many schemas to make. SQLite changes row after row,
so keys never move to where another one is.
"""

from __future__ import annotations

import os
import sqlite3
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from stars import SEED

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = int(os.environ.get("RAYDB_FUZZ_FOREIGN_KEYS", "40"))
STATEMENTS = 25
ACTIONS = ("NO ACTION", "CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT")
TABLES = ("p", "c", "d", "e")


def schema(rng: Random) -> list[str]:
    def actions() -> str:
        found = [f"ON {event} {rng.choice(ACTIONS)}" for event in ("DELETE", "UPDATE")]
        return " ".join(rng.sample(found, rng.randint(0, 2)))

    required = rng.choice(["", "NOT NULL"])
    check = rng.choice(["", f", CHECK (c IS NULL OR c < {rng.randint(40, 400)})"])
    return [
        "CREATE TABLE p (a INT, b INT, n INT, PRIMARY KEY (a, b), UNIQUE (b, n))",
        "CREATE TABLE c (id INT NOT NULL PRIMARY KEY, a INT DEFAULT 1, b INT DEFAULT 1, "
        f"up INT DEFAULT 3 REFERENCES c (id) {actions()}, "
        f"FOREIGN KEY (a, b) REFERENCES p (a, b) {actions()})",
        f"CREATE TABLE d (id INT NOT NULL PRIMARY KEY, c INT {required} REFERENCES c (id) "
        f"{actions()}, a INT, b INT DEFAULT 2, FOREIGN KEY (b, a) REFERENCES p (b, n) {actions()}"
        f"{check})",
        f"CREATE TABLE e (a INT, b INT, d INT DEFAULT 1 REFERENCES d (id) {actions()}, "
        f"c INT, UNIQUE (c, d), FOREIGN KEY (a, b) REFERENCES p (a, b) {actions()}, "
        f"FOREIGN KEY (c) REFERENCES c (id) {actions()})",
    ]


def first_rows(rng: Random) -> list[str]:
    """Return rows that refer to each other."""
    keys = [(a, b, a) for a in range(1, 5) for b in range(1, 4)]

    def of_p() -> str:
        a, b, _ = rng.choice(keys)
        return f"{a}, {b}"

    parts = {
        "p": [f"({a}, {b}, {n})" for a, b, n in keys],
        "c": [f"({n}, {of_p()}, {rng.randint(1, n)})" for n in range(1, 9)],
        "d": [f"({n}, {rng.randint(1, 8)}, {of_p()})" for n in range(1, 9)],
        "e": [f"({of_p()}, {n}, {rng.randint(1, 8)})" for n in range(1, 9)],
    }
    return [f"INSERT INTO {table} VALUES {', '.join(values)}" for table, values in parts.items()]


def statement(rng: Random, fresh: Iterator[int]) -> str:
    new, k, table = next(fresh), rng.randint(1, 8), rng.choice(TABLES)
    a, b, c = rng.randint(1, 4), rng.randint(1, 3), rng.choice(["NULL", str(rng.randint(1, 8))])
    key = {"p": "a", "c": "id", "d": "id", "e": "d"}[table]
    row = {
        "p": f"{a}, {b}, {a}",
        "c": f"{k}, {a}, {b}, {c}",
        "d": f"{k}, {c}, {a}, {b}",
        "e": f"{a}, {b}, {c}, {k}",
    }
    at = rng.choice([f"{key} = {k}", f"{key} > {new // 2}", f"{key} % 5 = {k % 5}"])
    return rng.choice(
        (
            f"INSERT INTO {table} VALUES ({row[table]}) ON CONFLICT DO NOTHING",
            f"DELETE FROM {table} WHERE {at}",
            f"UPDATE p SET a = a + {new} WHERE a = {a}",
            f"UPDATE p SET a = a + {new}, n = n + {new} WHERE b = {b} AND a <= {k}",
            f"UPDATE p SET n = n + {new} WHERE a = {a}",
            f"UPDATE c SET id = id + {new} WHERE id % 4 = {k % 4}",
            f"UPDATE c SET up = {c}, b = {b} WHERE id = {k}",
            f"UPDATE d SET id = {new}, c = {c} WHERE id = {k}",
            f"INSERT INTO c VALUES ({k}, {a}, {b}, {c}) ON CONFLICT (id) DO UPDATE SET id = {new}",
        )
    )


def rows(con: Any) -> list[list[tuple[Any, ...]]]:
    found = (con.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES)
    return [sorted(map(tuple, each), key=repr) for each in found]


@pytest.mark.long
@pytest.mark.parametrize("number", range(SCHEMAS))
def test_the_rows_are_those_of_sqlite(number: int) -> None:
    rng = Random(f"{SEED} foreign keys {number}")
    ours = raydb.connect()
    theirs = sqlite3.connect(":memory:", isolation_level=None)
    theirs.execute("PRAGMA foreign_keys = ON")
    done = [*schema(rng), *first_rows(rng)]
    for each in done:
        ours.execute(each)
        theirs.execute(each)
    fresh = count(100, 100)
    for _ in range(STATEMENTS):
        done.append(statement(rng, fresh))
        error = None
        try:
            theirs.execute(done[-1])
        except sqlite3.IntegrityError as each:
            error = each
        if error is None:
            ours.execute(done[-1])
        else:
            with pytest.raises(raydb.IntegrityError):
                ours.execute(done[-1])
        assert rows(ours) == rows(theirs), ";\n".join(done)
