"""Random tables for the nodes of the general path, with DuckDB beside them."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections import Counter
from decimal import Decimal

import duckdb
import pyarrow as pa

from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.operators.run import Sources, run_plan
from raydb.engine.session.session import Session
from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.plan.nodes import Scan
from raydb.running import Running
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

BOOL, INT32, INT64, DOUBLE, TEXT = pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.string()
MONEY = pa.decimal128(9, 2)
SEED = 7
DAY = dt.date(2000, 1, 1)


def random_table(seed, rows):
    """A table with NULLs, duplicates and extremes, in chunks of several sizes."""
    draw = random.Random(seed)
    choices = {
        "a": ([*range(-3, 4)], INT32),
        "b": ([0, 1, 2**62, -(2**62), 2**40, 7], INT64),
        "x": ([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, -2.25], DOUBLE),
        "d": (
            [Decimal("0.00"), Decimal("1.10"), Decimal("-9999999.99"), Decimal("9999999.99")],
            MONEY,
        ),
        "s": (["", "a", "ä", "b", "Z", "zz"], TEXT),
        "day": ([DAY + dt.timedelta(i) for i in range(-2, 3)], pa.date32()),
        "f": ([True, False], BOOL),
    }
    columns = {
        name: pa.array(
            [None if draw.random() < 0.2 else draw.choice(values) for _ in range(rows)], kind
        )
        for name, (values, kind) in choices.items()
    }
    columns["id"] = pa.array(range(rows), INT64)
    table = pa.table(columns)
    cuts = sorted(draw.sample(range(rows), 2)) if rows > 4 else []
    edges = [0, *cuts, rows]
    return pa.concat_tables([table.slice(lo, hi - lo) for lo, hi in itertools.pairwise(edges)])


class Database:
    """Stored tables, scans of them with fresh column numbers, and DuckDB beside them."""

    def __init__(self, **rows):
        self.tables = {
            name: Table(TableDefinition(name, t.schema), Rows(t.schema, (ArrowPart(t),)), 1)
            for name, t in rows.items()
            for name, t in rows.items()
        }
        self.duck = duckdb.connect()
        for name, table in rows.items():
            self.duck.register(name, table)
        self.numbers = itertools.count()

    def column(self, name, kind):
        return Column(next(self.numbers), name, kind)

    def scan(self, name):
        schema = self.tables[name].rows.schema
        columns = {field.name: self.column(field.name, field.type) for field in schema}
        return Scan(name, tuple(columns.values())), columns

    def run(self, plan):
        table = run_plan(plan, Sources(self.tables, no_fused_jobs, statement_context()))
        columns = plan.columns
        assert table.column_names == [f"c{column.number}" for column in columns]
        assert table.schema.types == [column.type for column in columns]
        table.validate(full=True)
        return rows_of(table)

    def sql(self, text):
        return rows_of(self.duck.sql(text).to_arrow_table())


def statement_context():
    """Return what a statement of a database in memory works with."""
    return Session(SharedDatabase()).begun((), Running(), [])


def no_fused_jobs(plan):
    raise AssertionError(f"not a fused job: {plan}")


def plain(value):
    """A value that is equal to itself: NaN is not, and Decimal(1) is 1."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def rows_of(table):
    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def same_rows(actual, expected):
    """Compare as multisets."""
    assert Counter(actual) == Counter(expected)


def call(function, *arguments, kind=BOOL):
    return Call(function, arguments, kind)


def lit(value, kind):
    return Literal(value, kind)
