"""Find the columns of a delimited file that no table describes: a sample, then all rows to verify.

The names come from the header. A .csv file has one if the fields of its first record are distinct
printable texts, none of them empty, a number, a date or a timestamp; otherwise, and in .tbl files,
columns are called column1, column2, ...

The type of a column is the first of the ladder that reads all its values:

    BIGINT, DOUBLE, DATE, TIMESTAMP, BOOLEAN, VARCHAR
"""

from __future__ import annotations

import itertools
import mmap
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.storage.delimited import fails, first_byte, read_delimited
from raydb.storage.records import Layout, Record, records, split_fields, unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_LADDER = (
    *(pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.bool_()),
    pa.string(),
)
_BATCH_RECORDS = 4096


def read_inferred(path: str, layout: Layout) -> pa.Table:
    """Return the rows of a delimited file.

    The types fit the first 4,096 records; if a later one does not fit, they are found again from
    all records. Raises DataError naming file and line for a broken record, and OSError.
    """
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        first = next(records(data, layout, first_byte(data)), None)
        if first is None:
            raise DataError(f"file '{path}' is empty")
        content = data[first.start : first.stop]
        fields = split_fields(content, layout)
        # What is not UTF-8 becomes surrogates, which are not printable.
        texts = [
            unquote(field, layout).decode(errors="surrogateescape").strip() for field in fields
        ]
        if not layout.quotes and len(texts) > 1 and not texts[-1]:
            texts.pop()
            layout = replace(layout, trailing=True)
        has_header = layout.quotes and first.closed and _are_names(content, texts, layout)
        names = texts if has_header else [f"column{n}" for n in range(1, len(texts) + 1)]
        start = first.next if has_header else first.start

        def read(most: int | None) -> pa.Table:
            sample = itertools.islice(records(data, layout, start), most)
            return read_delimited(
                path, _infer(data, sample, layout, names), layout, has_header, None
            )

        with suppress(DataError):
            return read(_BATCH_RECORDS)
        return read(None)


def _are_names(record: bytes, texts: list[str], layout: Layout) -> bool:
    return (
        all(text and text.isprintable() for text in texts)
        and len(set(texts)) == len(texts)
        and not any(
            _fits(record, kind, len(texts), layout, place)
            for place in range(len(texts))
            for kind in _LADDER[:-2]
        )
    )


def _fits(part: bytes, kind: pa.DataType, width: int, layout: Layout, place: int) -> bool:
    """Tell whether one field of whole records can be read as a type."""
    schema = pa.schema([(str(number), kind) for number in range(width)])
    return not fails(part, schema, layout, place)


def _infer(data: mmap.mmap, found: Iterator[Record], layout: Layout, names: list[str]) -> pa.Schema:
    """Return for each column the first type of the ladder that reads all these records."""
    ladders = [list(_LADDER) for _ in names]
    for batch in iter(lambda: list(itertools.islice(found, _BATCH_RECORDS)), []):
        part = data[batch[0].start : batch[-1].next]
        for place, ladder in enumerate(ladders):
            kept = [kind for kind in ladder[:-1] if _fits(part, kind, len(names), layout, place)]
            ladders[place] = [*kept, ladder[-1]]
    return pa.schema([(name, ladder[0]) for name, ladder in zip(names, ladders, strict=True)])
