"""BVHs beside changing tables: random stars on disk, in RayDB with BVHs, without, and in DuckDB.

Between the queries rows are appended, deleted and changed in all tables, merged in the background
or at CHECKPOINT, rolled back and reopened. RAYDB_FUZZ_DELTAS says how many queries to ask.

DuckDB gets no constraints: what RayDB refuses because of one is not done in DuckDB either.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
from differential import Pair, answers, difference, open_pair
from star_queries import Query, random_query
from stars import (
    SEED,
    Insert,
    Star,
    Table,
    literal,
    more_rows,
    name_list,
    random_insert,
    random_rows,
    random_star,
)

import raydb

if TYPE_CHECKING:
    from pathlib import Path

CASES = int(os.environ.get("RAYDB_FUZZ_DELTAS", "120"))
QUERIES_A_STAR = 12
STAR_COUNT = -(-CASES // QUERIES_A_STAR)

# A few hundred rows are many; every second star scans newer rows, the others look them up.
SMALL = {
    "raydb.engine.catalog.stored_bvh.MIN_MERGED": 30,
    "raydb.engine.catalog.stored_bvh.MERGED_SHARE": 0.3,
}
SCANS = {
    "raydb.kernels.backends.cpu.scans.scan.CHUNK_ROWS": 16,
    "raydb.engine.fused.column_codes.DIRECT_CODES": 5,
    "raydb.kernels.backends.cpu.cpu_backend.LISTED_ROWS": 0,
    "raydb.planner.stars.delta.MIN_SCANNED": 0,
}

outcomes: Counter[str] = Counter()


@dataclass(slots=True)
class Run:
    """A star in both engines, RayDB's in a directory."""

    rng: Random
    star: Star
    path: Path
    pair: Pair

    def do(self, ours: str, theirs: str | None = None) -> bool:
        """Run a statement, which RayDB may refuse; DuckDB's text may be another one."""
        self.pair.steps.append(ours)
        word = ours.split(maxsplit=1)[0]
        try:
            self.pair.ours.execute(ours)
        except raydb.IntegrityError:
            outcomes[f"{word} refused"] += 1
            return False
        outcomes[word] += 1
        self.pair.theirs.execute(ours if theirs is None else theirs)
        return True

    def reopen(self) -> None:
        self.pair.steps.append("-- reopened")
        self.pair.ours.close()
        self.pair.ours = raydb.connect(self.path)
        if self.rng.random() < 0.5:
            self.pair.ours.execute("SET bvh_merge = 'checkpoint'")
        outcomes["reopened"] += 1


@pytest.mark.parametrize("number", range(STAR_COUNT), ids="star-{}".format)
def test_changing_tables_have_the_rows_of_duckdb(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in {**SMALL, **(SCANS if number % 2 else {})}.items():
        monkeypatch.setattr(name, limit)
    rng = Random(f"deltas {SEED} {number}")
    run = start(rng, tmp_path / "db")
    for _ in range(QUERIES_A_STAR):
        if rng.random() < 0.15:
            change_in_transaction(run)
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            change(run)
        if rng.random() < 0.2:
            keep_house(run)
        check(run)
    run.pair.close()


def start(rng: Random, path: Path) -> Run:
    pair = open_pair()
    pair.ours.close()
    pair.ours = raydb.connect(path)
    run = Run(rng, random_star(rng), path, pair)
    for table in run.star.tables:
        columns = ", ".join(f"{column.name} {column.type}" for column in table.attributes)
        run.do(table.ddl, f"CREATE TABLE {table.name} ({columns})")
    for insert in random_rows(rng, run.star):
        run.do(insert.sql)
    for bvh in run.star.bvhs:
        run.do(bvh.sql, "SELECT 1")
    return run


def change_in_transaction(run: Run) -> None:
    keys = {name: list(known) for name, known in run.star.keys.items()}
    run.do("BEGIN")
    for _ in range(run.rng.randint(1, 3)):
        change(run)
        check(run)
    ending = run.rng.choice(("COMMIT", "ROLLBACK"))
    run.do(ending)
    if ending == "ROLLBACK":
        run.star.keys = keys


def keep_house(run: Run) -> None:
    """Merge, write or forget what the queries must not depend on."""
    match run.rng.choice(("CHECKPOINT", "VACUUM", "reopen", "wait", "wait", "setting")):
        case "reopen":
            run.reopen()
        case "wait":
            run.pair.ours._session.database.shared.merger.wait()
        case "setting":
            run.do("SET bvh_merge = 'background'", "SELECT 1")
        case text:
            run.do(text, "SELECT 1")


def change(run: Run) -> None:
    """Change rows of the fact table, or of a dimension."""
    rng, star = run.rng, run.star
    table = star.fact if rng.random() < 0.7 else rng.choice(star.tables[:-1])
    match rng.choices(("insert", "delete", "update", "upsert", "truncate"), (8, 4, 5, 3, 0.2))[0]:
        case "insert":
            for insert in more_rows(rng, star):
                run.do(insert.sql)
        case "delete":
            run.do(f"DELETE FROM {table.name} WHERE {condition(rng, table)}")
        case "update":
            run.do(
                f"UPDATE {table.name} SET {assignments(rng, star, table)} WHERE "
                f"{condition(rng, table)}"
            )
        case "upsert" if table.key:
            upsert(run, table)
        case "truncate":
            run.do(f"TRUNCATE {star.fact.name}")


def condition(rng: Random, table: Table) -> str:
    """Return a predicate that holds for a few rows of a table, mostly."""
    column = rng.choice(table.attributes)
    if column.nullable and rng.random() < 0.2:
        return f"{column.name} IS NULL"
    return f"{column.name} = {literal(rng.choice(column.literals))}"


def assignments(rng: Random, star: Star, table: Table) -> str:
    """Return new values for a group of columns, or for a foreign key."""
    references = [each for each in table.references if star.keys[each.table.name]]
    if references and rng.random() < 0.3:
        reference = rng.choice(references)
        columns, values = reference.columns, rng.choice(star.keys[reference.table.name])
        if reference.null_share and rng.random() < 0.3:
            values = (None,) * len(columns)
    else:
        group = rng.choice(table.groups)
        columns, values = group.columns, group.draw(rng)
    pairs = zip(columns, values, strict=True)
    return ", ".join(f"{column.name} = {literal(value)}" for column, value in pairs)


def upsert(run: Run, table: Table) -> None:
    """Insert rows of which some have the keys of others, which then get all their values."""
    rng, star = run.rng, run.star
    known = list(star.keys.get(table.name, ()))
    insert = random_insert(rng, star, table, rng.randint(1, 4))
    width = len(table.key)
    rows = {
        (key := rng.choice(known) if known and rng.random() < 0.6 else row[:width]): key
        + row[width:]
        for row in insert.rows
    }
    insert = Insert(table, tuple(rows.values()))
    others = [column.name for column in table.attributes[width:]]
    sets = ", ".join(f"{name} = excluded.{name}" for name in others)
    text = f"{insert.sql} ON CONFLICT ({name_list(table.key)}) DO UPDATE SET {sets}"
    gone = " OR ".join(
        "("
        + " AND ".join(f"{c.name} = {literal(v)}" for c, v in zip(table.key, key, strict=True))
        + ")"
        for key in rows
    )
    if run.do(text, f"DELETE FROM {table.name} WHERE {gone}; {insert.sql}"):
        outcomes["upsert"] += 1


def check(run: Run) -> None:
    query: Query = random_query(run.rng, run.star)
    found = answers(run.pair, query)
    outcomes["queries"] += 1
    lines = [line for (line,) in run.pair.ours.execute(f"EXPLAIN {query.sql}").fetchall()]
    for what in ("path: fused", "DeltaScan", "left out:", "one pass on", "serves no query: rows"):
        outcomes[what] += any(what in line for line in lines)
    if difference(found, query):
        script = ";\n".join([*run.pair.steps, query.sql])
        pytest.fail(
            f"seed {SEED}: the answers differ.\n\n{script};\n\nfused path:    {found.fused}\n"
            f"general path:  {found.general}\nDuckDB:        {found.duckdb}\n",
            pytrace=False,
        )


def test_the_cases_are_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    if outcomes["queries"] < STAR_COUNT * QUERIES_A_STAR:
        pytest.skip("only some of the stars have run")
    with capsys.disabled():
        print(f"\n{dict(outcomes)}")
    queries = outcomes["queries"]
    assert outcomes["path: fused"] >= 0.4 * queries, outcomes
    assert outcomes["DeltaScan"] >= 0.1 * queries, outcomes
    assert outcomes["left out:"] >= 0.05 * queries, outcomes
    for word in ("INSERT", "UPDATE", "DELETE", "upsert", "CHECKPOINT", "ROLLBACK", "reopened"):
        assert outcomes[word], outcomes
