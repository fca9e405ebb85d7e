"""SQLAlchemy's types whose values RayDB takes and returns in a way of its own."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlalchemy.sql import sqltypes, type_api

if TYPE_CHECKING:
    from collections.abc import Callable


class RayNumeric(sqltypes.Numeric[Any]):
    """Exact numbers. What SQL computes as DOUBLE, as quotients are, becomes a Decimal here."""

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any] | None:
        """Return what makes the value that a program asked for."""
        if not self.asdecimal:
            return lambda value: value if value is None else float(value)
        # A DOUBLE has 15 digits that are right.
        return lambda value: Decimal(f"{value:.15g}") if isinstance(value, float) else value


class RayInterval(type_api.NativeForEmulated, sqltypes._AbstractInterval):
    """INTERVAL, whose values are timedeltas."""

    __visit_name__ = "INTERVAL"
    native = True

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> RayInterval:
        """Return the type for SQLAlchemy's Interval."""
        return cls()

    @property
    def _type_affinity(self) -> type[sqltypes.Interval]:
        return sqltypes.Interval

    @property
    def python_type(self) -> type[dt.timedelta]:
        """The type of its values."""
        return dt.timedelta

    def literal_processor(self, dialect: Any) -> Callable[[dt.timedelta], str]:
        """Return what writes a value into a statement."""

        def text(value: dt.timedelta) -> str:
            microseconds = value.seconds * 1_000_000 + value.microseconds
            return f"(to_days({value.days}) + to_microseconds({microseconds}))"

        return text


class JSONPath(sqltypes.JSON.JSONPathType):
    """Keys and indices, which become '$."a"[0]'; one of them alone is a path as well."""

    def bind_processor(self, dialect: Any) -> Any:
        """Return what makes a path of a parameter."""
        return _path

    def literal_processor(self, dialect: Any) -> Any:
        """Return what writes a path into a statement."""
        literal: Any = sqltypes.String().literal_processor(dialect)  # type: ignore[no-untyped-call]
        return lambda value: literal(_path(value))


def _path(value: Any) -> str:
    steps = [value] if isinstance(value, str | int) else value
    return "$" + "".join(f"[{each}]" if isinstance(each, int) else f'."{each}"' for each in steps)


class JSONIndex(JSONPath, sqltypes.JSON.JSONIndexType):
    """One key or index."""
