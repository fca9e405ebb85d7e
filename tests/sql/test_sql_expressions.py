"""Expressions: types, casts and the messages about them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.nodes import Call, Column, Expression, Literal
from raydb.planner.plan.nodes import Project
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.plan.nodes import Plan

    Bind = Callable[..., Plan]


def show(expression: Expression) -> str:
    """Write an expression with its casts: cast(h):INTEGER, 5:TINYINT."""
    match expression:
        case Column(name=name):
            return name
        case Literal(value=value, type=kind):
            return f"{value}:{sql_type_name(kind)}"
        case Call(function=function, arguments=arguments, type=kind):
            result = f"{function}({', '.join(show(each) for each in arguments)})"
            return f"{result}:{sql_type_name(kind)}" if function == "cast" else result
        case _:
            raise AssertionError(expression)


def bind_one(bind: Bind, text: str, parameters: Any = ()) -> Expression:
    plan = bind(f"SELECT {text} FROM t", parameters)
    assert isinstance(plan, Project)
    ((_, expression),) = plan.items
    return expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # An integer constant takes the type of the column beside it if it fits.
        ("h > 5", "greater(h, 5:TINYINT)"),
        ("h > 300", "greater(cast(h):INTEGER, 300:INTEGER)"),
        ("b = 5", "equal(b, 5:BIGINT)"),
        ("a = 3000000000", "equal(cast(a):BIGINT, 3000000000:BIGINT)"),
        ("a = b", "equal(cast(a):BIGINT, b)"),
        # Decimals are compared with the digits and the scale of both sides.
        ("e = 5", "equal(e, 5:DECIMAL(10,2))"),
        ("e > 0.05", "greater(e, 0.05:DECIMAL(10,2))"),
        ("e > 0.055", "greater(cast(e):DECIMAL(11,3), 0.055:DECIMAL(11,3))"),
        ("a < 1.5", "less(cast(a):DECIMAL(11,1), 1.5:DECIMAL(11,1))"),
        ("e = a", "equal(cast(e):DECIMAL(12,2), cast(a):DECIMAL(12,2))"),
        ("f = e", "equal(f, cast(e):DOUBLE)"),
        ("f = 0.1", "equal(f, 0.1:DOUBLE)"),
        ("r = f", "equal(cast(r):DOUBLE, f)"),
        # A string constant is read as what stands beside it.
        ("d >= '1992-1-31'", "greater_equal(d, 1992-01-31:DATE)"),
        ("'7' = h", "equal(7:TINYINT, h)"),
        ("e > '0.05'", "greater(e, 0.05:DECIMAL(10,2))"),
        ("ts = '1992-01-01 10:00:01.5'", "equal(ts, 1992-01-01 10:00:01.500000:TIMESTAMP)"),
        ("tm = '10:00'", "equal(tm, 10:00:00:TIME)"),
        ("g = 't'", "equal(g, True:BOOLEAN)"),
        ("c = ' x '", "equal(c,  x :VARCHAR)"),
        ("d < ts", "less(cast(d):TIMESTAMP, ts)"),
        ("ts > DATE '1992-01-01'", "greater(ts, 1992-01-01 00:00:00:TIMESTAMP)"),
        ("a = NULL", "equal(a, None:INTEGER)"),
        ("NULL = NULL", "equal(None:INTEGER, None:INTEGER)"),
        # Predicates.
        ("a BETWEEN 1 AND 3", "and(greater_equal(a, 1:INTEGER), less_equal(a, 3:INTEGER))"),
        ("a IN (1, 2)", "in(a, 1:INTEGER, 2:INTEGER)"),
        ("h IN (1, 300)", "in(cast(h):INTEGER, 1:INTEGER, 300:INTEGER)"),
        ("a NOT IN (1)", "not(in(a, 1:INTEGER))"),
        ("a IN (1, NULL)", "or(in(a, 1:INTEGER), None:BOOLEAN)"),
        ("a IN (1, b)", "or(in(cast(a):BIGINT, 1:BIGINT), equal(cast(a):BIGINT, b))"),
        ("d IN ('1992-01-01')", "in(d, 1992-01-01:DATE)"),
        ("c LIKE 'x%'", "like(c, x%:VARCHAR)"),
        ("c NOT LIKE 'x%'", "not(like(c, x%:VARCHAR))"),
        ("c ILIKE 'x%'", "ilike(c, x%:VARCHAR)"),
        ("c LIKE NULL", "like(c, None:VARCHAR)"),
        ("a IS NULL", "is_null(a)"),
        ("a IS NOT NULL", "not(is_null(a))"),
        ("g IS TRUE", "coalesce(g, False:BOOLEAN)"),
        ("g IS NOT FALSE", "not(coalesce(not(g), False:BOOLEAN))"),
        ("a IS DISTINCT FROM 1", "not(not_distinct(a, 1:INTEGER))"),
        ("g AND NOT g OR g AND NULL", "or(and(g, not(g)), and(g, None:BOOLEAN))"),
        ("g AND g AND g", "and(g, g, g)"),
        # CASE and its relatives.
        ("CASE WHEN g THEN 'x' END", "case(g, x:VARCHAR, None:VARCHAR)"),
        ("CASE a WHEN 1 THEN 2 ELSE e END", "case(equal(a, 1:INTEGER), 2:DECIMAL(10,2), e)"),
        ("coalesce(h, 0)", "coalesce(h, 0:TINYINT)"),
        ("nullif(a, 0)", "case(equal(a, 0:INTEGER), None:INTEGER, a)"),
        ("c || a", "concat(c, cast(a):VARCHAR)"),
        # Casts of constants are constants, but for strings.
        ("CAST('1992-01-01' AS DATE)", "1992-01-01:DATE"),
        ("CAST(7 AS DECIMAL(5, 2))", "7:DECIMAL(5,2)"),
        ("1::BIGINT", "1:BIGINT"),
        ("CAST(0.1 AS REAL)", "0.10000000149011612:REAL"),
        ("CAST(NULL AS DATE)", "None:DATE"),
        ("CAST(1.5 AS INTEGER)", "cast(1.5:DECIMAL(2,1)):INTEGER"),
        ("CAST(300 AS TINYINT)", "cast(300:INTEGER):TINYINT"),
        ("CAST(5 AS VARCHAR)", "cast(5:INTEGER):VARCHAR"),
        ("CAST(c AS VARCHAR)", "c"),
        # Functions.
        ("EXTRACT(YEAR FROM d)", "year(d)"),
        ("month(ts)", "month(ts)"),
        ("SUBSTRING(c FROM 2 FOR 3)", "substring(c, 2:INTEGER, 3:INTEGER)"),
        ("substr(c, 2)", "substring(c, 2:INTEGER)"),
        ("mod(a, 2)", "modulo(a, 2:INTEGER)"),
        ("ceiling(f)", "ceil(f)"),
        ("floor(a)", "a"),
        ("trim(lower(c))", "trim(lower(c))"),
    ],
)
def test_casts(bind: Bind, text: str, expected: str) -> None:
    assert show(bind_one(bind, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "INTEGER"),
        ("3000000000", "BIGINT"),
        ("-2147483648", "INTEGER"),
        ("-9223372036854775808", "BIGINT"),
        ("9223372036854775808", "HUGEINT"),
        ("1_000", "INTEGER"),
        ("0.05", "DECIMAL(2,2)"),
        ("100.00", "DECIMAL(5,2)"),
        ("5.", "DECIMAL(1,0)"),
        ("1e3", "DOUBLE"),
        ("NULL", "INTEGER"),
        ("h + h", "TINYINT"),
        ("h + 1", "INTEGER"),
        ("a + b", "BIGINT"),
        ("a / 2", "INTEGER"),
        ("a % h", "INTEGER"),
        ("-a", "INTEGER"),
        ("-5::BIGINT", "BIGINT"),
        ("-5::HUGEINT", "HUGEINT"),
        ("-0.5::DECIMAL(10,3)", "DECIMAL(10,3)"),
        ("-(-32768)::SMALLINT", "SMALLINT"),
        ("e + e", "DECIMAL(11,2)"),
        ("e - 1", "DECIMAL(11,2)"),
        ("e + a", "DECIMAL(13,2)"),
        ("e * e", "DECIMAL(21,4)"),
        ("e * 0.5", "DECIMAL(12,3)"),
        ("e / 2", "DOUBLE"),
        ("e % 3", "DECIMAL(10,2)"),
        ("CAST(e AS DECIMAL(38,2)) + e", "DECIMAL(38,2)"),
        ("CAST(e AS DECIMAL(38,20)) * CAST(e AS DECIMAL(38,20))", "DOUBLE"),
        ("f + 1", "DOUBLE"),
        ("r + r", "REAL"),
        ("r + 1", "DOUBLE"),
        ("'7' + a", "INTEGER"),
        ("NULL + a", "INTEGER"),
        ("round(e, 1)", "DECIMAL(10,1)"),
        ("round(e)", "DECIMAL(9,0)"),
        ("floor(e)", "DECIMAL(9,0)"),
        ("round(f, 2)", "DOUBLE"),
        ("abs(h)", "TINYINT"),
        ("length(c)", "BIGINT"),
        ("year(d)", "BIGINT"),
    ],
)
def test_types(bind: Bind, text: str, expected: str) -> None:
    assert sql_type_name(bind_one(bind, text).type) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(a)", "BIGINT"),
        ("sum(h)", "BIGINT"),
        ("sum(e)", "DECIMAL(38,2)"),
        ("sum(f)", "DOUBLE"),
        ("sum(r)", "DOUBLE"),
        ("avg(e)", "DOUBLE"),
        ("count(c)", "BIGINT"),
        ("count(*)", "BIGINT"),
        ("min(d)", "DATE"),
        ("max(c)", "VARCHAR"),
        ("sum(e) * 0.5", "DECIMAL(38,3)"),
    ],
)
def test_types_of_aggregates(bind: Bind, text: str, expected: str) -> None:
    assert sql_type_name(bind_one(bind, text).type) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = c", "cannot compare 'a' (INTEGER) with 'c' (VARCHAR)"),
        ("c = 5", "cannot compare 'c' (VARCHAR) with 5 (INTEGER)"),
        ("g = 1", "cannot compare 'g' (BOOLEAN) with 1 (INTEGER)"),
        ("d = a", "cannot compare 'd' (DATE) with 'a' (INTEGER)"),
        ("CAST('5' AS VARCHAR) = a", "cannot compare an expression (VARCHAR) with 'a' (INTEGER)"),
        ("a = 'x'", "'x' is not a valid INTEGER"),
        ("a = '1.5'", "'1.5' is not a valid INTEGER"),
        ("d = '1992-02-30'", "'1992-02-30' is not a valid DATE"),
        ("d = '19920228'", "'19920228' is not a valid DATE"),
        ("DATE 'today'", "'today' is not a valid DATE"),
        ("TIMESTAMP '1992-01-01 25:00:00'", "'1992-01-01 25:00:00' is not a valid TIMESTAMP"),
        ("e = 'NaN'", "'NaN' is not a valid DECIMAL"),
        ("c + 1", "cannot add 1 (INTEGER) to 'c' (VARCHAR)"),
        ("a - c", "cannot subtract 'c' (VARCHAR) from 'a' (INTEGER)"),
        ("-c", "cannot negate 'c' (VARCHAR)"),
        ("NOT d", "NOT needs a condition, not 'd' (DATE)"),
        ("g AND c", "AND needs a condition, not 'c' (VARCHAR)"),
        ("d IS TRUE", "IS TRUE or IS FALSE needs a condition, not 'd' (DATE)"),
        ("CASE WHEN d THEN 1 END", "WHEN needs a condition, not 'd' (DATE)"),
        ("CASE WHEN g THEN a ELSE c END", "cannot combine 'a' (INTEGER) with 'c' (VARCHAR)"),
        ("coalesce(a, c)", "cannot combine 'a' (INTEGER) with 'c' (VARCHAR)"),
        ("a LIKE 'x'", "LIKE needs strings, not 'a' (INTEGER)"),
        ("a || b", "cannot join 'a' (INTEGER) and 'b' (BIGINT) with ||"),
        ("CAST(d AS INTEGER)", "cannot cast 'd' (DATE) to INTEGER"),
        ("CAST('x' AS INTEGER)", "'x' is not a valid INTEGER"),
        ("lower(a)", "lower() needs a string, not 'a' (INTEGER)"),
        ("year(a)", "year() needs a date, not 'a' (INTEGER)"),
        ("abs(c)", "abs() needs a number, not 'c' (VARCHAR)"),
        ("lowr(c)", "function 'lowr' does not exist; did you mean 'lower'?"),
        ("lower(c, c)", "lower() takes 1 argument, not 2"),
        ("round()", "round() takes 1 or 2 arguments, not 0"),
        ("coalesce()", "coalesce() takes at least one argument, not 0"),
        ("sum(c)", "sum() needs a number, not 'c' (VARCHAR)"),
        ("avg(d)", "avg() needs a number, not 'd' (DATE)"),
        ("sum(a, b)", "sum() takes 1 argument, not 2"),
        ("sum(*)", "* is not allowed in an aggregate"),
        ("1" * 40, "a number has more than 38 digits"),
        ("1e999", "the number 1e999 is out of the range of DOUBLE"),
    ],
)
def test_wrong_types(bind: Bind, text: str, message: str) -> None:
    # A constant that cannot be read is bad data; everything else is a bad statement.
    is_value = "is not a valid" in message or "out of the range" in message
    with pytest.raises(DataError if is_value else ProgrammingError) as caught:
        bind_one(bind, text)
    assert caught.value.sentence == message


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("array_agg(a ORDER BY a LIMIT 1)", "LIMIT in an aggregate"),
        ("string_agg(c, c)", "string_agg() with a separator"),
        ("CAST(a AS XML)", "the type XML"),
        ("f(x => 1)", "a named argument"),
        ('c COLLATE "x"', "collation 'x' does not exist"),
    ],
)
def test_unsupported_expressions_are_named(bind: Bind, text: str, construct: str) -> None:
    with pytest.raises((NotSupportedError, ProgrammingError)) as caught:
        bind_one(bind, text)
    assert str(caught.value).startswith(construct)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Literal(None, pa.int32())),
        (True, Literal(True, pa.bool_())),
        (7, Literal(7, pa.int32())),
        (2**40, Literal(2**40, pa.int64())),
        (2.5, Literal(2.5, pa.float64())),
        ("x", Literal("x", pa.string())),
        (b"x", Literal(b"x", pa.binary())),
        (Decimal("1.50"), Literal(Decimal("1.50"), pa.decimal128(3, 2))),
        (dt.date(1992, 1, 1), Literal(dt.date(1992, 1, 1), pa.date32())),
        (dt.datetime(1992, 1, 1, 2), Literal(dt.datetime(1992, 1, 1, 2), pa.timestamp("us"))),
        (dt.time(2, 3), Literal(dt.time(2, 3), pa.time64("us"))),
        (np.int8(7), Literal(7, pa.int8())),
        (np.uint32(7), Literal(7, pa.uint32())),
        (np.float32(0.5), Literal(0.5, pa.float32())),
        (np.float64(0.5), Literal(0.5, pa.float64())),
        (np.bool_(True), Literal(True, pa.bool_())),
        (np.str_("x"), Literal("x", pa.string())),
        (np.datetime64("1992-01-01"), Literal(dt.date(1992, 1, 1), pa.date32())),
        (np.datetime64("NaT"), Literal(None, pa.int32())),
    ],
)
def test_parameters_have_the_type_of_their_value(bind: Bind, value: Any, expected: Literal) -> None:
    bound = bind_one(bind, "?", [value])
    assert bound == expected
    assert type(bound.value) is type(expected.value)


def test_parameters_are_numbered_in_the_order_of_the_text(bind: Bind) -> None:
    plan = bind("SELECT ?, ? FROM t WHERE a = ? LIMIT ?", [1, 2, 3, 4])
    assert plan.count == 4
    values = [expression.value for _, expression in plan.source.items]
    assert values == [1, 2]
    assert show(plan.source.source.predicate) == "equal(a, 3:INTEGER)"


def test_parameters_by_number_and_name(bind: Bind) -> None:
    assert show(bind_one(bind, "d = $1", ["1992-01-01"])) == "equal(d, 1992-01-01:DATE)"
    assert (
        show(bind_one(bind, "$2 + $1 + $2", [1, 2])) == "add(add(2:INTEGER, 1:INTEGER), 2:INTEGER)"
    )
    both = bind_one(bind, "$low + :limit", {"low": 1, "limit": 2})
    assert show(both) == "add(1:INTEGER, 2:INTEGER)"
    assert show(bind_one(bind, "?||'x'", ["y"])) == "concat(y:VARCHAR, x:VARCHAR)"


@pytest.mark.parametrize(
    ("text", "parameters", "message"),
    [
        ("?", [], "the statement has 1 parameter, but 0 values were given"),
        ("?", [1, 2], "the statement has 1 parameter, but 2 values were given"),
        ("$2", [1], "the statement has 2 parameters, but 1 value was given"),
        ("1", [1], "the statement has 0 parameters, but 1 value was given"),
        ("$0", [1], "parameters are numbered from $1"),
        (":alpha", {"alhpa": 1}, "parameter 'alpha' has no value; did you mean 'alhpa'?"),
        (":a", {"a": 1, "b": 2}, "the statement has no parameter 'b'; did you mean 'a'?"),
        (":a", [1], "parameter 'a' needs a mapping of names to values"),
        ("%s", [1], "'%s' is no parameter: write ?, $1 or $name"),
        ("%s", [], "'%s' is no parameter: write ?, $1 or $name"),
        ("?", {"a": 1}, "parameter 1 needs a sequence of values, not a mapping"),
        ("?", "x", "parameters are a sequence or a mapping, not a str"),
        ("?", [1j], "parameter 1 has the value 1j of type complex, which is no type of SQL"),
        ("?", [10**39], "a number has more than 38 digits"),
        ("?", [Decimal("NaN")], "parameter 1 has the value Decimal('NaN')"),
    ],
)
def test_wrong_parameters(bind: Bind, text: str, parameters: Any, message: str) -> None:
    with pytest.raises(ProgrammingError) as caught:
        bind_one(bind, text, parameters)
    assert str(caught.value).startswith(message.partition("; did")[0])


def test_long_chains_do_not_need_python_s_stack(bind: Bind) -> None:
    condition = bind_one(bind, " AND ".join(["a = 1"] * 3000))
    assert len(condition.arguments) == 3000
