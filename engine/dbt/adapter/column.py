"""A column as dbt handles it."""

from __future__ import annotations

from dbt.adapters.base import Column

_INTEGERS = {
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "int", "int2", "int4", "int8"),
}
_FLOATS = {"real", "double", "float", "float4", "float8", "double precision"}
_TEXTS = {"varchar", "text", "string", "char", "bpchar", "character varying"}


class RayDBColumn(Column):
    """A column. Texts have no length, and `dtype` is a type as CREATE TABLE takes it."""

    @property
    def data_type(self) -> str:
        """The type as CREATE TABLE takes it."""
        return str(self.dtype)

    def _base(self) -> str:
        return self.data_type.partition("(")[0].strip().lower()

    def is_string(self) -> bool:
        """Whether it holds texts."""
        return self._base() in _TEXTS

    def is_integer(self) -> bool:
        """Whether it holds whole numbers."""
        return self._base() in _INTEGERS

    def is_float(self) -> bool:
        """Whether it holds REAL or DOUBLE."""
        return self._base() in _FLOATS

    def is_numeric(self) -> bool:
        """Whether it holds DECIMAL."""
        return self._base() in {"decimal", "numeric"}

    def can_expand_to(self, other_column: Column) -> bool:
        """Whether its texts need more room for those of another column, which they never do."""
        return False

    @classmethod
    def string_type(cls, size: int) -> str:
        """Return the type of texts."""
        return "varchar"
