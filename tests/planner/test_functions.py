"""The scalar functions against DuckDB (where it defines the same) and against plain Python."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from random import Random

import pyarrow as pa
import pytest
from function_rows import (
    BOOL,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    MONEY,
    ROWS,
    TABLE,
    TEXT,
    call,
    check,
    col,
    duck,
    lit,
    python,
    run,
)

from raydb.errors import DataError
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.functions import patterns
from raydb.planner.expressions.nodes import Column

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


@pytest.mark.parametrize("function", ["like", "ilike"])
def test_patterns_of_all_shapes(function):
    random = Random(26)
    texts = ["".join(random.choices("aB%_\\\n.é", k=random.randrange(6))) for _ in range(300)]
    column = Column(0, "s", TEXT)
    flags = re.IGNORECASE if function == "ilike" else 0
    for _ in range(150):
        pattern = "".join(random.choices("aB%%%_\\\n.é", k=random.randrange(6)))
        if re.search(r"(?<!\\)(\\\\)*\\$", pattern):
            continue
        found = evaluate(call(function, column, lit(pattern, TEXT)), {column: pa.array(texts)}, 300)
        expected = [_matches_like(text, pattern, flags) for text in texts]
        assert found.to_pylist() == expected, pattern


@pytest.mark.parametrize(
    ("pattern", "regex"),
    [("%a%b%", "a.*b"), ("a%b%", "^a.*b"), ("%a_", "a.$"), (r"\%a_b.%%", r"^%a.b\..*")],
)
def test_an_open_end_is_not_searched_for(pattern, regex, monkeypatch):
    searched, search = [], patterns.pc.match_substring_regex

    def spy(text, regex, **options):
        searched.append(regex)
        return search(text, regex, **options)

    monkeypatch.setattr(patterns.pc, "match_substring_regex", spy)
    run(call("like", lit("a", TEXT), lit(pattern, TEXT)))
    assert searched == [f"(?s){regex}"]


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


def _matches_like(text, pattern, flags=0):
    regex = re.sub(r"\\(.)|.", lambda piece: _like_piece(piece[0]), pattern, flags=re.DOTALL)
    return re.fullmatch(regex, text, re.DOTALL | flags) is not None


def _like_piece(piece):
    meanings = {"%": ".*", "_": "."}
    return meanings.get(piece) or re.escape(piece[-1])


@pytest.mark.parametrize("function", ["lower", "upper", "trim"])
def test_text_functions(function):
    check(call(function, col("s"), kind=TEXT), duck(f"{function}(s)"))


def test_text_length():
    check(call("text_length", col("s"), kind=INT64), duck("length(s)"))


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
            call("text_length", col("s"), kind=INT64),
            call("text_length", col("s"), kind=INT64),
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


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("digits", [-2, -1, 1, 2, 3, 6])
def test_floats_round_as_what_they_are(kind, digits):
    """2.675 is a little less than it says, so 2.67; what is half of a step goes away from zero."""
    rng = Random(digits)
    some = [round(rng.uniform(-1e4, 1e4), rng.randint(0, 7)) for _ in range(3000)]
    floats = pa.array([2.675, 1.005, 1.15, 0.125, -0.125, 25.0, -150.0, 5e-7, *some], kind)
    expected = []
    for value in floats.to_pylist():
        exact = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
        expected.append(pa.scalar(float(exact), kind).as_py())
    column = Column(0, "x", kind)
    rounded = call("round", column, lit(digits, INT32), kind=kind)
    assert evaluate(rounded, {column: floats}, len(floats)).to_pylist() == expected


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
