"""Rows as values: `(a, b)`, which can be compared with each other, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.expressions.typing_rules import compare, is_distinct, logical
from raydb.sql.parse.nodes import require_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Expression

# What decides at the first columns that differ; where all are equal, the whole does.
_STRICT = {"less_equal": "less", "greater_equal": "greater"}


def row_nodes(node: exp.Expr) -> list[exp.Expr] | None:
    """Return the values of `(a, b)` or `ROW(a, b)`, or None if a node is no row."""
    match node:
        case exp.Tuple():
            require_only(node, "expressions")
            return list(node.expressions)
        case exp.Anonymous() if node.name.upper() == "ROW":
            require_only(node, "this", "expressions")
            return list(node.expressions)
        case _:
            return None


def compare_rows(
    function: str, left: Sequence[Expression], right: Sequence[Expression]
) -> Expression:
    """Return the comparison of two rows; of one column each it is the plain comparison.

    (a, b) = (c, d)   ->  a = c AND b = d
    (a, b) < (c, d)   ->  a < c OR (a = c AND b < d)
    """
    _require_same_width(left, right)
    if len(left) == 1:
        return compare(function, left[0], right[0])
    pairs = list(zip(left, right, strict=True))
    if function == "equal":
        return logical("and", [compare("equal", *pair) for pair in pairs])
    if function == "not_equal":
        return logical("or", [compare("not_equal", *pair) for pair in pairs])
    first = compare(_STRICT.get(function, function), *pairs[0])
    rest = compare_rows(function, left[1:], right[1:])
    return logical("or", [first, logical("and", [compare("equal", *pairs[0]), rest])])


def rows_are_distinct(left: Sequence[Expression], right: Sequence[Expression]) -> Expression:
    """Return whether two rows are distinct in some column, where NULL equals NULL."""
    _require_same_width(left, right)
    parts = [is_distinct(*pair) for pair in zip(left, right, strict=True)]
    return parts[0] if len(parts) == 1 else logical("or", parts)


def _require_same_width(left: Sequence[Expression], right: Sequence[Expression]) -> None:
    if len(left) != len(right):
        raise ProgrammingError(
            f"a row of {len(left)} values cannot be compared with one of {len(right)}"
        )
