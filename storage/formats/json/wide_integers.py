"""Integers beyond 64 bits, of which Arrow makes doubles: they are HUGEINT, as in CSV files.

    {"id": 18446744073709551615}        HUGEINT, of 38 digits at most
    {"id": 1.5e30}                      DOUBLE, also where other lines have integers

Only files with numbers so large are looked at line by line, which Python does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from raydb.late import pc
from raydb.storage.formats.json.lines import lines_of, value_of
from raydb.storage.formats.json.mixed import Pairs
from raydb.storage.nested import elements_of, fields_of

if TYPE_CHECKING:
    from raydb.storage.formats.text_file import TextFile

_HUGEINT = pa.decimal128(38, 0)
_Path = tuple[str, ...]
# The step from a list to its elements.
_ELEMENT = "[]"


def with_wide_integers(file: TextFile, rows: pa.Table) -> pa.Schema:
    """Return the columns of a file's rows, with HUGEINT where all of its numbers are integers.

    It warns of columns that stay doubles because an integer has more digits than HUGEINT.
    """
    wide = {
        field.name: field.type
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if any(map(_has_wide, column.chunks))
    }
    if not wide:
        return rows.schema
    numbers = _Numbers()
    for line in lines_of(file, file.skip(0)):
        found = value_of(file, line)
        for key, value in found if isinstance(found, Pairs) else ():
            if key in wide:
                numbers.follow(wide[key], value, (key,))
    for key in sorted({path[0] for path in numbers.too_long - numbers.fractions}):
        file.warn(
            f"file '{file.path}': column '{key}' is DOUBLE, for it has integers of more than 38"
            " digits"
        )
    fields = [(name, numbers.type_of(kind, (name,))) for name, kind in wide.items()]
    kinds = {**dict(zip(rows.schema.names, rows.schema.types, strict=True)), **dict(fields)}
    return pa.schema(list(kinds.items()))


def _has_wide(array: pa.Array) -> bool:
    """Tell whether a number within an array has more than 63 bits."""
    if pt.is_struct(array.type):
        return any(map(_has_wide, fields_of(array)))
    if pt.is_list(array.type):
        return _has_wide(elements_of(array)[1])
    return pt.is_float64(array.type) and bool(
        pc.any(pc.greater_equal(pc.abs(array), 2.0**63)).as_py()
    )


class _Numbers:
    """What kinds of numbers the columns of a file have, by the path to them."""

    def __init__(self) -> None:
        self._wide: set[_Path] = set()
        self.fractions: set[_Path] = set()
        self.too_long: set[_Path] = set()

    def follow(self, kind: pa.DataType, value: Any, path: _Path) -> None:
        """Note the numbers in one value."""
        if value is None:
            return
        if pt.is_struct(kind):
            kinds = {field.name: field.type for field in kind}
            for name, part in value:
                self.follow(kinds[name], part, (*path, name))
        elif pt.is_list(kind):
            for part in value:
                self.follow(kind.value_type, part, (*path, _ELEMENT))
        elif not isinstance(value, int):
            self.fractions.add(path)
        elif abs(value) >= 10**38:
            self.too_long.add(path)
        elif not -(2**63) <= value < 2**63:
            self._wide.add(path)

    def type_of(self, kind: pa.DataType, path: _Path) -> pa.DataType:
        """Return the type of the values at a path, which Arrow reads as `kind`."""
        if pt.is_struct(kind):
            fields = [(each.name, self.type_of(each.type, (*path, each.name))) for each in kind]
            return pa.struct(fields)
        if pt.is_list(kind):
            return pa.list_(self.type_of(kind.value_type, (*path, _ELEMENT)))
        stays = path in self.fractions or path in self.too_long
        return _HUGEINT if path in self._wide and not stays else kind
