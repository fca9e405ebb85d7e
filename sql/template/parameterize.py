"""The constants of a query that may be replaced in its plan: those of its conditions.

A condition may be a text itself, as `where` of motif_count() is: its constants have slots, too.

    where => 'e1.amount > 5'     a slot, whose text has a slot for 5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from raydb.planner.expressions.literals import vector_literal
from raydb.planner.expressions.slots import Slot, SlotLiteral
from raydb.sql.parse.searched_tables import named_argument
from raydb.sql.template.shape import literal_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import Literal
    from raydb.sql.template.shape import Shape

    # The literals of each slot, as the text has them and as conversions have made them.
    Literals: TypeAlias = dict[Slot, Sequence[Literal]]
    # The constants of a text as they were written, each with its slot.
    Constants: TypeAlias = Sequence[tuple[Slot | None, str]]

# Of a slot the literals of so many constants of so many characters are kept: years and regions come
# again, and to read one takes some microseconds.
MOST_REPLAYED = 32
LONGEST_REPLAYED = 64


class Slots:
    """The slots of one query while it is bound.

    spans: the constants that the text may differ in, by where they begin. is_condition: whether
    the text is one, rather than a query.
    """

    def __init__(
        self,
        tree: exp.Expr,
        spans: Mapping[int, str],
        parameters: Mapping[str, Literal],
        *,
        is_condition: bool = False,
    ) -> None:
        self._tree = tree
        self._spans = spans
        self._is_condition = is_condition
        self.constants: dict[int, Slot] = {}
        self.parameters = {
            name: Slot(literal) for name, literal in parameters.items() if not literal.is_null
        }

    def of_constants(self, shape: Shape) -> Constants:
        """Return the constants of the text with their slots, once it is bound."""
        slots = map(self.constants.get, shape.spans())
        return tuple(zip(slots, shape.constants, strict=True))

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
        in_condition = self._is_condition or _is_searched_for(node) or _is_text_of_condition(node)
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


def _is_text_of_condition(node: exp.Expr) -> bool:
    """Tell whether a constant is the condition of a search for motifs."""
    argument = node.parent
    if argument is None or not isinstance(argument.parent, exp.Anonymous):
        return False
    named = named_argument(argument)
    return named is not None and named[0] == "where"


_SEARCHES = ("vector_search", "text_search")

# The parts of a query that a condition, or a query with a condition, may stand in.
_ABOVE_CONDITIONS = ("where", "having", "joins", "from_", "with_", "this", "expression")


class TextSlots:
    """The slots of a condition that is a text."""

    def __init__(self, shape: Shape, slots: Slots) -> None:
        self._shape, self._slots = shape, slots

    def replay(self, text: str, literals: Literals) -> bool:
        """Put the literals of another text into `literals`; say whether they fit."""
        shape = shape_of(text)
        if shape is None or shape.key != self._shape.key:
            return False
        return replay_constants(self._slots.of_constants(self._shape), shape.constants, literals)


def text_slots(literal: Literal, tree: exp.Expr) -> Slots | None:
    """Return the slots of a text that is bound as a condition, and is the literal of a slot.

    None where it is that of no slot, which another text may not replace either.
    """
    if not isinstance(literal, SlotLiteral):
        return None
    shape = shape_of(literal.text)
    if shape is None:
        literal.slot.is_pinned = True
        return None
    slots = Slots(tree, shape.spans(), {}, is_condition=True)
    literal.slot.texts.append(TextSlots(shape, slots))
    return slots


def replay_constants(known: Constants, constants: Sequence[str], literals: Literals) -> bool:
    """Put the literals of other constants into `literals`, by slot; say whether they fit."""
    for (slot, before), text in zip(known, constants, strict=True):
        if slot is None:
            if text != before:
                return False
            continue
        if text == before:
            values: Sequence[Literal] | None = slot.values
        elif slot.is_pinned:
            return False
        elif (values := slot.replayed.get(text)) is None:
            values = slot.replay(literal_of(text))
            if values is not None and len(text) <= LONGEST_REPLAYED:
                if len(slot.replayed) >= MOST_REPLAYED:
                    slot.replayed.clear()
                slot.replayed[text] = values
        if values is None or (slot.texts and not _replay_texts(slot, values, literals)):
            return False
        literals[slot] = values
    return True


def replay_slot(slot: Slot, literal: Literal | None, literals: Literals) -> bool:
    """Put a slot with another literal, and the slots in that where it is a text, likewise."""
    values = slot.values if literal is slot.values[0] else slot.replay(literal)
    if values is None or not _replay_texts(slot, values, literals):
        return False
    literals[slot] = values
    return True


def _replay_texts(slot: Slot, values: Sequence[Literal], literals: Literals) -> bool:
    return all(each.replay(values[0].value, literals) for each in slot.texts)
