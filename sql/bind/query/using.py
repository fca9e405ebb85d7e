"""USING and NATURAL: the columns of both sides that a join is by, and the ones that they become."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from raydb.errors import ProgrammingError
from raydb.names import needs_quotes
from raydb.planner.expressions.nodes import Call
from raydb.planner.expressions.typing_rules import compare, unify
from raydb.sql.bind.scope import Visible, resolve_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.expressions.nodes import Expression
    from raydb.sql.bind.scope import Scope

Pair: TypeAlias = tuple[Visible, Visible]


def named_pairs(names: Sequence[str], left: Scope, right: Scope) -> list[Pair]:
    """Return the columns of both sides that USING names."""
    pairs: list[Pair] = []
    for name in names:
        pair = resolve_visible(left, name), resolve_visible(right, name)
        if any(pair[0] is ours for ours, _ in pairs):
            raise ProgrammingError(f"column '{name}' is named twice in USING")
        pairs.append(pair)
    return pairs


def natural_pairs(left: Scope, right: Scope) -> list[Pair]:
    """Return the columns of both sides that have a name in common, exactly or but for case."""
    pairs: list[Pair] = []
    for each in left.visible:
        if right.index.places(each.name):
            ours, theirs = resolve_visible(left, each.name), resolve_visible(right, each.name)
            twice = [one.name for one, other in pairs if other is theirs]
            if twice:
                raise needs_quotes(theirs.name, "column", (*twice, ours.name))
            pairs.append((ours, theirs))
    return pairs


def bind_using(pairs: Sequence[Pair], side: str | None) -> tuple[list[Expression], list[Visible]]:
    """Return the conditions of USING, and the columns that stand for both sides.

    The merged column is the left one, in a RIGHT JOIN the right one (the left may be missing) and
    in a FULL JOIN whichever is there; its name is that of the left one.
    """
    conditions: list[Expression] = []
    merged: list[Visible] = []
    for left, right in pairs:
        ours, theirs = left.expression, right.expression
        conditions.append(compare("equal", ours, theirs))
        match side:
            case "FULL":
                both = unify((ours, theirs), "compare")
                column: Expression = Call("coalesce", both, both[0].type)
            case "RIGHT":
                column = theirs
            case _:
                column = ours
        merged.append(Visible(left.name, column, None))
    return conditions, merged
