"""The scalar functions against DuckDB (where it defines the same) and against plain Python."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import DataError, NotSupportedError
from raydb.planner.casts import cast_values
from raydb.planner.expression import Call, Column, Literal
from raydb.planner.functions import FUNCTIONS, evaluate, may_raise, order_codes

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


COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


@pytest.mark.parametrize("function", COMPARISONS)
@pytest.mark.parametrize("pair", ["ij", "xy", "yy", "de", "st", "bc"])
def test_comparisons(function, pair):
    one, other = pair
    check(call(function, col(one), col(other)), duck(f"{one} {COMPARISONS[function]} {other}"))


def test_comparison_of_days_and_with_literals():
    limit = dt.date(1970, 1, 1)
    check(call("less", col("day"), lit(limit, DATE)), duck("day < DATE '1970-01-01'"))
    check(call("equal", col("y"), lit(math.nan, DOUBLE)), duck("y = 'nan'::double"))
    check(call("equal", col("x"), lit(-0.0, DOUBLE)), duck("x = 0.0::double"))


@pytest.mark.parametrize(
    ("function", "symbol"), [("add", "+"), ("subtract", "-"), ("multiply", "*"), ("modulo", "%")]
)
def test_integer_arithmetic(function, symbol):
    check(call(function, col("i"), col("j"), kind=INT32), duck(f"i {symbol} j"))
    wide = call("cast", col("j"), kind=INT64)
    check(call(function, col("k"), wide, kind=INT64), duck(f"k {symbol} j"))


def test_integer_division_truncates():
    check(
        call("divide", col("i"), col("j"), kind=INT32),
        python(lambda i, j: math.trunc(Fraction(i, j)), "i", "j"),
    )


@pytest.mark.parametrize(
    ("function", "symbol"),
    [("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("modulo", "%")],
)
def test_double_arithmetic(function, symbol):
    check(call(function, col("x"), col("z"), kind=DOUBLE), duck(f"x {symbol} z"))


def test_division_of_decimals_as_doubles():
    nonzero = call(
        "case",
        call("equal", col("e"), lit(Decimal(0), MONEY)),
        lit(None, MONEY),
        col("e"),
        kind=MONEY,
    )
    expected = python(lambda d, e: None if e == 0 else float(d) / float(e), "d", "e")
    check(call("divide", col("d"), nonzero, kind=DOUBLE), expected)


def test_decimal_arithmetic():
    check(call("add", col("d"), col("e"), kind=pa.decimal128(13, 2)), duck("d + e"))
    check(call("subtract", col("d"), col("e"), kind=pa.decimal128(13, 2)), duck("d - e"))
    check(call("multiply", col("d"), col("e"), kind=pa.decimal128(24, 4)), duck("d * e"))
    check(call("multiply", col("d"), col("i"), kind=pa.decimal128(38, 2)), duck("d * i"))
    check(call("negate", col("d"), kind=MONEY), duck("-d"))
    check(call("abs", col("d"), kind=MONEY), duck("abs(d)"))


@pytest.mark.parametrize("function", ["divide", "modulo"])
def test_decimal_division_is_exact(function):
    target = pa.decimal128(30, 6)
    nonzero = call(
        "case",
        call("equal", col("e"), lit(Decimal(0), MONEY)),
        lit(None, MONEY),
        col("e"),
        kind=MONEY,
    )

    def expected(d, e):
        if e == 0:
            return None
        with localcontext() as context:
            context.prec = 60
            value = d / e if function == "divide" else d % e
            return value.quantize(Decimal("0.000001"), ROUND_HALF_UP)

    check(call(function, col("d"), nonzero, kind=target), python(expected, "d", "e"))


def test_widest_decimals():
    widest = pa.decimal128(38, 0)
    big, one = lit(Decimal(10**38 - 1), widest), lit(Decimal(1), widest)
    assert evaluate(call("multiply", big, one, kind=widest), {}, 1).to_pylist() == [10**38 - 1]
    assert evaluate(call("subtract", big, one, kind=widest), {}, 1).to_pylist() == [10**38 - 2]
    for function in ("add", "multiply"):
        with pytest.raises(
            DataError, match=r"the result of the .* is out of range for (DECIMAL\(38,0\)|HUGEINT)"
        ):
            evaluate(call(function, big, big, kind=widest), {}, 1)


@pytest.mark.parametrize(
    ("function", "left", "right", "kind", "noun"),
    [
        ("add", 2**31 - 1, 1, INT32, "addition"),
        ("add", 2**63 - 1, 1, INT64, "addition"),
        ("subtract", -(2**63), 1, INT64, "subtraction"),
        ("multiply", 2**62, 2, INT64, "multiplication"),
        ("divide", -(2**63), -1, INT64, "division"),
    ],
)
def test_integer_overflow(function, left, right, kind, noun):
    name = "INTEGER" if kind == INT32 else "BIGINT"
    with pytest.raises(DataError, match=f"^the result of the {noun} is out of range for {name}$"):
        evaluate(call(function, lit(left, kind), lit(right, kind), kind=kind), {}, 1)


def test_overflow_of_one_operand():
    for function, noun in (("negate", "negation"), ("abs", "absolute value")):
        with pytest.raises(
            DataError, match=f"^the result of the {noun} is out of range for BIGINT$"
        ):
            evaluate(call(function, lit(-(2**63), INT64), kind=INT64), {}, 1)
    assert evaluate(
        call("modulo", lit(-(2**63), INT64), lit(-1, INT64), kind=INT64), {}, 1
    ).to_pylist() == [0]


@pytest.mark.parametrize("function", ["divide", "modulo"])
@pytest.mark.parametrize("kind", [INT32, INT64, DOUBLE, MONEY])
def test_division_by_zero(function, kind):
    zero = Decimal(0) if kind == MONEY else 0
    for dividend in (Decimal(1) if kind == MONEY else 1, zero):
        with pytest.raises(DataError, match=r"^division by zero$"):
            evaluate(call(function, lit(dividend, kind), lit(zero, kind), kind=kind), {}, 1)
    nothing = call(function, lit(None, kind), lit(zero, kind), kind=kind)
    assert evaluate(nothing, {}, 2).to_pylist() == [None, None]
    assert (
        evaluate(call(function, lit(zero, kind), lit(zero, kind), kind=kind), {}, 0).to_pylist()
        == []
    )


@pytest.mark.parametrize("function", ["and", "or"])
def test_three_valued_logic(function):
    check(call(function, col("b"), col("c")), duck(f"b {function} c"))
    check(
        call(function, col("b"), col("c"), lit(None, BOOL)), duck(f"b {function} c {function} NULL")
    )
    check(call("not", call(function, col("b"), lit(True, BOOL))), duck(f"NOT (b {function} true)"))


def test_is_null():
    check(call("is_null", col("y")), duck("y IS NULL"))
    assert evaluate(call("is_null", lit(None, pa.null())), {}, 1).to_pylist() == [True]


def test_in():
    check(call("in", col("i"), lit(1, INT32), lit(-5, INT32)), duck("i IN (1, -5)"))
    check(
        call("in", col("y"), lit(0.0, DOUBLE), lit(math.nan, DOUBLE)),
        duck("y IN (0.0::double, 'nan'::double)"),
    )
    check(
        call("in", col("s"), lit("a%b", TEXT), lit("nowhere", TEXT)),
        duck("s IN ('a%b', 'nowhere')"),
    )
    check(call("in", col("d"), lit(Decimal("0.05"), MONEY)), duck("d IN (0.05)"))
    assert evaluate(call("in", lit(None, pa.null()), lit(1, INT32)), {}, 1).to_pylist() == [None]


@pytest.mark.parametrize(
    "pattern",
    ["a%", "%b", "%a%", "a_b", "a%b", "", "%", "a\\b", "a\\%", "(a.b)", "_", "ä%", "日_語", "a.b"],
)
def test_like(pattern):
    check(call("like", col("s"), lit(pattern, TEXT)), duck(rf"s LIKE '{pattern}' ESCAPE '\'"))
    check(
        call("ilike", col("s"), lit(pattern.upper(), TEXT)),
        duck(rf"s ILIKE '{pattern.upper()}' ESCAPE '\'"),
    )


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("a%b", r"a\%b", True),
        ("axb", r"a\%b", False),
        ("a_b", r"a\_b", True),
        ("ab", r"a\b", True),
        ("a\\b", r"a\\b", True),
        ("a\\", r"%\\", True),
        ("a.\\", r"%.\\", True),
        ("ax\\", r"%.\\", False),
        ("x%", r"%\%", True),
        ("a\nb\\", r"a%\\", True),
    ],
)
def test_a_backslash_escapes_in_like(text, pattern, expected):
    found = run(call("like", lit(text, TEXT), lit(pattern, TEXT)))
    assert found == [expected] * ROWS


def test_a_pattern_must_not_end_with_its_escape():
    with pytest.raises(DataError, match="must not end with its escape character"):
        run(call("like", col("s"), lit("a\\", TEXT)))


def test_like_of_null_and_of_a_column():
    check(call("like", col("s"), lit(None, TEXT)), [None] * ROWS)
    texts, patterns = TABLE["s"].to_pylist(), TABLE["t"].to_pylist()
    lone = [pattern is not None and pattern.endswith("\\") for pattern in patterns]
    assert not any(lone)
    expected = [
        None if text is None or pattern is None else _matches_like(text, pattern)
        for text, pattern in zip(texts, patterns, strict=True)
    ]
    check(call("like", col("s"), col("t")), expected)


def _matches_like(text, pattern):
    regex = re.sub(r"\\(.)|.", lambda piece: _like_piece(piece[0]), pattern, flags=re.DOTALL)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _like_piece(piece):
    meanings = {"%": ".*", "_": "."}
    return meanings.get(piece) or re.escape(piece[-1])


@pytest.mark.parametrize("function", ["lower", "upper", "trim", "length"])
def test_text_functions(function):
    kind = INT64 if function == "length" else TEXT
    check(call(function, col("s"), kind=kind), duck(f"{function}(s)"))


def test_concat():
    check(call("concat", col("s"), col("t"), lit("!", TEXT), kind=TEXT), duck("s || t || '!'"))


@pytest.mark.parametrize("start", [-3, -1, 0, 1, 2, 5, 2**62])
@pytest.mark.parametrize("length", [None, 0, 1, 2, 100, 2**62])
def test_substring(start, length):
    def expected(text):
        stop = math.inf if length is None else start + length
        return "".join(letter for place, letter in enumerate(text, 1) if start <= place < stop)

    lengths = () if length is None else (lit(length, INT64),)
    constant = call("substring", col("s"), lit(start, INT64), *lengths, kind=TEXT)
    check(constant, python(expected, "s"))
    varying = call(
        "add",
        lit(start, INT64),
        call(
            "subtract",
            call("length", col("s"), kind=INT64),
            call("length", col("s"), kind=INT64),
            kind=INT64,
        ),
        kind=INT64,
    )
    check(call("substring", col("s"), varying, *lengths, kind=TEXT), python(expected, "s"))


def test_substring_of_negative_length_and_null():
    with pytest.raises(DataError, match="the length of a substring cannot be negative, as -1 is"):
        run(call("substring", col("s"), lit(1, INT64), lit(-1, INT64), kind=TEXT))
    check(call("substring", col("s"), lit(None, INT64), lit(1, INT64), kind=TEXT), [None] * ROWS)


@pytest.mark.parametrize("digits", [-9, -3, -1, 0, 1, 2, 5])
def test_round(digits):
    target = MONEY if digits >= 0 else pa.decimal128(13, 0)

    def rounded(value):
        with localcontext() as context:
            context.prec = 60
            return value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)

    expected = python(rounded, "d")
    check(call("round", col("d"), lit(digits, INT32), kind=target), expected)
    check(
        call("round", col("k"), lit(digits, INT32), kind=INT64),
        python(lambda k: int(rounded(Decimal(k))), "k"),
    )


def test_round_of_doubles():
    check(call("round", col("x"), kind=DOUBLE), duck("round(x)"))
    check(call("round", col("x"), lit(2, INT32), kind=DOUBLE), duck("round(x, 2)"))
    rounded = duck("CASE WHEN i = -1000 THEN x * 0 WHEN x = -1e300 THEN x ELSE round(x, i) END")
    nothing = [
        None if i is None else one for one, i in zip(rounded, TABLE["i"].to_pylist(), strict=True)
    ]
    check(call("round", col("x"), col("i"), kind=DOUBLE), nothing)
    extremes = pa.array([1e300, -1e15, 1.5, 5e-324, None])
    for digits, expected in (
        (300, [1e300, -1e15, 1.5, 5e-324, None]),
        (20, [1e300, -1e15, 1.5, 0.0, None]),
        (-1, [1e300, -1e15, 0.0, 0.0, None]),
        (-400, [0.0, 0.0, 0.0, 0.0, None]),
    ):
        expression = call("round", col("x"), lit(digits, INT32), kind=DOUBLE)
        assert evaluate(expression, {col("x"): extremes}, 5).to_pylist() == expected
    with pytest.raises(DataError, match="the result of the rounding is out of range for BIGINT"):
        evaluate(call("round", lit(2**63 - 1, INT64), lit(-1, INT64), kind=INT64), {}, 1)


@pytest.mark.parametrize("function", ["floor", "ceil"])
def test_floor_and_ceil(function):
    check(call(function, col("x"), kind=DOUBLE), duck(f"{function}(x)"))
    check(call(function, col("i"), kind=INT32), duck("i"))
    check(call(function, col("d"), kind=pa.decimal128(12, 0)), python(getattr(math, function), "d"))


@pytest.mark.parametrize("function", ["year", "month", "day"])
@pytest.mark.parametrize("name", ["day", "ts"])
def test_date_parts(function, name):
    check(call(function, col(name), kind=INT64), duck(f"{function}({name})"))


# -- rows that need no value


def _guard(condition, value):
    return call("case", condition, value, lit(None, INT32), kind=INT32)


def test_case_computes_a_branch_only_where_it_is_taken():
    divided = call("divide", col("j"), col("i"), kind=INT32)
    guarded = _guard(call("not_equal", col("i"), lit(0, INT32)), divided)
    check(guarded, python(lambda j, i: math.trunc(Fraction(j, i)) if i else None, "j", "i"))
    with pytest.raises(DataError, match="division by zero"):
        run(divided)
    never = _guard(lit(False, BOOL), call("divide", lit(1, INT32), lit(0, INT32), kind=INT32))
    check(never, [None] * ROWS)


def test_case_later_conditions_and_else_see_the_remaining_rows():
    is_zero = call("equal", col("i"), lit(0, INT32))
    inverse = call("divide", lit(6, INT32), col("i"), kind=INT32)
    expression = call(
        "case",
        is_zero,
        lit(-1, INT32),
        call("greater", inverse, lit(2, INT32)),
        lit(-2, INT32),
        inverse,
        kind=INT32,
    )
    expected = duck("CASE WHEN i = 0 THEN -1 WHEN 6 // i > 2 THEN -2 ELSE 6 // i END")
    check(expression, expected)


def test_case_without_failures_and_with_null_conditions():
    expression = call(
        "case", col("b"), lit("b", TEXT), col("c"), col("s"), lit(None, pa.null()), kind=TEXT
    )
    check(expression, duck("CASE WHEN b THEN 'b' WHEN c THEN s END"))
    check(call("case", lit(None, pa.null()), lit(1, INT32), col("i"), kind=INT32), duck("i"))


def test_and_or_guard_their_later_arguments():
    is_zero = call("equal", col("i"), lit(0, INT32))
    large = call("greater", call("divide", lit(6, INT32), col("i"), kind=INT32), lit(2, INT32))
    check(
        call("and", call("not", is_zero), large),
        duck("CASE WHEN i = 0 THEN false ELSE 6 // i > 2 END"),
    )
    check(call("or", is_zero, large), duck("CASE WHEN i = 0 THEN true ELSE 6 // i > 2 END"))


def test_coalesce():
    check(
        call("coalesce", col("s"), col("t"), lit("none", TEXT), kind=TEXT),
        duck("coalesce(s, t, 'none')"),
    )
    inverse = call("divide", lit(6, INT32), col("i"), kind=INT32)
    is_zero = call("equal", col("i"), lit(0, INT32))
    guarded = call("coalesce", _guard(is_zero, lit(7, INT32)), inverse, kind=INT32)
    check(guarded, duck("CASE WHEN i = 0 THEN 7 ELSE 6 // i END"))


def test_may_raise():
    assert not may_raise(call("equal", col("i"), col("j")))
    assert may_raise(call("equal", call("add", col("i"), col("j"), kind=INT32), col("j")))


# -- casts


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


# -- the evaluator


def test_every_function_takes_null_arguments():
    for name, function in FUNCTIONS.items():
        if function.strict:
            nothing = [lit(None, pa.null())] * 2
            values = evaluate(call(name, *nothing, kind=BOOL), {}, 2)
            assert values.to_pylist() == [None] * 2, name
    for name, count in (("and", 2), ("or", 2), ("case", 3), ("coalesce", 2)):
        nothing = [lit(None, pa.null())] * count
        assert evaluate(call(name, *nothing), {}, 2).to_pylist() == [None] * 2, name
    assert evaluate(call("is_null", lit(None, pa.null())), {}, 2).to_pylist() == [True] * 2


def test_constants_and_columns():
    assert evaluate(lit(7, INT32), {}, 3).to_pylist() == [7, 7, 7]
    assert evaluate(lit(None, pa.null()), {}, 2).type == pa.null()
    assert evaluate(col("i"), INPUTS, ROWS).equals(TABLE.column("i"))
    nested = call(
        "add", lit(1, INT32), call("multiply", lit(2, INT32), lit(3, INT32), kind=INT32), kind=INT32
    )
    assert evaluate(nested, {}, 2).to_pylist() == [7, 7]


def test_chunked_arrays_of_different_chunks():
    one, other = Column(0, "one", INT64), Column(1, "other", INT64)
    inputs = {
        one: pa.chunked_array([[1, 2], [], [3, None, 5]], INT64),
        other: pa.chunked_array([[1], [2, 0, 4, 0]], INT64),
    }
    ratio = call("divide", one, other, kind=INT64)
    guarded = call(
        "case", call("greater", other, lit(0, INT64)), ratio, lit(None, INT64), kind=INT64
    )
    assert evaluate(guarded, inputs, 5).to_pylist() == [1, 1, None, None, None]
    assert evaluate(call("cast", one, kind=TEXT), inputs, 5).to_pylist() == [
        "1",
        "2",
        "3",
        None,
        "5",
    ]


def test_unknown_functions_and_operands():
    with pytest.raises(NotSupportedError, match="the function 'sine' is not supported"):
        run(call("sine", col("x"), kind=DOUBLE))
    with pytest.raises(NotSupportedError, match=r"^lower\(DATE\) is not supported$"):
        run(call("lower", col("day"), kind=TEXT))


def test_order_codes_are_in_total_order():
    values = [-math.inf, -1.5, -5e-324, 0.0, 5e-324, 1.0, math.inf, math.nan]
    codes = order_codes(pa.array(values)).to_pylist()
    assert codes == sorted(codes)
    assert len(set(codes)) == len(codes)
    zeros = order_codes(pa.array([0.0, -0.0, None])).to_pylist()
    assert zeros[0] == zeros[1]
    assert zeros[2] is None
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    one, other = order_codes(pa.array(nans)).to_pylist()
    assert one == other


def test_results_beyond_the_size_of_an_array_are_errors():
    texts = pa.array(["ab" * 1000] * 1000)
    for function, arguments in (
        ("replace", ("a", "x" * 3000)),
        ("regexp_replace", ("[ab]", "y" * 3000, "g")),
        ("repeat", (10_000,)),
        ("lpad", (10_000_000,)),
    ):
        constants = [lit(value, TEXT if isinstance(value, str) else INT32) for value in arguments]
        expression = call(function, col("s"), *constants, kind=TEXT)
        with pytest.raises(DataError, match=rf"the result of {function}\(\) is (too long|longer)"):
            evaluate(expression, {col("s"): texts}, 1000)
