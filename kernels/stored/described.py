"""JSON of a file: each part is taken by its type.

    name = state["tables"].items()[0]["name"].text()

What is missing, of another type or out of bounds is an error that names the file and the place.
"""

from __future__ import annotations

import json
import math
from typing import Any

from raydb.errors import OperationalError

# More of a value that is wrong is not shown.
_SHOWN = 60

MOST = 2**63 - 1


class Described:
    """A JSON value of a file, and its place there; errors are OperationalError."""

    __slots__ = ("_value", "file", "place")

    def __init__(self, value: Any, file: str, place: str = "") -> None:
        self._value = value
        self.file = file
        self.place = place

    @staticmethod
    def parse(text: bytes, file: str, place: str) -> Described:
        """Return what a text of JSON holds; place: what the text is called."""
        try:
            return Described(json.loads(text), file, place)
        # ValueError: no JSON, no UTF-8, or a number of too many digits.
        except (ValueError, RecursionError) as error:
            raise OperationalError(
                f"file '{file}' is damaged: {place} is not JSON: {error}"
            ) from error

    def __getitem__(self, name: str) -> Described:
        """Return a part of an object."""
        value = self._object()
        if name not in value:
            raise self.fault(f"an object with '{name}'")
        return Described(value[name], self.file, f"{self.place}.{name}")

    def find(self, name: str) -> Described | None:
        """Return a part of an object, None where it is not there or null."""
        value = self._object().get(name)
        return None if value is None else Described(value, self.file, f"{self.place}.{name}")

    def entries(self) -> dict[str, Described]:
        """Return all parts of an object."""
        return {name: self[name] for name in self._object()}

    def items(self, count: int | None = None) -> list[Described]:
        """Return the parts of an array; count: how many there must be."""
        if not isinstance(self._value, list) or count not in (None, len(self._value)):
            raise self.fault("an array" if count is None else f"an array of {count}")
        return [
            Described(each, self.file, f"{self.place}[{number}]")
            for number, each in enumerate(self._value)
        ]

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self._value, dict)

    def or_none(self) -> Described | None:
        """Return None for null, else the value."""
        return None if self._value is None else self

    @property
    def is_text(self) -> bool:
        """Whether it is a text."""
        return isinstance(self._value, str)

    def text(self, *known: str) -> str:
        """Return a text; known: those that it may be, any where there are none."""
        if not isinstance(self._value, str) or (known and self._value not in known):
            raise self.fault(" or ".join(map(repr, known)) or "a text")
        return self._value

    def texts(self) -> tuple[str, ...]:
        """Return an array of texts."""
        return tuple(each.text() for each in self.items())

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self._value, bool):
            raise self.fault("true or false")
        return self._value

    def integer(self, low: int = 0, high: int = MOST) -> int:
        """Return an integer of low .. high."""
        value = self._value
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise self.fault(f"an integer of {low} to {high}")

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a number of low .. high, which is not NaN."""
        value = self._value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST:
            value = float(value)
        if isinstance(value, float) and low <= value <= high:
            return value
        raise self.fault(f"a number of {low:g} to {high:g}")

    def fault(self, expected: str) -> OperationalError:
        """Return the error for a value that should be something else."""
        try:
            found = json.dumps(self._value)
        except (ValueError, RecursionError):
            found = "something else"
        if len(found) > _SHOWN:
            found = f"{found[:_SHOWN]}..."
        return OperationalError(
            f"file '{self.file}' is damaged: expected {self.place} to be {expected}, found {found}"
        )

    def _object(self) -> dict[str, Any]:
        if not isinstance(self._value, dict):
            raise self.fault("an object")
        return self._value
