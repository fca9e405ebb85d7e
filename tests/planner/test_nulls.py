"""What is said of NULL holds: columns without it, predicates that reject it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.plan.nulls import is_never_null, rejects_null

INTEGER, BOOLEAN = pa.int32(), pa.bool_()
A, B = Column(0, "a", INTEGER), Column(1, "b", INTEGER)
ONE, NULL = Literal(1, INTEGER), Literal(None, INTEGER)


def call(function: str, *arguments: object) -> Call:
    return Call(function, arguments, BOOLEAN)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("predicate", "rejects"),
    [
        (call("less", A, ONE), True),
        (call("less", B, ONE), False),
        (call("less", Call("add", (A, B), INTEGER), ONE), True),
        (call("not", call("equal", A, B)), True),
        (call("in", A, ONE), True),
        (call("is_null", A), False),
        (call("not", call("is_null", A)), True),
        (call("not_distinct", A, B), False),
        (call("and", call("less", A, ONE), call("is_null", B)), True),
        (call("or", call("less", A, ONE), call("less", B, ONE)), False),
        (call("or", call("less", A, ONE), call("less", ONE, A)), True),
        (call("less", Call("coalesce", (A, ONE), INTEGER), ONE), False),
        (call("coalesce", call("less", A, ONE), Literal(False, BOOLEAN)), True),
        (call("coalesce", call("less", A, ONE), Literal(True, BOOLEAN)), False),
        (call("case", call("less", A, ONE), Literal(True, BOOLEAN), Literal(True, BOOLEAN)), False),
        (Literal(False, BOOLEAN), True),
        (Literal(True, BOOLEAN), False),
    ],
)
def test_a_predicate_rejects_null(predicate: Call, rejects: bool) -> None:
    assert rejects_null(predicate, {A}) is rejects


@pytest.mark.parametrize(
    ("expression", "never"),
    [
        (A, True),
        (B, False),
        (ONE, True),
        (NULL, False),
        (call("less", A, ONE), True),
        (call("less", A, B), False),
        (call("and", call("less", A, ONE), call("is_null", B)), True),
        (Call("coalesce", (B, ONE), INTEGER), True),
        (Call("coalesce", (B, NULL), INTEGER), False),
        (Call("case", (call("less", A, ONE), ONE, ONE), INTEGER), False),
        (call("not_distinct", B, NULL), True),
    ],
)
def test_an_expression_is_never_null(expression: Call, never: bool) -> None:
    assert is_never_null(expression, {A}) is never
