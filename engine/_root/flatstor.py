"""The FlatStor file format on its own: columns of any modality, fast for scans and single rows.

>>> import pyarrow as pa
>>> from raydb import flatstor
>>> flatstor.write_table(pa.table({"id": [1, 2], "caption": ["a cat", "a dog"]}), "pets.flat")
>>> with flatstor.open_table("pets.flat") as pets:
...     pets.item(1, "caption")
'a dog'

A path may be the URL of an object: "s3://shop/pets.flat". One request opens it, and another one
brings a row. The bytes are specified in docs/flatstor.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from raydb.errors import NotSupportedError
from raydb.storage import flat
from raydb.storage.flat import (
    ChunkMetadata,
    ColumnMetadata,
    FlatTable,
    TableMetadata,
    inspect,
    modality,
)
from raydb.storage.objects.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "ChunkMetadata",
    "ColumnMetadata",
    "FlatTable",
    "TableMetadata",
    "add_modality",
    "inspect",
    "open_table",
    "write_table",
]


def add_modality(
    name: str, recognise: bytes | Callable[[bytes, int], bool], *, verbatim: bool = True
) -> None:
    """Add a modality of texts or bytes, for all files that this process writes from now on.

    recognise: the bytes with which its items begin, or a function of the first 64 bytes of an item
    and of its length. A column is of the modality that was added first of those which a sample of
    its items is of. verbatim: items are stored as they are in small chunks, as images are; else as
    any other texts or bytes. The same name replaces the modality.

    The file has the name; readers need not know it. Raises ProgrammingError for a bad name.

    >>> add_modality("point cloud", b"LASF")
    """
    modality.add_modality(name, recognise, verbatim=verbatim)


def open_table(path: str | os.PathLike[str]) -> FlatTable:
    """Open a FlatStor file for reading, or an object at a URL.

    Raises OperationalError for a file that cannot be read or is damaged, naming the offset;
    NotSupportedError for a file of a later format version, and for a URL without obstore.

    >>> with open_table("pets.flat") as pets:
    ...     pets.item(0, "caption")
    'a dog'
    """
    from raydb.storage.formats.files.input_file import open_file  # noqa: PLC0415  (few need it)

    name = os.fspath(path)
    return flat.open_table(open_file(name).source() if is_url(name) else path)


def write_table(
    table: Any,
    path: str | os.PathLike[str],
    *,
    chunk_rows: Mapping[str, int] | int | None = None,
    encodings: Mapping[str, str] | None = None,
    offset_index: Mapping[str, bool] | None = None,
    by_reference: Sequence[str] = (),
) -> None:
    """Write an Arrow table to a file or an object, which appears complete, or not at all.

    chunk_rows: rows a chunk, for all columns or by name; chosen by modality and item size where
    not given. encodings: by name, one of auto, verbatim, frame, run_length, runs, line, stride,
    dictionary, fsst, onpair, alp, patched.
    offset_index: False, by name, keeps lengths in place of the offsets of a text column: smaller,
    and the first read of each chunk sums them up.
    by_reference: columns whose values stay where they are, in files of the same folder or below: a
    path each, or a struct of a file, an offset and a length. Readers get the bytes.

    Raises ProgrammingError for settings that do not fit; NotSupportedError for types that are not
    stored, for a URL without obstore, and for one with `by_reference`; DataError for a chunk of
    2 GiB or more; OperationalError where the disk or the store fails, and for files that cannot be
    read.

    >>> write_table(pa.table({"id": [1, 2], "caption": ["a dog", None]}), "pets.flat")
    """
    name = os.fspath(path)
    if not is_url(name):
        flat.write_table(
            table,
            path,
            chunk_rows=chunk_rows,
            encodings=encodings,
            offset_index=offset_index,
            by_reference=by_reference,
        )
        return
    if by_reference:
        raise NotSupportedError(f"file '{name}' cannot refer to others: only local files do")
    from raydb.storage.formats.files.output_file import write_file  # noqa: PLC0415

    write_file(
        name,
        lambda sink: flat.write_stream(
            sink, table, chunk_rows=chunk_rows, encodings=encodings, offset_index=offset_index
        ),
    )
