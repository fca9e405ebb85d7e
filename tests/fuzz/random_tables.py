"""Random tables for random queries: few rows, many NULLs and duplicates, extremes, empty tables.

    t0 (id, k, r -> t1.id, ...)   t1 (id, k, ...)   t2 (id, k, ...)   t3 (id, k, ...)

Each table has a key `id` and a nullable `k` of few values. The other columns have the same names in
several tables. A BVH lies on `t0`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stars import literal

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `kind` is integer, double, decimal, text, date or boolean; `pool` its values.

    `bound` is the largest absolute value of numbers that are safe to compute with. It is 0 where
    there are extreme values.
    """

    name: str
    type: str
    kind: str
    pool: tuple[Any, ...]
    bound: int = 0
    constraint: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, without its rows."""

    name: str
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        columns = ", ".join(f"{c.name} {c.type}{c.constraint}" for c in self.columns)
        return f"CREATE TABLE {self.name} ({columns})"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows for a table; shrinking a case drops some."""

    table: Table
    rows: tuple[tuple[Any, ...], ...]

    @property
    def sql(self) -> str:
        types = [column.type for column in self.table.columns]
        rows = ", ".join(f"({', '.join(map(typed_literal, types, row))})" for row in self.rows)
        return f"INSERT INTO {self.table.name} VALUES {rows}"


def typed_literal(type_: str, value: Any) -> str:
    """Write a value of a column; a double with an exponent, for else it is a decimal."""
    if type_ != "DOUBLE" or value is None:
        return literal(value)
    return f"{value!r}" if "e" in f"{value!r}" else f"{value!r}e0"


TEXTS = ("", "a", "b", "ab", "Ab", "aB", "abc", "B", " a ", "a%", "x_y", "é", "né", "O'B", "10")
DAYS = tuple(dt.date(1995, 12, 30) + dt.timedelta(days=i) for i in (0, 1, 2, 33, 60, 61, 400))

COLUMNS = (
    Column("i0", "INTEGER", "integer", (0, 1, 2, 3), 10),
    Column("i1", "INTEGER", "integer", (-7, -1, 0, 5, 5, 12, 40), 100),
    Column("i2", "BIGINT", "integer", (-300, 0, 7, 8, 299), 1000),
    Column("i3", "BIGINT", "integer", (-(2**63) + 1, -(2**31), -1, 0, 2**31, 2**53 + 1, 2**63 - 1)),
    Column("i4", "INTEGER", "integer", (-(2**31) + 1, -1, 0, 9, 2**31 - 1)),
    Column("x0", "DOUBLE", "double", (-2.5, -0.25, 0.0, 0.5, 1.0, 1.25, 100.75), 1000),
    Column("x1", "DOUBLE", "double", (-1.7e308, -1e-300, 0.0, 2.5, 1e300)),
    Column(
        "p0", "DECIMAL(7, 2)", "decimal", tuple(map(Decimal, ("-1.5", "0", ".05", "99.99"))), 100
    ),
    Column("p1", "DECIMAL(14, 6)", "decimal", tuple(map(Decimal, ("-0.000001", "3.5", "12"))), 100),
    Column("s0", "VARCHAR", "text", TEXTS),
    Column("s1", "VARCHAR", "text", ("a", "b", "ab", "")),
    Column("d0", "DATE", "date", DAYS, 1),
    Column("d1", "DATE", "date", (dt.date(1, 1, 1), DAYS[0], DAYS[4], dt.date(9999, 12, 31))),
    Column("f0", "BOOLEAN", "boolean", (True, False)),
)
ID = Column("id", "INTEGER", "integer", tuple(range(6)), 100, " PRIMARY KEY")
K = Column("k", "INTEGER", "integer", (1, 2, 3), 10)
R = Column("r", "INTEGER", "integer", tuple(range(6)), 100, " REFERENCES t1 (id)")


def random_tables(rng: Random) -> list[Table]:
    """Return four tables, each after the one that it refers to."""
    tables = []
    for name in ("t1", "t2", "t3", "t0"):
        others = tuple(rng.sample(COLUMNS, rng.randint(2, 5)))
        keys = (ID, K, R) if name == "t0" else (ID, K)
        tables.append(Table(name, (*keys, *others)))
    return tables


def random_rows(rng: Random, tables: list[Table]) -> list[Rows]:
    """Return the rows of each table that is not empty."""
    counts = {table.name: rng.choice((0, 1, 4, 6, 9, 12, 12)) for table in tables}
    found = []
    for table in tables:
        null_shares = [rng.choice((0.0, 0.0, 0.1, 0.1, 0.2, 0.5, 1.0)) for _ in table.columns]
        rows = []
        for number in range(counts[table.name]):
            row = [
                None if rng.random() < share else rng.choice(column.pool)
                for column, share in zip(table.columns, null_shares, strict=True)
            ]
            row[0] = number
            if table.name == "t0" and (row[2] is None or row[2] >= counts["t1"]):
                row[2] = None
            rows.append(tuple(row))
        if rows:
            found.append(Rows(table, tuple(rows)))
    return found


def random_bvh(rng: Random, tables: list[Table]) -> str:
    """Return CREATE BVH on t0 over some of its columns and of t1's."""
    own = [c for c in tables[-1].columns if c.kind != "double"]
    reached = [f"t1.{c.name}" for c in tables[0].columns[1:] if c.kind != "double"]
    measures = [c.name for c in own if c.bound and c.kind == "integer"]
    attributes = [f"t0.{c.name}" for c in own[1:]] + reached
    scan = ", ".join(rng.sample(attributes, min(3, len(attributes))))
    group = ", ".join(rng.sample(attributes, min(2, len(attributes))))
    parts = f"SCAN ({scan}), GROUP BY ({group}), AGGREGATE ({', '.join(measures)})"
    return f"CREATE BVH b ON t0 ({parts}) WITH (sieve = {rng.choice(('true', 'false'))})"
