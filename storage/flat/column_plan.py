"""The plan by which a table is written: chunk rows and encodings of each column on its own.

Columns are partitioned first, then each is cut into chunks of a size that suits what it holds
(FlatStor, section 3.2): a point read verifies one chunk, a scan pays for each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.storage.flat.encodings.dictionary import ColumnDictionary
from raydb.storage.flat.encodings.encoding import Source
from raydb.storage.flat.encodings.known import ENCODINGS, encodings_of
from raydb.storage.flat.encodings.references import REFERENCES, FileNames
from raydb.storage.flat.kinds import kind_of, type_bits
from raydb.storage.flat.layout import MAX_CHUNK_ROWS, MAX_PAYLOAD_BYTES, Kind
from raydb.storage.flat.modality import Contents, contents_of, contents_of_items
from raydb.storage.flat.shared_dictionaries import SharedEntries, share_dictionaries
from raydb.storage.in_order import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Encoding
    from raydb.storage.flat.encodings.referring import ReferredColumn

# A chunk of 16,384 numbers in 16 bits has 32 KB, of 1,024 texts of 64 bytes 30 KB in codes: with
# the metadata, a cold point read stays under 80 KB.
_NUMBER_ROWS = 2**14
_TEXT_BYTES = 2**16
# An image of 100 KB is verified with one or two neighbours.
_MEDIA_BYTES = 2**18
_MEDIA_ROWS = 100
_NESTED_BYTES = 2**20
# 24 KB of records, and of what they refer to as much as is read at a time.
_REFERENCE_ROWS = 2**10
_REFERENCE_BYTES = 2**26

_VARYING = frozenset({Kind.BYTES, Kind.NESTED})

# Columns of fewer rows are planned one after the other.
_THREAD_ROWS = 2**17


class ColumnPlan(NamedTuple):
    """How one column is written.

    wanted: the encoding that the caller asked for, None to choose by size. prepared: what an
    encoding prepared for all chunks, a dictionary or symbols; None where none did.
    """

    name: str
    column: Any
    kind: Kind
    bits: int
    contents: Contents
    chunk_rows: int
    wanted: Encoding | None
    indexed: bool
    prepared: Any

    @property
    def is_opaque(self) -> bool:
        """Whether nobody looks for values: they have neither bounds nor filters."""
        return self.contents.is_verbatim or self.wanted is REFERENCES

    @property
    def dictionary(self) -> ColumnDictionary | None:
        """The dictionary of the column's chunks, if they may have one."""
        return self.prepared if isinstance(self.prepared, ColumnDictionary) else None


def plan_columns(
    table: Any,
    chunk_rows: Mapping[str, int] | int | None,
    encodings: Mapping[str, str] | None,
    offset_index: Mapping[str, bool] | None,
    referred: Mapping[str, ReferredColumn],
) -> tuple[list[ColumnPlan], list[SharedEntries]]:
    """Return how each column of an Arrow table is written, and the dictionaries they share.

    referred: the columns whose values stay in other files.

    Raises ProgrammingError for a column named twice and for settings that name no column, or that
    a column cannot have; NotSupportedError for types that FlatStor does not store.
    """
    names = table.column_names
    check_distinct(names)
    rows_of = chunk_rows if not isinstance(chunk_rows, int) else dict.fromkeys(names, chunk_rows)
    for settings in (rows_of, encodings, offset_index):
        check_names(settings or {}, names)
    for settings in (encodings, offset_index):
        if both := sorted(set(settings or {}) & set(referred)):
            raise ProgrammingError(f"column '{both[0]}' is kept by reference, without an encoding")

    def plan_column(position: int) -> ColumnPlan:
        name = names[position]
        if name in referred:
            return _plan_referred(name, referred[name], (rows_of or {}).get(name))
        return _plan_column(
            name,
            table.column(position),
            (rows_of or {}).get(name),
            (encodings or {}).get(name, "auto"),
            (offset_index or {}).get(name, True),
        )

    types = [each.id for each in table.schema.types]
    order = sorted(range(len(names)), key=types.__getitem__)
    each = map if table.num_rows < _THREAD_ROWS else in_order
    planned = dict(zip(order, each(plan_column, order), strict=True))
    plans = [planned[position] for position in range(len(names))]
    dictionaries, shared = share_dictionaries([plan.dictionary for plan in plans])
    for position, dictionary in enumerate(dictionaries):
        if dictionary is not plans[position].dictionary:
            plans[position] = plans[position]._replace(prepared=dictionary)
    return plans, shared


def check_distinct(names: Sequence[str]) -> None:
    """Raise ProgrammingError for a column named twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ProgrammingError(f"column '{name}' appears {count} times")


def check_names(settings: Iterable[str], names: Sequence[str]) -> None:
    """Raise ProgrammingError for settings of a column that does not exist."""
    for name in settings:
        if name not in names:
            raise ProgrammingError(f"column '{name}' does not exist{did_you_mean(name, names)}")


def _plan_column(
    name: str, column: Any, rows: int | None, encoding: str, indexed: bool
) -> ColumnPlan:
    kind = kind_of(name, column.type)
    wanted = _find_encoding(name, kind, encoding)
    _check_rows(name, rows)
    contents = contents_of(column, kind)
    size_bytes = int(column.nbytes) if kind in _VARYING else 0
    chosen_rows = rows or choose_chunk_rows(kind, contents, len(column), size_bytes)
    source, prepared = Source(column, kind, chosen_rows, size_bytes), None
    tried = [wanted] if wanted else encodings_of(kind) if not contents.is_verbatim else []
    for each in tried:
        prepared = each.prepare(source, wanted is not None)
        if prepared is not None:
            break
    return ColumnPlan(
        name,
        column,
        kind,
        type_bits(column.type, kind),
        contents,
        chosen_rows,
        wanted,
        indexed,
        prepared,
    )


def _plan_referred(name: str, column: ReferredColumn, rows: int | None) -> ColumnPlan:
    _check_rows(name, rows)
    return ColumnPlan(
        name,
        pa.chunked_array([column.records]),
        Kind.BYTES,
        8,
        contents_of_items(column.heads),
        rows or _reference_rows(column.lengths),
        REFERENCES,
        indexed=True,
        prepared=FileNames(column.names),
    )


def _reference_rows(lengths: NDArray[np.int64]) -> int:
    """Return the rows of a chunk of ranges, whose values have less than 2 GiB."""
    mean = max(1, int(lengths.sum()) // max(1, len(lengths)))
    rows = max(1, min(_REFERENCE_ROWS, _REFERENCE_BYTES // mean))
    while rows > 1 and _largest_sum(lengths, rows) > MAX_PAYLOAD_BYTES:
        rows //= 2
    return rows


def _largest_sum(lengths: NDArray[np.int64], rows: int) -> int:
    return int(np.add.reduceat(lengths, np.arange(0, len(lengths), rows)).max(initial=0))


def _check_rows(name: str, rows: int | None) -> None:
    if rows is not None and not 1 <= rows <= MAX_CHUNK_ROWS:
        raise ProgrammingError(
            f"chunk_rows of column '{name}' is 1 to {MAX_CHUNK_ROWS}, not {rows}"
        )


def _find_encoding(name: str, kind: Kind, wanted: str) -> Encoding | None:
    """Return the encoding of a name; None for "auto"."""
    if wanted == "auto":
        return None
    choices = {each.name: each for each in ENCODINGS.values() if each.choices}
    allowed = {"auto", *(each.name for each in choices.values() if kind in each.choices)}
    if wanted not in choices:
        raise ProgrammingError(
            f"column '{name}' cannot have the encoding '{wanted}', which does not exist"
            f"{did_you_mean(wanted, {'auto', *choices})}"
        )
    if wanted not in allowed:
        raise ProgrammingError(
            f"column '{name}' cannot have the encoding '{wanted}'; "
            f"it may have {', '.join(sorted(allowed))}"
        )
    return choices[wanted]


def choose_chunk_rows(kind: Kind, contents: Contents, row_count: int, size_bytes: int) -> int:
    """Return the rows of a chunk for a column of items of this kind, contents and mean size."""
    if kind not in _VARYING:
        return _NUMBER_ROWS
    mean = max(1, size_bytes // max(1, row_count))
    if contents.is_verbatim:
        return max(1, min(_MEDIA_ROWS, _MEDIA_BYTES // mean))
    target = _TEXT_BYTES if kind is Kind.BYTES else _NESTED_BYTES
    rows = min(_NUMBER_ROWS, target // mean)
    rows = max(1, rows // 8 * 8 or rows)
    return row_count if rows < row_count <= rows + rows // 8 else rows
