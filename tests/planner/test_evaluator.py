"""The evaluator: branches that are not taken, NULL, chunks, and what is wrong with a call."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from function_rows import (
    BOOL,
    DOUBLE,
    INPUTS,
    INT32,
    INT64,
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

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.columns.order import order_codes
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Column
from raydb.planner.expressions.registry import FUNCTIONS, may_raise


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


def test_every_function_takes_null_arguments():
    for name, function in FUNCTIONS.items():
        if function.takes == "values":
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
