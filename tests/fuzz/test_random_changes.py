"""RayDB on disk against DuckDB: random changes of rows, transactions and reopening.

DuckDB gets no constraints, only the statements that RayDB took: queries then show whether the rows
keep the constraints. What RayDB refused outside of a transaction is tried in DuckDB and rolled
back: it must have broken a constraint. RAYDB_FUZZ_CHANGES says how many statements to run.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
from differential import Pair, answers, difference, open_pair, path_of, script
from star_queries import Query
from stars import SEED

import raydb

if TYPE_CHECKING:
    from pathlib import Path

STATEMENTS = int(os.environ.get("RAYDB_FUZZ_CHANGES", "300"))
STATEMENTS_A_RUN = 100
RUN_COUNT = -(-STATEMENTS // STATEMENTS_A_RUN)

TABLES = {
    "nation": "n_id INTEGER PRIMARY KEY, n_name VARCHAR NOT NULL, n_size SMALLINT",
    "city": "c_id INTEGER PRIMARY KEY, c_nation INTEGER REFERENCES nation (n_id), c_name VARCHAR",
    "sale": "s_city INTEGER REFERENCES city (c_id), s_day INTEGER, s_units INTEGER, "
    "s_amount DECIMAL(12, 2)",
    "staff": "p_id INTEGER PRIMARY KEY, p_boss INTEGER REFERENCES staff (p_id), "
    "p_city INTEGER REFERENCES city (c_id)",
}
CONSTRAINT = re.compile(r" (PRIMARY KEY|NOT NULL|REFERENCES \w+ \(\w+\))")
BVHS = (
    "CREATE BVH places ON sale (SCAN (n_name, c_name, s_day), GROUP BY (n_name, c_name, s_day), "
    "AGGREGATE (s_amount, s_units, s_units * s_amount))",
    "CREATE BVH days ON sale (SCAN (s_day), AGGREGATE (s_units))",
    "CREATE BVH people ON staff (SCAN (c_name), GROUP BY (n_name), AGGREGATE (p_id))",
)
REFERENCES = (
    ("city", "c_nation", "nation", "n_id"),
    ("sale", "s_city", "city", "c_id"),
    ("staff", "p_boss", "staff", "p_id"),
    ("staff", "p_city", "city", "c_id"),
)
QUERIES: tuple[tuple[str, bool], ...] = (
    ("SELECT count(*), sum(s_amount), count(s_city) FROM sale", False),
    ("SELECT s_day, sum(s_units), min(s_amount), max(s_units) FROM sale GROUP BY s_day", False),
    ("SELECT sum(s_units), count(*) FROM sale WHERE s_day BETWEEN {k} AND {k} + 3", False),
    (
        "SELECT n_name, c_name, sum(s_amount), count(*) FROM sale, city, nation "
        "WHERE s_city = c_id AND c_nation = n_id AND s_day <> {k} GROUP BY n_name, c_name",
        False,
    ),
    (
        "SELECT n_name, sum(s_units * s_amount), sum(s_units * n_size) FROM sale "
        "JOIN city ON s_city = c_id JOIN nation ON c_nation = n_id "
        "WHERE n_name <= 'n{k}' GROUP BY n_name ORDER BY n_name",
        True,
    ),
    (
        "SELECT n_name, c_name, sum(p_id) FROM staff, city, nation WHERE p_city = c_id "
        "AND c_nation = n_id AND n_size > {k} GROUP BY n_name, c_name",
        False,
    ),
    ("SELECT * FROM sale WHERE s_units % 7 = {k} % 7", False),
    ("SELECT * FROM nation", False),
    ("SELECT * FROM city LEFT JOIN nation ON c_nation = n_id", False),
    ("SELECT p.p_id, b.* FROM staff AS p LEFT JOIN staff AS b ON p.p_boss = b.p_id", False),
)

outcomes: Counter[str] = Counter()


@dataclass(slots=True)
class Run:
    """A database in both engines, RayDB's in a directory."""

    rng: Random
    path: Path
    pair: Pair
    in_transaction: bool = False


@pytest.mark.parametrize("number", range(RUN_COUNT), ids="run-{}".format)
def test_random_changes_give_the_rows_of_duckdb(number: int, tmp_path: Path) -> None:
    run = start(Random(f"changes {SEED} {number}"), tmp_path / "db")
    for _ in range(STATEMENTS_A_RUN):
        step(run)
        if run.rng.random() < 0.4:
            check_query(run)
    if run.in_transaction:
        control(run, "COMMIT")
    reopen(run)
    for text, ordered in QUERIES:
        compare(run, Query(text.format(k=3), ordered))
    run.pair.close()


def start(rng: Random, path: Path) -> Run:
    pair = open_pair()
    pair.ours.close()
    pair.ours = raydb.connect(path)
    run = Run(rng, path, pair)
    for name, columns in TABLES.items():
        pair.steps.append(f"CREATE TABLE {name} ({columns})")
        pair.ours.execute(pair.steps[-1])
        pair.theirs.execute(CONSTRAINT.sub("", pair.steps[-1]))
    for text in BVHS:
        pair.run(text)
    nations = ", ".join(f"({i}, 'n{i}', {i * 3})" for i in range(8))
    cities = ", ".join(f"({i}, {i % 8}, 'c{i % 5}')" for i in range(16))
    write(run, f"INSERT INTO nation VALUES {nations}")
    write(run, f"INSERT INTO city VALUES {cities}")
    write(run, insert_sales(rng, 200))
    return run


def step(run: Run) -> None:
    """Do one thing: mostly a change of rows."""
    rng = run.rng
    if run.in_transaction:
        if rng.random() < 0.2:
            control(run, rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            return
    elif (chance := rng.random()) < 0.1:
        control(run, "BEGIN")
        return
    elif chance < 0.2:
        text = rng.choice(("CHECKPOINT", "VACUUM", "reopen"))
        run.pair.steps.append(text)
        outcomes[text] += 1
        if text == "reopen":
            reopen(run)
        else:
            run.pair.ours.execute(text)
        return
    write(run, rng.choice(MAKERS)(rng))


def control(run: Run, text: str) -> None:
    run.pair.run(text)
    run.in_transaction = text == "BEGIN"
    outcomes[text] += 1


def reopen(run: Run) -> None:
    run.pair.ours.close()
    run.pair.ours = raydb.connect(run.path)


def write(run: Run, text: str) -> None:
    """Change rows in both engines, if RayDB takes the change."""
    pair = run.pair
    pair.steps.append(text)
    word = text.split(maxsplit=1)[0]
    try:
        count = pair.ours.execute(text).rowcount
    except raydb.IntegrityError as error:
        outcomes[f"{word} refused"] += 1
        if not run.in_transaction:
            pair.theirs.execute("BEGIN")
            pair.theirs.execute(text)
            # A key that is referred to may not change, even if another row has it afterwards.
            if not broken(run) and "cannot be changed" not in str(error):
                fail(run, f"RayDB refuses what breaks no constraint: {error}")
            pair.theirs.execute("ROLLBACK")
        return
    outcomes[word] += 1
    (expected,) = pair.theirs.execute(text).fetchone()
    if count != expected:
        fail(run, f"RayDB changes {count} rows, DuckDB {expected}")
    if problem := broken(run):
        fail(run, f"RayDB takes what breaks a constraint: {problem}")


def broken(run: Run) -> str:
    """Return which constraint DuckDB's rows break, or ''."""
    execute = run.pair.theirs.execute
    for table, key, target, reference in REFERENCES:
        dangling = f"{key} IS NOT NULL AND {key} NOT IN (SELECT {reference} FROM {target})"
        if execute(f"SELECT count(*) FROM {table} WHERE {dangling}").fetchone() != (0,):
            return f"{table}.{key}"
    for table, key in (("nation", "n_id"), ("city", "c_id"), ("staff", "p_id")):
        count, distinct = execute(f"SELECT count(*), count(DISTINCT {key}) FROM {table}").fetchone()
        if count != distinct:
            return f"{table}.{key}"
    nameless = execute("SELECT count(*) FROM nation WHERE n_name IS NULL").fetchone()
    return "" if nameless == (0,) else "nation.n_name"


def check_query(run: Run) -> None:
    text, ordered = run.rng.choice(QUERIES)
    compare(run, Query(text.format(k=run.rng.randint(0, 12)), ordered))


def compare(run: Run, query: Query) -> None:
    found = answers(run.pair, query)
    assert not isinstance(found.duckdb, str), found.duckdb
    outcomes[path_of(run.pair, query)] += 1
    if difference(found, query):
        run.pair.steps.append(query.sql)
        fail(run, f"fused:   {found.fused}\ngeneral: {found.general}\nDuckDB:  {found.duckdb}")


def fail(run: Run, message: str) -> None:
    text = script(run.pair.steps)
    pytest.fail(f"seed {SEED}, RAYDB_FUZZ_SEED:\n{text}\n{message}", pytrace=False)


# The changes


def value(rng: Random, highest: int) -> str:
    return "NULL" if rng.random() < 0.1 else str(rng.randint(0, highest))


def insert_sales(rng: Random, count: int) -> str:
    rows = ", ".join(
        f"({value(rng, 15)}, {value(rng, 12)}, {value(rng, 999)}, {rng.randint(0, 999)}.25)"
        for _ in range(count)
    )
    return f"INSERT INTO sale VALUES {rows}"


def insert_few_sales(rng: Random) -> str:
    return insert_sales(rng, rng.randint(1, 20))


def insert_places(rng: Random) -> str:
    number = rng.randint(0, 24)
    if rng.random() < 0.5:
        return f"INSERT INTO nation VALUES ({number}, 'n{rng.randint(0, 9)}', {value(rng, 50)})"
    name = f"'c{rng.randint(0, 6)}'" if rng.random() < 0.9 else "NULL"
    return f"INSERT INTO city VALUES ({number}, {value(rng, 12)}, {name})"


def insert_staff(rng: Random) -> str:
    rows = ", ".join(
        f"({rng.randint(0, 30)}, {value(rng, 30)}, {value(rng, 15)})"
        for _ in range(rng.randint(1, 2))
    )
    return f"INSERT INTO staff VALUES {rows}"


def update_sales(rng: Random) -> str:
    assignment = rng.choice(
        (
            "s_units = s_units + 1",
            "s_amount = s_amount + 0.5, s_units = s_day",
            "s_day = s_units % 13, s_units = s_units - 3",
            f"s_city = {value(rng, 15)}",
            "s_city = NULL",
        )
    )
    return f"UPDATE sale SET {assignment} WHERE {where_sales(rng)}"


def where_sales(rng: Random) -> str:
    number = rng.randint(0, 15)
    return rng.choice(
        (
            f"s_day = {number}",
            f"s_city = {number} AND s_units > 300",
            f"s_units BETWEEN {number * 60} AND {number * 60 + 50}",
            f"s_city IS NULL AND s_day < {number}",
        )
    )


def update_places(rng: Random) -> str:
    number = rng.randint(0, 24)
    return rng.choice(
        (
            f"UPDATE nation SET n_name = 'n{number % 10}' WHERE n_id % 4 = {number % 4}",
            f"UPDATE nation SET n_size = n_size + 1, n_name = n_name || '' WHERE n_id < {number}",
            f"UPDATE nation SET n_id = n_id + {number} WHERE n_id = {number // 2}",
            f"UPDATE nation SET n_name = NULL WHERE n_id = {number}",
            f"UPDATE city SET c_nation = {value(rng, 12)} WHERE c_id = {number}",
            f"UPDATE city SET c_name = 'c' || (c_id % {number % 5 + 1}) WHERE c_id > {number}",
            f"UPDATE city SET c_id = c_id + 20 WHERE c_id = {number}",
            "UPDATE city SET c_name = NULL WHERE c_nation IS NULL",
        )
    )


def update_staff(rng: Random) -> str:
    number = rng.randint(0, 30)
    return rng.choice(
        (
            f"UPDATE staff SET p_boss = {value(rng, 30)} WHERE p_id = {number}",
            f"UPDATE staff SET p_boss = p_id WHERE p_id > {number}",
            f"UPDATE staff SET p_id = p_id + 1 WHERE p_id = {number}",
            "UPDATE staff SET p_id = p_id + 50, p_boss = p_boss + 50",
            "UPDATE staff SET p_id = p_id - 50, p_boss = p_boss - 50 WHERE p_id >= 50",
            f"UPDATE staff SET p_city = {value(rng, 15)}",
        )
    )


def delete_rows(rng: Random) -> str:
    number = rng.randint(0, 24)
    return rng.choice(
        (
            f"DELETE FROM sale WHERE {where_sales(rng)}",
            f"DELETE FROM sale WHERE s_units % 10 = {number % 10}",
            f"DELETE FROM sale WHERE s_city = {number}",
            f"DELETE FROM city WHERE c_id = {number}",
            f"DELETE FROM nation WHERE n_id >= {number}",
            f"DELETE FROM staff WHERE p_id < {number} OR p_boss < {number}",
            f"DELETE FROM staff WHERE p_city = {number}",
            "DELETE FROM staff" if number < 5 else f"DELETE FROM staff WHERE p_id = {number}",
        )
    )


MAKERS = (
    insert_few_sales,
    insert_few_sales,
    insert_places,
    insert_staff,
    update_sales,
    update_sales,
    update_places,
    update_places,
    update_staff,
    delete_rows,
    delete_rows,
)


def test_the_changes_are_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    if outcomes["fused"] + outcomes["general"] < 10 * RUN_COUNT:
        pytest.skip("only some of the runs have taken place")
    with capsys.disabled():
        print(f"\n{dict(outcomes)}")
    for word in ("INSERT", "UPDATE", "DELETE"):
        assert outcomes[word] >= 5 * RUN_COUNT, outcomes
        assert outcomes[f"{word} refused"] >= RUN_COUNT, outcomes
    for word in ("CHECKPOINT", "VACUUM", "reopen", "COMMIT", "ROLLBACK"):
        assert outcomes[word] >= 1, outcomes
    assert outcomes["fused"] >= 0.25 * (outcomes["fused"] + outcomes["general"]), outcomes
