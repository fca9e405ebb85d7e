"""Rows as values: `(a, b)`, which can be compared with each other, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.planner.expressions.functions.nested.structs import row_of
from raydb.planner.expressions.types import is_struct
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

    Beside one struct a row is a struct too.
    """
    left, right = _paired(left, right)
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
    left, right = _paired(left, right)
    parts = [is_distinct(*pair) for pair in zip(left, right, strict=True)]
    return parts[0] if len(parts) == 1 else logical("or", parts)


def beside(values: Sequence[Expression], others: Sequence[Expression]) -> Sequence[Expression]:
    """Return the values of a row, as one struct where they stand beside one."""
    if len(others) != 1 or not is_struct(others[0].type):
        return values
    return [row_of(values)] if len(values) == len(others[0].type) > 1 else values


def _paired(
    left: Sequence[Expression], right: Sequence[Expression]
) -> tuple[Sequence[Expression], Sequence[Expression]]:
    left, right = beside(left, right), beside(right, left)
    if len(left) != len(right):
        raise ProgrammingError(
            f"a row of {len(left)} values cannot be compared with one of {len(right)}"
        )
    return left, right
