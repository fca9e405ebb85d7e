"""The constants of a query that may be replaced in its plan: those of its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.planner.expressions.literals import vector_literal
from raydb.planner.expressions.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.expressions.nodes import Literal


class Slots:
    """The slots of one query while it is bound.

    spans: the constants that the text may differ in, by where they begin.
    """

    def __init__(
        self, tree: exp.Expr, spans: Mapping[int, str], parameters: Mapping[str, Literal]
    ) -> None:
        self._tree = tree
        self._spans = spans
        self.constants: dict[int, Slot] = {}
        self.parameters = {
            name: Slot(literal) for name, literal in parameters.items() if not literal.is_null
        }

    def parameterize(self, node: exp.Expr, literal: Literal) -> Literal:
        """Return what stands for a constant; itself where its place asks for this very one."""
        place = node.meta
        start = place.get("start", -1)
        span = self._spans.get(start)
        if span is None or place["end"] != start + len(span) - 1 or not self._may_differ(node):
            return literal
        if start not in self.constants:
            self.constants[start] = Slot(literal)
        return self.constants[start].stand_in()

    def vector(self, node: exp.Expr) -> Literal | None:
        """Return what stands for a list of numbers that a search is for; None for other lists."""
        elements = node.expressions
        if not (_is_searched_for(node) and elements and self._may_differ(node)):
            return None
        starts = [
            (each.this if isinstance(each, exp.Neg) else each).meta.get("start", -1)
            for each in (elements[0], elements[-1])
        ]
        for start, span in self._spans.items():
            is_whole = start < starts[0] <= starts[1] < start + len(span)
            if is_whole and span[0] == "[" and span.count(",") == len(elements) - 1:
                literal = vector_literal(span)
                if literal is None:
                    return None
                return self.constants.setdefault(start, Slot(literal)).stand_in()
        return None

    def _may_differ(self, node: exp.Expr) -> bool:
        """Whether a constant stands in a condition, and in nothing that gives a column its name.

        The text of a column without an alias is its name, and the trees of keys are compared. What
        a search is for is as good as a condition.
        """
        in_condition = _is_searched_for(node)
        while (parent := node.parent) is not None:
            if isinstance(parent, exp.Join):
                in_condition |= node.arg_key == "on"
            if isinstance(parent, exp.Query):
                in_condition |= node.arg_key in ("where", "having")
                if not in_condition or node.arg_key not in _ABOVE_CONDITIONS:
                    return False
            node = parent
        return node is self._tree


def _is_searched_for(node: exp.Expr) -> bool:
    """Tell whether a constant is what a search is for; its other arguments have names."""
    call = node.parent
    return isinstance(call, exp.Anonymous) and call.name.lower() in _SEARCHES


_SEARCHES = ("vector_search", "text_search")

# The parts of a query that a condition, or a query with a condition, may stand in.
_ABOVE_CONDITIONS = ("where", "having", "joins", "from_", "with_", "this", "expression")
