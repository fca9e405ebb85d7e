"""The header of a delimited file: whether there is one, and which names it gives.

A first record is a header if none of its fields is a number, a date or a time, and if the rows show
that it is none of them: a column below has a type that does not read it. Where all columns are
texts nothing shows it, and the first record is taken for a header if each field is a name; one at
an end may be empty, as pandas writes it above an index.

An empty name becomes column1, column2, ... by its place; a name that is there already has a number
added: a, a_1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, ProgrammingError
from raydb.storage.formats.delimited.column_types import is_value, reads
from raydb.storage.formats.delimited.faults import miscount, shorten
from raydb.storage.formats.delimited.records import Layout, Record, split_fields, unquote

if TYPE_CHECKING:
    from collections.abc import Sequence


def texts_of(content: bytes, layout: Layout) -> list[str]:
    """Return the fields of a record; what is not UTF-8 becomes surrogates (not printable)."""
    return [
        unquote(field, layout).decode(errors="surrogateescape").strip()
        for field in split_fields(content, layout)
    ]


def may_be_names(texts: Sequence[str], layout: Layout) -> bool:
    """Tell whether no text is a value, such as a number, and not all are empty."""
    return any(texts) and not any(
        text and (not text.isprintable() or is_value(text, layout)) for text in texts
    )


def are_names(texts: Sequence[str], kinds: Sequence[pa.DataType], layout: Layout) -> bool:
    """Tell whether texts that may be names are, above columns of some types."""
    columns = zip(texts, kinds, strict=False)
    typed = [(text, kind) for text, kind in columns if text and not pa.types.is_string(kind)]
    if typed:
        return not all(reads(text, kind, layout) for text, kind in typed)
    inner = texts[1:-1] if len(texts) > 2 else ()
    return all(inner) and (bool(texts[0]) or bool(texts[-1]))


def column_names(texts: Sequence[str]) -> list[str]:
    """Return the names of columns, all different, also if the case of letters is not minded.

    >>> column_names(["", "a", "A", ""])
    ['column1', 'a', 'A_1', 'column4']
    """
    names: list[str] = []
    given = {text.lower() for text in texts}
    taken: set[str] = set()
    for place, text in enumerate(texts):
        plain = text or f"column{place + 1}"
        name, number = plain, 0
        while name.lower() in taken or (name != text and name.lower() in given):
            number += 1
            name = f"{plain}_{number}"
        taken.add(name.lower())
        names.append(name)
    return names


def numbered_names(count: int) -> list[str]:
    """Return the names of columns without a header."""
    return [f"column{number}" for number in range(1, count + 1)]


def is_header_of(
    path: str,
    first: Record,
    content: bytes,
    layout: Layout,
    schema: pa.Schema,
    header: bool | None,
) -> str | bool:
    """Tell whether a first record is the header of a table's file; it has the names in order.

    header: whether it is one, None where the statement does not say. Returns a warning in place of
    True where other names than the table's are taken for a header, which they are where all columns
    are texts: values of another type show whether the record is a row. Raises DataError and
    ProgrammingError for a header of other columns.
    """
    if header is False or first.fault is not None:
        return False
    texts = [text.encode(errors="surrogateescape").decode(errors="replace") for text in
             texts_of(content, layout)]  # fmt: skip
    given, names = [text.lower() for text in texts], [name.lower() for name in schema.names]
    warning = ""
    if header is None and sorted(given) != sorted(names):
        if len(given) != len(names) or not _are_other_names(texts, layout, schema):
            return False
        listed = ", ".join(f"'{shorten(text)}'" for text in texts[:3])
        warning = (
            f"file '{path}', line {first.line}: {listed}{', ...' if len(texts) > 3 else ''} "
            "is read as a header; header => false reads it as a row"
        )
    if len(given) != len(names):
        fault = miscount(len(given), len(names))
        raise DataError(f"file '{path}', line {first.line}: the header has {fault}")
    for place, text in enumerate(given):
        if text != names[place] and text in names:
            raise ProgrammingError(
                f"file '{path}', line {first.line}: field {place + 1} of the header is "
                f"'{texts[place]}' where column '{schema.names[place]}' is expected; "
                "name the columns in the order of the file"
            )
    return warning or True


def _are_other_names(texts: Sequence[str], layout: Layout, schema: pa.Schema) -> bool:
    kinds = schema.types
    only_texts = all(pa.types.is_string(kind) for kind in kinds)
    return only_texts and may_be_names(texts, layout) and are_names(texts, kinds, layout)
