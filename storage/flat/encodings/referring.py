"""Columns of ranges in other files, made records of them before a table is written.

    'img/a.png'                                         a whole file
    {'file': 'set.tar', 'offset': 512, 'length': 900}   a range of one; without a length, to its end

Each range is read once, for its checksum. The files lie in the folder of the FlatStor file or below
it: readers open no others, and the folder can be moved as a whole.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, OperationalError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.storage.flat.encodings.outside import (
    MAX_OFFSET,
    RECORD,
    Reading,
    inner_path,
    open_inner,
    reason_of,
)
from raydb.storage.flat.kinds import is_text
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES
from raydb.storage.flat.modality import HEAD_BYTES, sampled_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ReferredColumn(NamedTuple):
    """A column of ranges.

    records: an Arrow array of RECORDs, NULL where a range is. names: the files, an Arrow array of
    bytes. heads: the first bytes and the length of some values.
    """

    records: Any
    names: Any
    heads: list[tuple[bytes, int]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many bytes each value has."""
        records = np.frombuffer(self.records.buffers()[1], RECORD)
        return records["length"].astype(np.int64)


def refer(name: str, column: Any, folder: str) -> ReferredColumn:
    """Return the records of a column of ranges, for a FlatStor file in a folder.

    Raises ProgrammingError for other columns and for files outside of the folder, DataError for a
    range that no value can have, OperationalError for what cannot be read.
    """
    files, offsets, lengths = _parts_of(name, column)
    given = files.dictionary.to_pylist()
    names = [_name_below(folder, path, name) for path in given]
    records, sampled = np.zeros(len(files), RECORD), set(sampled_rows(len(files)))
    heads: list[tuple[bytes, int]] = []
    columns = zip(*(each.to_pylist() for each in (files.indices, offsets, lengths)), strict=True)
    with Reading(lambda number: open_inner(folder, names[number])) as reading:
        for row, (number, offset, length) in enumerate(columns):
            if number is None:
                continue
            check_interrupt()
            try:
                start = offset or 0
                size = reading.size(number) - start if length is None else length
                if not 0 <= start < MAX_OFFSET or not 0 <= size <= MAX_PAYLOAD_BYTES:
                    found = f"bytes {start} to {start + size} of file '{given[number]}'"
                    raise DataError(f"row {row} of column '{name}' cannot be {found}")
                digest, head = reading.digest(number, start, size, HEAD_BYTES)
            except (OSError, ValueError) as error:
                reason = f"file '{given[number]}', which {reason_of(error)}"
                raise OperationalError(f"row {row} of column '{name}' is in the {reason}") from None
            records[row] = digest, start, size, number
            if row in sampled:
                heads.append((head, size))
    return ReferredColumn(_as_arrow(records, files), pa.array(map(str.encode, names)), heads)


def _parts_of(name: str, column: Any) -> tuple[Any, Any, Any]:
    """Return the files as a dictionary array, the offsets and the lengths, NULL where not given."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kinds = {"file": array.type}
    are_distinct = True
    if pa.types.is_struct(array.type):
        kinds = {field.name: field.type for field in array.type}
        are_distinct = len(kinds) == array.type.num_fields
    are_whole = all(_is_whole(kinds.pop(part, pa.int64())) for part in ("offset", "length"))
    are_known = are_distinct and are_whole and len(kinds) == 1
    if not are_known or not is_text(kinds.get("file", pa.null())):
        raise ProgrammingError(
            f"column '{name}' is kept by reference, so that it holds paths of files or structs of a"
            f" file, an offset and a length, not {array.type}"
        )
    files, parts = array, [pa.nulls(len(array), pa.int64())] * 2
    if pa.types.is_struct(array.type):
        files = pc.struct_field(array, "file")
        for place, part in enumerate(("offset", "length")):
            if array.type.get_field_index(part) >= 0:
                parts[place] = pc.struct_field(array, part)
    return files.cast(pa.string()).dictionary_encode(), parts[0], parts[1]


def _is_whole(data_type: Any) -> bool:
    return bool(pa.types.is_integer(data_type) or pa.types.is_null(data_type))


def _name_below(folder: str, path: str, name: str) -> str:
    """Return what a file is called from a folder on, both without symbolic links."""
    try:
        below = os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")
        inner_path(folder, below)
    except ValueError:
        raise ProgrammingError(
            f"file '{path}' of column '{name}' is outside of '{folder}', the folder of the file"
            " that is to refer to it"
        ) from None
    return below


def _as_arrow(records: NDArray[Any], files: Any) -> Any:
    """Return records as an Arrow array that is NULL where there is no file."""
    validity = files.indices.is_valid().buffers()[1] if files.null_count else None
    kind = pa.binary(RECORD.itemsize)
    return pa.Array.from_buffers(kind, len(records), [validity, pa.py_buffer(records)])
