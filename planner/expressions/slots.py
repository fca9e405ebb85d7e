"""Literals that another text, or other parameters, may replace in a bound plan.

    WHERE d_year = 1993     one slot: its literal is 1993, an INTEGER; it becomes a SMALLINT here

While a query is bound, a `SlotLiteral` stands for the literal of a slot. The binder may ask its
type and whether it is NULL, for whatever replaces it has that type and is not NULL. It may convert
it: the slot records that and replays it with the new literal, which must come to the same types.
Whoever reads the value itself, in whatever way, pins the slot: the plan is for that value only.

The rules change a bound plan with a `Hole` for each of these literals. They compare and hash
expressions all the time, so a hole is equal to itself alone.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from raydb.errors import Error
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    # A conversion of a literal; None where it cannot keep the value.
    Conversion = Callable[..., Literal | None]

_Arguments = ParamSpec("_Arguments")
_Converted = TypeVar("_Converted", bound=Literal | None)


class Slot:
    """A constant or a parameter.

    values: its literal, and what conversions made of that. texts: what replays the slots in it,
    where it is a text that was bound. replayed: the values with other literals, by what these are
    written as, for who replays a text.
    """

    def __init__(self, literal: Literal, kind: type[SlotLiteral] | None = None) -> None:
        self.is_pinned = False
        self.values = [literal]
        self.texts: list[Any] = []
        self.replayed: dict[str, list[Literal]] = {}
        self._kind = SlotLiteral if kind is None else kind
        self._steps: list[tuple[int, Conversion, tuple[Any, ...], pa.DataType]] = []

    def stand_in(self) -> SlotLiteral:
        """Return what stands for the literal itself."""
        return self._kind(self, 0)

    def convert(self, place: int, conversion: Conversion, arguments: tuple[Any, ...]) -> Any:
        """Return what stands for a converted literal. That it has no conversion is its value's."""
        value = conversion(self.values[place], *arguments)
        if value is None or value.is_null:
            self.is_pinned = True
            return value
        for number, step in enumerate(self._steps, 1):
            if step[:3] == (place, conversion, arguments):
                return self._kind(self, number)
        self._steps.append((place, conversion, arguments, value.type))
        self.values.append(value)
        return self._kind(self, len(self.values) - 1)

    def replay(self, literal: Literal | None) -> list[Literal] | None:
        """Return the values with another literal, None where the plan would be another one."""
        if self.is_pinned or literal is None:
            return None
        kind = self.values[0].type
        # Types are mostly the same objects, and to compare them takes longer than all else.
        if (literal.type is not kind and literal.type != kind) or literal.is_null:
            return None
        values = [literal]
        for place, conversion, arguments, kind in self._steps:
            try:
                value = conversion(values[place], *arguments)
            except Error:
                return None
            if value is None or value.is_null:
                return None
            if value.type is not kind and value.type != kind:
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
    def text(self) -> str:
        """The value of a text that is bound with slots of its own, on which the plan depends."""
        text: str = self.slot.values[self.place].value
        return text

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
        self.slot.is_pinned = True
        return hash(self.slot.values[self.place])


class Hole(SlotLiteral):
    """The literal of a slot for the rules: another one may be equal to it now and not later."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hole):
            return False
        return self.slot is other.slot and self.place == other.place

    def __hash__(self) -> int:
        return hash((id(self.slot), self.place))

    def __repr__(self) -> str:
        # What the operands of a canonical expression are ordered by.
        return f"Hole(type={self.type})"


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
