"""Constants that another text, or other parameters, may replace in a bound plan.

    WHERE d_year = 1993     one slot: its literal is 1993, an INTEGER; it becomes a SMALLINT here

While a query is bound, a `SlotLiteral` stands for the literal of a slot. The binder may ask its
type and whether it is NULL, for whatever replaces it has that type and is not NULL. It may convert
it: the slot records that and replays it with the new literal, which must come to the same types.
Whoever reads the value itself, in whatever way, pins the slot: the plan is for that value only.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlglot import exp

from raydb.errors import Error
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    # A conversion of a literal; None where it cannot keep the value.
    Conversion = Callable[..., Literal | None]

_Arguments = ParamSpec("_Arguments")
_Converted = TypeVar("_Converted", bound=Literal | None)


class Slot:
    """A constant or a parameter.

    values: its literal, and what conversions made of that.
    """

    def __init__(self, literal: Literal) -> None:
        self.is_pinned = False
        self.values = [literal]
        self._steps: list[tuple[int, Conversion, tuple[Any, ...], pa.DataType]] = []

    def stand_in(self) -> SlotLiteral:
        """Return what stands for the literal itself."""
        return SlotLiteral(self, 0)

    def convert(self, place: int, conversion: Conversion, arguments: tuple[Any, ...]) -> Any:
        """Return what stands for a converted literal. That it has no conversion is its value's."""
        value = conversion(self.values[place], *arguments)
        if value is None or value.is_null:
            self.is_pinned = True
            return value
        self._steps.append((place, conversion, arguments, value.type))
        self.values.append(value)
        return SlotLiteral(self, len(self.values) - 1)

    def replay(self, literal: Literal | None) -> list[Literal] | None:
        """Return the values with another literal, None where the plan would be another one."""
        if self.is_pinned or literal is None:
            return None
        if literal.type != self.values[0].type or literal.is_null:
            return None
        values = [literal]
        for place, conversion, arguments, kind in self._steps:
            try:
                value = conversion(values[place], *arguments)
            except Error:
                return None
            if value is None or value.type != kind:
                return None
            values.append(value)
        return values


class SlotLiteral(Literal):
    """The literal of a slot; to read its value pins the slot."""

    __slots__ = ("place", "slot")

    slot: Slot
    place: int

    def __init__(self, slot: Slot, place: int) -> None:
        object.__setattr__(self, "slot", slot)
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "type", slot.values[place].type)

    @property
    def value(self) -> Any:
        """The value, which the plan then depends on."""
        self.slot.is_pinned = True
        return self.slot.values[self.place].value

    @property
    def is_null(self) -> bool:
        """No: NULL has no slot."""
        return False

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Literal):
            return NotImplemented
        return bool(self.type == other.type and self.value == other.value)

    def __hash__(self) -> int:
        return hash((self.value, self.type))


def records_conversion(
    conversion: Callable[Concatenate[Literal, _Arguments], _Converted],
) -> Callable[Concatenate[Literal, _Arguments], _Converted]:
    """Let a slot record the calls of a function of a literal's value, and replay them."""

    @wraps(conversion)
    def convert(
        literal: Literal, /, *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Converted:
        if isinstance(literal, SlotLiteral):
            assert not named, "conversions are replayed by position"
            converted: _Converted = literal.slot.convert(literal.place, conversion, arguments)
            return converted
        return conversion(literal, *arguments, **named)

    return convert


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

    def _may_differ(self, node: exp.Expr) -> bool:
        """Whether a constant stands in a condition, and in nothing that gives a column its name.

        The text of a column without an alias is its name, and the trees of keys are compared.
        """
        in_condition = False
        while (parent := node.parent) is not None:
            if isinstance(parent, exp.Join):
                in_condition |= node.arg_key == "on"
            if isinstance(parent, exp.Query):
                in_condition |= node.arg_key in ("where", "having")
                if not in_condition or node.arg_key not in _ABOVE_CONDITIONS:
                    return False
            node = parent
        return node is self._tree


# The parts of a query that a condition, or a query with a condition, may stand in.
_ABOVE_CONDITIONS = ("where", "having", "joins", "from_", "with_", "this", "expression")
