"""The scalar functions of SQL, and the vectorised evaluator that runs them over Arrow arrays."""

from raydb.planner.expressions.doubles import canonical_floats, doubles_of_codes, order_codes
from raydb.planner.expressions.evaluator import (
    FUNCTIONS,
    evaluate,
    is_known,
    is_volatile,
    may_raise,
)

__all__ = [
    "FUNCTIONS",
    "canonical_floats",
    "doubles_of_codes",
    "evaluate",
    "is_known",
    "is_volatile",
    "may_raise",
    "order_codes",
]
