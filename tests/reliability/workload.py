"""Statements that change a database in every way, and what a database holds after each of them.

    steps = Workload(seed).steps(200)
    states = expected_states(steps, folder)      states[k] after k steps

The steps depend on the seed alone. What they leave is found by running them once, undisturbed, in
memory: there no file, log or manifest takes part. `digest` is all that SQL shows of a database, in
one order, hashed.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import raydb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA = (
    "CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR, CHECK (id >= 0))",
    "CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER, x DECIMAL(9, 2), t VARCHAR)",
    "CREATE TABLE e (id INTEGER, v FLOAT[2])",
    "INSERT INTO e SELECT range, [range, range % 5]::FLOAT[2] FROM range(12)",
    "CREATE SEQUENCE q INCREMENT 3 MAXVALUE 40 CYCLE",
    "CREATE TABLE k (id SERIAL PRIMARY KEY, n BIGINT DEFAULT nextval('q'), a INTEGER)",
    "CREATE INDEX near ON e USING ivf (v) WITH (lists = 3)",
    "CREATE BVH x ON f (SCAN (name), GROUP BY (m), AGGREGATE (x))",
)

CATALOG = (
    "SELECT name, table_name, scan, group_by, aggregate FROM bvhs()",
    # Not how many vectors the lists hold: a killed REINDEX leaves its rows beside them.
    "SELECT name, table_name, lists FROM vector_indexes()",
    "SELECT index_name, k, fnr, seed FROM index_calibrations()",
    "SELECT * FROM indexes()",
    # Not where they stand: their values are not given back.
    "SELECT name, table_name, column_name FROM sequences()",
)
# Answers of what is derived from the rows: a BVH and a vector index.
DERIVED = (
    "SELECT name, m, sum(x), count(*) FROM f JOIN d ON d = id GROUP BY name, m",
    "SELECT id FROM vector_search(e, v, [3, 1], k => 3)",
)


@dataclass(frozen=True)
class Step:
    """Statements that take effect as one; {folder} in them is a folder for files."""

    kind: str
    statements: tuple[str, ...]

    def run(self, con: Any, folder: Path) -> None:
        """Run the statements; one that breaks a constraint leaves the others to take effect."""
        for statement in self.statements:
            with suppress(raydb.IntegrityError):
                con.execute(statement.replace("{folder}", str(folder)))


class Workload:
    """Steps of some thirty kinds over a few small tables, as a seed chooses them.

    draws: whether they take values of sequences, which a statement that fails does not give back.
    """

    def __init__(self, seed: int, *, draws: bool = True) -> None:
        self.kinds = {name: kind for name, kind in KINDS.items() if draws or name not in DRAWS}
        self.random = Random(f"workload {seed}")
        self.number = 0
        self.known = 0
        self.added: list[str] = []  # columns of f
        self.tables: list[str] = []
        self.views: list[str] = []

    def steps(self, count: int) -> list[Step]:
        """Return that many steps; the first ones make the schema."""
        steps = [Step("schema", (text,)) for text in SCHEMA]
        steps.append(Step("insert", (self.new_dimension(),)))
        while len(steps) < count:
            self.number = len(steps)
            weights = [weight for weight, _ in self.kinds.values()]
            kind = self.random.choices(list(self.kinds), weights)[0]
            made = KINDS[kind][1](self)
            if made is not None:
                steps.append(Step(kind, made))
        return steps[:count]

    def new_dimension(self) -> str:
        self.known += 1
        return f"INSERT INTO d VALUES ({self.known}, 'name {self.known % 5}')"

    def facts(self) -> str:
        rows = ", ".join(
            f"({self.random.randint(1, self.known)}, {self.random.randint(-9, 99)}, "
            f"{self.random.randint(0, 999)}.25, '{'x' * self.random.randint(0, 40)}{self.number}')"
            for _ in range(self.random.randint(1, 6))
        )
        return f"INSERT INTO f (d, m, x, t) VALUES {rows}"

    def update(self) -> tuple[str, ...]:
        return (
            self.random.choice(
                (
                    f"UPDATE f SET m = m + 1 WHERE d = {self.random.randint(0, self.known)}",
                    "UPDATE f SET x = -x, t = upper(t) WHERE m % 2 = 0",
                    f"UPDATE d SET name = name || '!' WHERE id % 7 = {self.number % 7}",
                    f"UPDATE d SET name = 'name {self.number % 7}' WHERE length(name) > 9",
                )
            ),
        )

    def update_from(self) -> tuple[str, ...]:
        return (f"UPDATE f SET t = name FROM d WHERE d = id AND m < {self.number % 40}",)

    def delete(self) -> tuple[str, ...]:
        return (
            self.random.choice(
                (
                    f"DELETE FROM f WHERE m % 10 = {self.random.randint(0, 9)}",
                    f"DELETE FROM f WHERE d < {self.known - 20}",
                    "DELETE FROM e WHERE id > 30",
                    f"DELETE FROM d WHERE id NOT IN (SELECT d FROM f) AND id < {self.known - 5}",
                )
            ),
        )

    def upsert(self) -> tuple[str, ...]:
        row = self.random.randint(1, self.known)
        self.known += 1
        action = self.random.choice(
            ("UPDATE SET name = substr(d.name, 1, 5) || excluded.name", "NOTHING")
        )
        values = f"({row}, 'upsert'), ({self.known}, 'new')"
        return (f"INSERT INTO d VALUES {values} ON CONFLICT (id) DO {action}",)

    def insert_or(self) -> tuple[str, ...]:
        row = self.random.randint(1, self.known)
        word = self.random.choice(("REPLACE", "IGNORE"))
        return (f"INSERT OR {word} INTO d VALUES ({row}, 'or {self.number}')",)

    def insert_select(self) -> tuple[str, ...]:
        limit = self.random.randint(1, 8)
        return (
            f"INSERT INTO f (d, m, x) SELECT d, m + 1, x FROM f ORDER BY d, m, x, t LIMIT {limit}",
        )

    def transaction(self) -> tuple[str, ...]:
        texts = (self.facts(), self.new_dimension(), *self.update(), *self.delete())
        return ("BEGIN", *texts, self.random.choice(("COMMIT", "COMMIT", "ROLLBACK")))

    def savepoint(self) -> tuple[str, ...]:
        kept, undone = self.facts(), self.delete()[0]
        return ("BEGIN", kept, "SAVEPOINT a", undone, "ROLLBACK TO a", self.facts(), "COMMIT")

    def defining_transaction(self) -> tuple[str, ...]:
        name = f"b{self.number}"
        self.tables.append(name)
        return ("BEGIN", f"CREATE TABLE {name} AS SELECT * FROM d", self.facts(), "COMMIT")

    def refused(self) -> tuple[str, ...]:
        return (
            self.random.choice(
                (
                    f"INSERT INTO f (d) VALUES (1), ({self.known + 1000})",
                    "INSERT INTO d VALUES (-1, 'check')",
                    f"INSERT INTO d VALUES ({self.known + 1}, ''), ({self.known + 1}, '')",
                )
            ),
        )

    def create_table(self) -> tuple[str, ...]:
        name = f"t{self.number}"
        self.tables.append(name)
        return (
            f"CREATE TABLE {name} (a INTEGER UNIQUE, b VARCHAR DEFAULT 'b', c DATE, d DOUBLE[])",
        )

    def create_table_as(self) -> tuple[str, ...]:
        name = f"t{self.number}"
        self.tables.append(name)
        return (f"CREATE TABLE {name} AS SELECT d AS a, t AS b, m FROM f",)

    def large(self) -> tuple[str, ...]:
        """Too much for the log: the rows go into a file of their own."""
        name = f"t{self.number}"
        self.tables.append(name)
        size = self.random.choice((60, 600, 4400))
        return (
            "BEGIN",
            f"CREATE TABLE {name} (a INTEGER, b VARCHAR)",
            f"INSERT INTO {name} SELECT range, repeat('{self.number} ', {size}) FROM range(3)",
            "COMMIT",
        )

    def fill(self) -> tuple[str, ...] | None:
        if not self.tables:
            return None
        return (f"INSERT INTO {self.random.choice(self.tables)} DEFAULT VALUES",)

    def identity(self) -> tuple[str, ...]:
        rows = self.random.randint(1, 4)
        return (f"INSERT INTO k (n, a) SELECT 0, range FROM range({rows})",)

    def sequence(self) -> tuple[str, ...]:
        return (f"INSERT INTO k (a) VALUES ({self.number}), (nextval('q'))",)

    def drop_table(self) -> tuple[str, ...] | None:
        if not self.tables:
            return None
        return (f"DROP TABLE {self.tables.pop(self.random.randrange(len(self.tables)))} CASCADE",)

    def add_column(self) -> tuple[str, ...]:
        name = f"c{self.number}"
        self.added.append(name)
        default = self.random.choice(("", f" DEFAULT {self.number}"))
        return (f"ALTER TABLE f ADD COLUMN {name} INTEGER{default}",)

    def drop_column(self) -> tuple[str, ...] | None:
        if not self.added:
            return None
        return (f"ALTER TABLE f DROP COLUMN {self.added.pop(0)} CASCADE",)

    def rename(self) -> tuple[str, ...] | None:
        if not self.tables:
            return None
        place = self.random.randrange(len(self.tables))
        old, self.tables[place] = self.tables[place], f"r{self.number}"
        return (f"ALTER TABLE {old} RENAME TO r{self.number}",)

    def alter(self) -> tuple[str, ...]:
        return (f"ALTER TABLE f ALTER m SET DEFAULT {self.number}",)

    def create_view(self) -> tuple[str, ...]:
        name = f"v{self.number}"
        self.views.append(name)
        return (f"CREATE VIEW {name} AS SELECT d, sum(m) AS s FROM f GROUP BY d",)

    def drop_view(self) -> tuple[str, ...] | None:
        return (f"DROP VIEW {self.views.pop(0)}",) if self.views else None

    def bvh(self) -> tuple[str, ...]:
        scan = self.random.choice(("name", "m", "name, m"))
        create = f"CREATE BVH x ON f (SCAN ({scan}), GROUP BY (m), AGGREGATE (x))"
        return ("BEGIN", "DROP BVH x", create, "COMMIT")

    def index(self) -> tuple[str, ...]:
        if self.random.random() < 0.5:
            return ("DROP INDEX IF EXISTS by_id",)
        return ("CREATE INDEX IF NOT EXISTS by_id ON e (id)",)

    def vectors(self) -> tuple[str, ...]:
        n = self.number % 50
        return (f"INSERT INTO e VALUES ({n}, [{n}, 0.5]), ({n + 1}, [{n + 1}, {n % 3}])",)

    def vector_index(self) -> tuple[str, ...]:
        return (
            self.random.choice(
                (
                    "REINDEX near",
                    f"CALIBRATE INDEX near WITH (k = 2, fnr = 0.3, seed = {self.number})",
                    "CALIBRATE INDEX near USING (SELECT v FROM e) WITH (fnr = 0.4)",
                )
            ),
        )

    def copy(self) -> tuple[str, ...]:
        suffix = self.random.choice(("csv", "parquet", "flat", "jsonl"))
        file = f"'{{folder}}/copied.{suffix}'"
        return (
            f"COPY (SELECT d, m, x, t FROM f ORDER BY 1, 2, 3, 4 LIMIT 5) TO {file}",
            f"COPY f (d, m, x, t) FROM {file}",
        )

    def checkpoint(self) -> tuple[str, ...]:
        return ("CHECKPOINT",)

    def vacuum(self) -> tuple[str, ...]:
        return ("VACUUM",)

    def truncate(self) -> tuple[str, ...]:
        return ("TRUNCATE f",)


# Each kind's weight and maker; one that cannot be made just now gives None.
KINDS = {
    "insert": (4, lambda w: (w.new_dimension(),)),
    "facts": (10, lambda w: (w.facts(),)),
    "insert select": (2, Workload.insert_select),
    "update": (5, Workload.update),
    "update from": (2, Workload.update_from),
    "delete": (7, Workload.delete),
    "upsert": (4, Workload.upsert),
    "insert or": (3, Workload.insert_or),
    "transaction": (5, Workload.transaction),
    "savepoint": (3, Workload.savepoint),
    "defining transaction": (1, Workload.defining_transaction),
    "refused": (2, Workload.refused),
    "create table": (2, Workload.create_table),
    "create table as": (1, Workload.create_table_as),
    "large": (1, Workload.large),
    "fill": (3, Workload.fill),
    "identity": (3, Workload.identity),
    "sequence": (3, Workload.sequence),
    "drop table": (5, Workload.drop_table),
    "add column": (1, Workload.add_column),
    "drop column": (2, Workload.drop_column),
    "rename": (1, Workload.rename),
    "alter": (1, Workload.alter),
    "create view": (1, Workload.create_view),
    "drop view": (2, Workload.drop_view),
    "bvh": (2, Workload.bvh),
    "index": (1, Workload.index),
    "vectors": (3, Workload.vectors),
    "vector index": (2, Workload.vector_index),
    "copy": (1, Workload.copy),
    "checkpoint": (12, Workload.checkpoint),
    "vacuum": (2, Workload.vacuum),
    "truncate": (1, Workload.truncate),
}
DRAWS = ("identity", "sequence")


def digest(con: Any) -> str:
    """Return a hash of all that a connection shows, of one version of the database."""
    con.execute("BEGIN")
    try:
        names = sorted(name for (name,) in con.execute("SHOW TABLES").fetchall())
        seen: list[object] = [names]
        for name in names:
            rows = con.execute(f"SELECT * FROM {name}")
            seen.append([column[:2] for column in rows.description])
            seen.append(sorted(map(repr, rows.fetchall())))
        seen += [sorted(map(repr, con.execute(text).fetchall())) for text in CATALOG]
        if {"d", "e", "f"} <= set(names):
            for text in DERIVED:
                with suppress(raydb.ProgrammingError):  # before the vector index is there
                    seen.append(sorted(map(repr, con.execute(text).fetchall())))
    finally:
        if con.in_transaction:
            con.execute("COMMIT")
    return hashlib.blake2b(repr(seen).encode(), digest_size=8).hexdigest()


def expected_states(steps: Sequence[Step], folder: Path) -> list[str]:
    """Return the digests before the first step and after each, from a run in memory."""
    with raydb.connect() as con:
        states = [digest(con)]
        for step in steps:
            step.run(con, folder)
            states.append(digest(con))
    return states
