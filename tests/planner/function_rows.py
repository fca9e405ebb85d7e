"""A table of random rows with all types, and ways to compute over it with DuckDB and Python."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal

import duckdb
import pyarrow as pa

from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Column, Literal

BOOL, INT32, INT64, DOUBLE, TEXT, DATE = (
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.string(),
    pa.date32(),
)
STAMP = pa.timestamp("us")
MONEY = pa.decimal128(12, 2)
ROWS = 300
SEED = 20240521

FLOATS = [0.0, -0.0, 0.1, 0.5, 1.5, 2.5, -2.5, 2.675, 1e15, 1e16, 1e-5, 123456.789, -1e300, 5e-324]
TEXTS = [
    "",
    "a",
    "ab",
    "a%b",
    "a_b",
    "a\\b",
    "aXb",
    "Äbc",
    "äBC",
    " ab ",
    "a\nb",
    "日本語",
    "(a.b)",
]


def _random_table(seed: int) -> pa.Table:
    draw = random.Random(seed)

    def some(values, kind):
        return pa.array(
            [None if draw.random() < 0.15 else draw.choice(values) for _ in range(ROWS)], kind
        )

    days = [dt.date(1970, 1, 1) + dt.timedelta(draw.randint(-40000, 40000)) for _ in range(40)]
    stamps = [
        dt.datetime(1970, 1, 1)
        + dt.timedelta(
            seconds=draw.randint(-(10**9), 10**9), microseconds=draw.choice([0, 500000, 1, 123450])
        )
        for _ in range(40)
    ]
    cents = [Decimal(draw.randint(-(10**7), 10**7)).scaleb(-2) for _ in range(40)] + [
        Decimal("0.00"),
        Decimal("0.05"),
        Decimal("-0.15"),
    ]
    small = [*range(-5, 6), 1000, -1000]
    return pa.table(
        {
            "i": some(small, INT32),
            "j": some([value for value in small if value], INT32),
            "k": some([*small, 2**40, -(2**40), 3037000499], INT64),
            "x": some(FLOATS, DOUBLE),
            "y": some([*FLOATS, math.nan, math.inf, -math.inf], DOUBLE),
            "z": some([value for value in FLOATS if value], DOUBLE),
            "d": some(cents, MONEY),
            "e": some(cents, MONEY),
            "s": some(TEXTS, TEXT),
            "t": some(TEXTS, TEXT),
            "b": some([True, False], BOOL),
            "c": some([True, False], BOOL),
            "day": some(days, DATE),
            "ts": some(stamps, STAMP),
        }
    )


TABLE = _random_table(SEED)
COLUMNS = {
    name: Column(number, name, TABLE.schema.field(name).type)
    for number, name in enumerate(TABLE.column_names)
}
INPUTS = {column: TABLE.column(name) for name, column in COLUMNS.items()}


def col(name):
    return COLUMNS[name]


def lit(value, kind):
    return Literal(value, kind)


def call(function, *arguments, kind=BOOL):
    return Call(function, arguments, kind)


def run(expression, table=TABLE):
    values = evaluate(expression, INPUTS, ROWS)
    assert values.type == expression.type
    assert len(values) == ROWS
    return values.to_pylist()


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return one == other


def check(expression, expected):
    actual = run(expression)
    for row, (one, other) in enumerate(zip(actual, expected, strict=True)):
        assert same(one, other), (
            f"row {row} of seed {SEED}: {one!r} is not {other!r}: {TABLE.slice(row, 1).to_pylist()}"
        )


def duck(sql):
    connection = duckdb.connect()
    connection.register("rows_of_test", TABLE)
    return connection.sql(f"SELECT {sql} FROM rows_of_test").to_arrow_table().column(0).to_pylist()


def python(function, *names):
    return [
        None if any(value is None for value in row) else function(*row)
        for row in zip(*(TABLE.column(name).to_pylist() for name in names), strict=True)
    ]
