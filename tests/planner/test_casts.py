"""Casts against DuckDB (where it defines the same) and against plain Python."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from decimal import Decimal, localcontext

import duckdb
import pyarrow as pa
import pytest
from function_rows import (
    BOOL,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    MONEY,
    SEED,
    STAMP,
    TABLE,
    TEXT,
    call,
    check,
    col,
    duck,
    lit,
    run,
    same,
)

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Column


@pytest.mark.parametrize(
    ("name", "target", "sql"),
    [
        ("b", INT32, "INTEGER"),
        ("i", INT64, "BIGINT"),
        ("i", pa.int16(), "SMALLINT"),
        ("i", DOUBLE, "DOUBLE"),
        ("i", BOOL, "BOOLEAN"),
        ("i", pa.decimal128(10, 3), "DECIMAL(10,3)"),
        ("k", pa.float32(), "REAL"),
        ("d", DOUBLE, "DOUBLE"),
        ("d", INT64, "BIGINT"),
        ("d", pa.decimal128(12, 1), "DECIMAL(12,1)"),
        ("d", pa.decimal128(38, 20), "DECIMAL(38,20)"),
        ("day", STAMP, "TIMESTAMP"),
        ("ts", DATE, "DATE"),
    ],
)
def test_casts(name, target, sql):
    check(call("cast", col(name), kind=target), duck(f"{name}::{sql}"))


@pytest.mark.parametrize("name", ["b", "i", "k", "x", "y", "d", "s", "day", "ts"])
def test_casts_to_text_and_back(name):
    text = call("cast", col(name), kind=TEXT)
    check(text, duck(f"{name}::VARCHAR"))
    check(call("cast", text, kind=col(name).type), TABLE.column(name).to_pylist())


def test_cast_of_small_decimals_and_floats_to_text():
    tiny = pa.array([Decimal("1E-8"), Decimal("-12.5")], pa.decimal128(20, 8))
    assert cast_values(tiny, TEXT).to_pylist() == ["0.00000001", "-12.50000000"]
    reals = pa.array([0.1, 1.0, 1e20, None, 16777216.0], pa.float32())
    assert cast_values(reals, TEXT).to_pylist() == ["0.1", "1.0", "1e+20", None, "16777216.0"]
    times = pa.array([dt.time(1, 2, 3), dt.time(1, 2, 3, 500000)], pa.time64("us"))
    assert cast_values(times, TEXT).to_pylist() == ["01:02:03", "01:02:03.5"]


def test_doubles_round_half_to_even_and_decimals_away_from_zero():
    assert cast_values(pa.array([0.5, 1.5, 2.5, -2.5]), INT32).to_pylist() == [0, 2, 2, -2]
    halves = pa.array([Decimal("0.5"), Decimal("2.5"), Decimal("-2.5"), None])
    assert cast_values(halves, INT32).to_pylist() == [1, 3, -3, None]
    doubles = pa.array([0.125, 2.675, -0.125, 1e22])
    expected = duckdb.sql(
        "SELECT unnest([0.125, 2.675, -0.125, 1e22]::double[])::decimal(38, 2)"
    ).fetchall()
    assert cast_values(doubles, pa.decimal128(38, 2)).to_pylist() == [
        value for (value,) in expected
    ]


@pytest.mark.parametrize("precision", [15, 18, 38])
def test_decimals_become_the_nearest_doubles(precision):
    draw = random.Random(SEED + precision)
    scale = draw.randint(0, precision)
    digits = [draw.randint(-(10**precision) + 1, 10**precision - 1) for _ in range(500)]
    with localcontext() as context:
        context.prec = 60
        values = [Decimal(value).scaleb(-scale) for value in digits] + [None]
    doubles = cast_values(pa.array(values, pa.decimal128(precision, scale))[1:], DOUBLE)
    expected = [None if value is None else float(value) for value in values[1:]]
    assert doubles.to_pylist() == expected, f"seed {SEED}, scale {scale}"


@pytest.mark.parametrize(
    ("texts", "target", "expected"),
    [
        ([" 12 ", "+7", "-3", None], INT32, [12, 7, -3, None]),
        (["1.5", " 1e3", "nan", "-inf"], DOUBLE, [1.5, 1000.0, math.nan, -math.inf]),
        (["true", "F", " yes", "0", None], BOOL, [True, False, True, False, None]),
        (
            ["1.005", " 2 ", "-1e2", "0.125"],
            MONEY,
            [Decimal("1.01"), Decimal(2), Decimal(-100), Decimal("0.13")],
        ),
        ([" 1992-01-31 "], DATE, [dt.date(1992, 1, 31)]),
        (
            ["1992-01-31", "1992-01-31 10:11:12.5"],
            STAMP,
            [dt.datetime(1992, 1, 31), dt.datetime(1992, 1, 31, 10, 11, 12, 500000)],
        ),
        (["10:11:12"], pa.time64("us"), [dt.time(10, 11, 12)]),
    ],
)
def test_casts_from_text(texts, target, expected):
    values = cast_values(pa.array(texts), target).to_pylist()
    assert all(same(one, other) for one, other in zip(values, expected, strict=True)), values


@pytest.mark.parametrize(
    ("value", "source", "target", "message"),
    [
        ("abc", TEXT, INT32, "'abc' is not a valid INTEGER"),
        ("1.5", TEXT, INT32, "'1.5' is not a valid INTEGER"),
        ("0x1A", TEXT, INT64, "'0x1A' is not a valid BIGINT"),
        ("3000000000", TEXT, INT32, "'3000000000' is not a valid INTEGER"),
        ("", TEXT, DOUBLE, "'' is not a valid DOUBLE"),
        ("maybe", TEXT, BOOL, "'maybe' is not a valid BOOLEAN"),
        ("1992-02-30", TEXT, DATE, "'1992-02-30' is not a valid DATE"),
        ("noon", TEXT, STAMP, "'noon' is not a valid TIMESTAMP"),
        ("12,5", TEXT, MONEY, "'12,5' is not a valid DECIMAL(12,2)"),
        ("99999999999", TEXT, MONEY, "'99999999999' is not a valid DECIMAL(12,2)"),
        (300, INT32, pa.int8(), "300 is out of range for TINYINT"),
        (2**40, INT64, INT32, "1099511627776 is out of range for INTEGER"),
        (10**11, INT64, MONEY, "100000000000 is out of range for DECIMAL(12,2)"),
        (2.0**63, DOUBLE, INT64, "9.223372036854776e+18 is out of range for BIGINT"),
        (math.nan, DOUBLE, INT64, "nan is out of range for BIGINT"),
        (math.inf, DOUBLE, MONEY, "inf is out of range for DECIMAL(12,2)"),
        (1e300, DOUBLE, pa.float32(), "1e+300 is out of range for REAL"),
        (
            Decimal("1000000000.00"),
            MONEY,
            pa.decimal128(9, 2),
            "1000000000.00 is out of range for DECIMAL(9,2)",
        ),
        (Decimal("9.99"), MONEY, pa.decimal128(2, 1), "9.99 is out of range for DECIMAL(2,1)"),
        (Decimal("3000000000.00"), MONEY, INT32, "3000000000.00 is out of range for INTEGER"),
    ],
)
def test_casts_that_fail_name_the_value(value, source, target, message):
    column = Column(0, "v", source)
    values = pa.array([None] * 5 + [value] + [None] * 3, source)
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        evaluate(call("cast", column, kind=target), {column: values}, len(values))
    chunked = pa.chunked_array([values[:2], values[2:]])
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        cast_values(chunked, target)


def test_casts_that_do_not_exist():
    with pytest.raises(NotSupportedError, match=r"^a cast from DATE to BIGINT is not supported$"):
        run(call("cast", col("day"), kind=INT64))


@pytest.mark.parametrize("target", [BOOL, INT32, DOUBLE, MONEY, TEXT, DATE, STAMP])
def test_null_casts_to_everything(target):
    assert (
        evaluate(call("cast", lit(None, pa.null()), kind=target), {}, 3).to_pylist() == [None] * 3
    )
