"""Casts of lists, structs and maps: part by part, and to text as {'a': 1, 'b': x} and {k=1}.

Structs become others by the names of their fields: one that is not there is NULL, one that is not
wanted is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from raydb.late import pc
from raydb.names import find_name
from raydb.planner.expressions.types import is_number, is_row
from raydb.storage.nested import (
    entries_of,
    fields_of,
    make_structs,
    missing,
    offsets_of,
    rebuild,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_Cast: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]
# What could be misread without quotes.
_UNCLEAR = r"""^$|^\s|\s$|[\[\](){},:='"\\]|^(?i:null)$"""


def field_place(kind: pa.DataType, name: str) -> int | None:
    """Return the place of a field, whose name may be written in another case; None without it."""
    names = [field.name for field in kind]
    found = find_name(name, names, "field")
    return None if found is None else names.index(found)


def conversions(cast: _Cast) -> Mapping[tuple[str, str], _Cast]:
    """Return the casts of nested values, whose parts are cast by another function."""

    def structs(array: pa.Array, target: pa.DataType) -> pa.Array:
        given = fields_of(array)
        if is_row(array.type) and len(given) == len(target):
            parts = zip(given, target, strict=True)
            fields = [cast(values, field.type) for values, field in parts]
            return make_structs(fields, target, missing(array))
        fields = []
        for field in target:
            place = field_place(array.type, field.name)
            missing_field = pa.nulls(len(array), field.type)
            fields.append(missing_field if place is None else cast(given[place], field.type))
        return make_structs(fields, target, missing(array))

    def maps(array: pa.Array, target: pa.DataType) -> pa.Array:
        return rebuild(array, target, cast)

    def struct_text(array: pa.Array, _: pa.DataType) -> pa.Array:
        pieces: list[pa.Array | str] = []
        for field, values in zip(array.type, fields_of(array), strict=True):
            name = re.sub(r"['\\]", r"\\\g<0>", field.name)
            pieces += [f"{', ' if pieces else ''}'{name}': ", _part_text(values, cast)]
        texts = pc.binary_join_element_wise("{", *pieces, "}", "")
        return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))

    def map_text(array: pa.Array, _: pa.DataType) -> pa.Array:
        lists = entries_of(array)
        keys, values = (_part_text(each, cast) for each in fields_of(lists.flatten()))
        entries = pc.binary_join_element_wise(keys, values, "=")
        return _joined("{", lists, entries, "}")

    def list_text(array: pa.Array, _: pa.DataType) -> pa.Array:
        return _joined("[", array, _part_text(array.flatten(), cast), "]")

    return {
        ("struct", "struct"): structs,
        ("map", "map"): maps,
        ("struct", "text"): struct_text,
        ("map", "text"): map_text,
        ("list", "text"): list_text,
    }


def _part_text(values: pa.Array, cast: _Cast) -> pa.Array:
    """Return values inside of others as text; one that could be misread stands in quotes."""
    texts = cast(values, pa.string())
    if not pt.is_nested(values.type) and not is_number(values.type):
        unclear = pc.match_substring_regex(texts, pattern=_UNCLEAR)
        quoted = pc.replace_substring_regex(texts, r"['\\]", r"\\\0")
        quoted = pc.binary_join_element_wise("'", quoted, "'", "")
        texts = pc.if_else(unclear, quoted, texts)
    return pc.fill_null(texts, "NULL")


def _joined(before: str, lists: pa.Array, texts: pa.Array, after: str) -> pa.Array:
    runs = pa.ListArray.from_arrays(offsets_of(lists), texts, mask=missing(lists))
    return pc.binary_join_element_wise(before, pc.binary_join(runs, ", "), after, "")
