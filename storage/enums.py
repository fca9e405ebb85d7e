"""ENUM: texts of a few kinds, in an order of their own, as the numbers of their labels.

    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')        'ok' is 1

Tables, files and operators hold the numbers, which compare, group and join as they are. The type is
a matter of the binder, and of what leaves the database: the field of a table's column says of which
type the numbers are (fields.py).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.late import pc
from raydb.storage.nested import leaf_types, map_leaves, rebuild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# A message shows so many labels of a type without a name.
_SHOWN_LABELS = 8
_MAX_LABELS = 2**31
# A column of a frame with more categories has texts that differ from row to row.
_MAX_CATEGORIES = 2**16


class EnumType(pa.ExtensionType):  # type: ignore[misc]
    """The type of some labels, in order; the numbers are of the narrowest unsigned integer.

    name: what CREATE TYPE calls it, empty for a type that is written where it is used. Types of
    the same labels are the same.
    """

    def __init__(self, labels: Iterable[str], name: str = "") -> None:
        self.labels = tuple(labels)
        self.type_name = name
        self._hash = hash(self.labels)
        count = len(self.labels)
        widths = ((2**8, pa.uint8()), (2**16, pa.uint16()), (_MAX_LABELS, pa.uint32()))
        super().__init__(next(kind for most, kind in widths if count <= most), "raydb.enum")

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps([self.type_name, *self.labels]).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, _: pa.DataType, serialized: bytes) -> EnumType:
        name, *labels = json.loads(serialized)
        return cls(labels, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumType) and self.labels == other.labels

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[EnumType], tuple[tuple[str, ...], str]]:
        return EnumType, (self.labels, self.type_name)

    @property
    def title(self) -> str:
        """What messages call the type."""
        if self.type_name:
            return f"type '{self.type_name}'"
        shown = [f"'{label}'" for label in self.labels[:_SHOWN_LABELS]]
        return f"ENUM({', '.join(shown)}{', ...' if len(self.labels) > _SHOWN_LABELS else ''})"

    def code_of(self, label: str) -> int | None:
        """Return the number of a label, None for a text that is none."""
        return _codes(self.labels).get(label)

    def texts(self) -> pa.Array:
        """Return the labels in order."""
        return pa.array(self.labels, pa.string())


pa.register_extension_type(EnumType(()))


@lru_cache(64)
def _codes(labels: tuple[str, ...]) -> dict[str, int]:
    return {label: code for code, label in enumerate(labels)}


class LabelCode(int):
    """The number of a label as plans have it, which knows what it is the number of."""

    label: str

    def __new__(cls, code: int, label: str) -> LabelCode:
        """Return a number that knows its label."""
        made = super().__new__(cls, code)
        made.label = label
        return made


def enum_of(labels: Sequence[str | None], name: str = "") -> EnumType:
    """Return the type of some labels; raises ProgrammingError for one that is NULL or twice."""
    seen = set()
    for label in labels:
        if label is None:
            raise ProgrammingError("a label of an ENUM is NULL")
        if label in seen:
            raise ProgrammingError(f"an ENUM has the label '{label}' twice")
        seen.add(label)
    return EnumType([label for label in labels if label is not None], name)


def enum_of_categories(categories: Iterable[object] | None) -> EnumType | None:
    """Return the type of the categories of a frame's column, None where they are no few texts."""
    if categories is None:
        return None
    labels = [each for each in categories if isinstance(each, str)]
    is_whole = len(labels) == len(list(categories)) <= _MAX_CATEGORIES
    return EnumType(labels) if is_whole else None


def is_enum(kind: pa.DataType) -> bool:
    """Say whether a type is ENUM."""
    return isinstance(kind, EnumType)


def has_enums(kind: pa.DataType) -> bool:
    """Say whether a type is ENUM, or values of it have such ones in them."""
    if isinstance(kind, EnumType):
        return True
    return kind.num_fields > 0 and any(map(is_enum, leaf_types(kind)))


# -- types


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the numbers that stand for values of a type; mostly the type itself."""
    if not has_enums(kind):
        return kind
    return map_leaves(kind, lambda leaf: leaf.storage_type if is_enum(leaf) else leaf)


# -- values


def typed_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers as values of a type; nothing is copied."""
    if array.type == kind:
        return array
    if is_enum(kind):
        return pa.ExtensionArray.from_storage(kind, array)
    return rebuild(array, kind, typed_array)


def stored_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values as the numbers that stand for them, which are of another type."""
    if is_enum(array.type):
        return array.storage
    return array if array.type == kind else rebuild(array, kind, stored_array)


def texts_of(array: pa.Array) -> pa.Array:
    """Return the labels of ENUMs."""
    return array.type.texts().take(array.storage)


def values_of(texts: pa.Array, kind: EnumType) -> pa.Array:
    """Return the ENUMs of labels; raises pa.ArrowInvalid for a text that is none."""
    codes = pc.index_in(texts, value_set=kind.texts())
    if codes.null_count > texts.null_count:
        raise pa.ArrowInvalid("no label")
    return pa.ExtensionArray.from_storage(kind, codes.cast(kind.storage_type))


def text_type(kind: pa.DataType) -> pa.DataType:
    """Return a type with VARCHAR for each ENUM."""
    if not has_enums(kind):
        return kind
    return map_leaves(kind, lambda leaf: pa.string() if is_enum(leaf) else leaf)


def with_labels(rows: pa.Table) -> pa.Table:
    """Return rows with the texts of ENUMs."""
    return _changed(rows, text_type, _with_labels)


def _with_labels(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_enum(array.type):
        return texts_of(array)
    return array if array.type == kind else rebuild(array, kind, _with_labels)


def typed_column(
    column: pa.ChunkedArray | pa.Array, kind: pa.DataType
) -> pa.ChunkedArray | pa.Array:
    """Return a column of numbers as one of values of a type."""
    if column.type == kind:
        return column
    if isinstance(column, pa.Array):
        return typed_array(column, kind)
    return pa.chunked_array([typed_array(chunk, kind) for chunk in column.chunks], kind)


def typed_table(rows: pa.Table, kinds: Sequence[pa.DataType]) -> pa.Table:
    """Return rows of numbers as those of values of some types, one for each column."""
    for place, (column, kind) in enumerate(zip(rows.columns, kinds, strict=True)):
        if column.type != kind:
            field = pa.field(rows.schema.field(place).name, kind)
            rows = rows.set_column(place, field, typed_column(column, kind))
    return rows


def stored_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with the numbers that stand for values."""
    kind = stored_type(column.type)
    if kind == column.type:
        return column
    return pa.chunked_array([stored_array(chunk, kind) for chunk in column.chunks], kind)


def stored_table(rows: pa.Table) -> pa.Table:
    """Return rows with the numbers that stand for values."""
    return _changed(rows, stored_type, stored_array)


def _changed(
    rows: pa.Table,
    type_of: Callable[[pa.DataType], pa.DataType],
    change: Callable[[pa.Array, pa.DataType], pa.Array],
) -> pa.Table:
    """Return rows whose columns with ENUMs are of other types."""
    for place, column in enumerate(rows.columns):
        if has_enums(column.type):
            kind = type_of(column.type)
            chunks = [change(chunk, kind) for chunk in column.chunks]
            name = rows.schema.field(place).name
            rows = rows.set_column(place, pa.field(name, kind), pa.chunked_array(chunks, kind))
    return rows
