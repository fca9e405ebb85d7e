"""Decide how a table is written: the chunk rows and the encodings of each column on its own.

Columns are partitioned first, then each is cut into chunks of a size that suits what it holds
(FlatStor, section 3.2): a point read verifies one chunk, a scan pays for each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import ProgrammingError, did_you_mean
from raydb.kernels.codecs import fsst
from raydb.kernels.in_order import in_order
from raydb.storage.flat.encodings.dictionary import (
    ColumnDictionary,
    SharedEntries,
    propose_dictionary,
    share_dictionaries,
)
from raydb.storage.flat.encodings.texts import text_parts
from raydb.storage.flat.kinds import kind_of, type_bits
from raydb.storage.flat.layout import MAX_CHUNK_ROWS, Kind, Modality
from raydb.storage.flat.modality import detect_modality

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A chunk of 16,384 numbers in 16 bits has 32 KB, of 1,024 texts of 64 bytes 30 KB in codes: with
# the metadata, a cold point read stays under 80 KB.
_NUMBER_ROWS = 2**14
_TEXT_BYTES = 2**16
# An image of 100 KB is verified with one or two neighbours.
_MEDIA_BYTES = 2**18
_MEDIA_ROWS = 100
_NESTED_BYTES = 2**20

# Training takes 10 ms: less text is not worth it.
_MIN_FSST_BYTES = 2**17
_MIN_FSST_RATIO = 1 / 0.9
_SAMPLE_ROWS = 4096

# Columns of fewer rows are planned one after the other.
_THREAD_ROWS = 2**17

_MEDIA = frozenset(
    {Modality.IMAGE, Modality.AUDIO, Modality.VIDEO, Modality.DOCUMENT, Modality.MIXED_MEDIA}
)
_NUMBERS = {"auto", "verbatim"}
_ENCODINGS = {
    Kind.BOOLEAN: _NUMBERS | {"run_length"},
    Kind.SIGNED: _NUMBERS | {"frame", "run_length", "dictionary"},
    Kind.UNSIGNED: _NUMBERS | {"frame", "run_length", "dictionary"},
    Kind.FLOAT: _NUMBERS | {"dictionary"},
    Kind.DECIMAL: _NUMBERS | {"frame", "run_length"},
    Kind.BYTES: _NUMBERS | {"dictionary", "fsst"},
    Kind.NESTED: {"auto"},
}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """How one column is written.

    wanted: the encoding that the caller asked for, None to choose by size. ratio: the bytes that a
    byte of FSST codes held in the sample.
    """

    name: str
    column: Any
    kind: Kind
    bits: int
    modality: Modality
    media_types: tuple[str, ...]
    chunk_rows: int
    wanted: str | None
    indexed: bool
    dictionary: ColumnDictionary | None
    symbols: fsst.SymbolTable | None
    ratio: float

    @property
    def is_media(self) -> bool:
        """Whether the items are stored verbatim and never compared."""
        return self.modality in _MEDIA


def plan_columns(
    table: Any,
    chunk_rows: Mapping[str, int] | int | None,
    encodings: Mapping[str, str] | None,
    offset_index: Mapping[str, bool] | None,
) -> tuple[list[ColumnPlan], list[SharedEntries]]:
    """Return how each column of an Arrow table is written, and the dictionaries they share.

    Raises ProgrammingError for a column named twice and for settings that name no column, or that
    a column cannot have; NotSupportedError for types that FlatStor does not store.
    """
    names = table.column_names
    for name, count in Counter(names).items():
        if count > 1:
            raise ProgrammingError(f"column '{name}' appears {count} times")
    rows_of = chunk_rows if not isinstance(chunk_rows, int) else dict.fromkeys(names, chunk_rows)
    for settings in (rows_of, encodings, offset_index):
        _check_names(settings or {}, names)

    def plan_column(position: int) -> ColumnPlan:
        name = names[position]
        return _plan_column(
            name,
            table.column(position),
            (rows_of or {}).get(name),
            (encodings or {}).get(name, "auto"),
            (offset_index or {}).get(name, True),
        )

    each = map if table.num_rows < _THREAD_ROWS else in_order
    plans = list(each(plan_column, range(len(names))))
    dictionaries, shared = share_dictionaries([plan.dictionary for plan in plans])
    for position, dictionary in enumerate(dictionaries):
        if dictionary is not plans[position].dictionary:
            plans[position] = replace(plans[position], dictionary=dictionary)
    return plans, shared


def _check_names(settings: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in settings:
        if name not in names:
            raise ProgrammingError(f"column '{name}' does not exist{did_you_mean(name, names)}")


def _plan_column(
    name: str, column: Any, rows: int | None, encoding: str, indexed: bool
) -> ColumnPlan:
    kind = kind_of(name, column.type)
    _check_encoding(name, kind, encoding)
    if rows is not None and not 1 <= rows <= MAX_CHUNK_ROWS:
        raise ProgrammingError(
            f"chunk_rows of column '{name}' is 1 to {MAX_CHUNK_ROWS}, not {rows}"
        )
    modality, media_types = detect_modality(column, kind)
    chosen_rows = rows or choose_chunk_rows(kind, modality, len(column), column)
    is_media = modality in _MEDIA
    dictionary = None
    if encoding == "dictionary" or (encoding == "auto" and not is_media):
        dictionary = propose_dictionary(column, kind, chosen_rows, encoding == "dictionary")
    symbols, ratio = None, 1.0
    if encoding == "fsst" or (
        encoding == "auto" and kind is Kind.BYTES and not is_media and dictionary is None
    ):
        symbols, ratio = _train_symbols(column, encoding == "fsst")
    return ColumnPlan(
        name,
        column,
        kind,
        type_bits(column.type, kind),
        modality,
        media_types,
        chosen_rows,
        None if encoding == "auto" else encoding,
        indexed,
        dictionary,
        symbols,
        ratio,
    )


def _check_encoding(name: str, kind: Kind, encoding: str) -> None:
    every = {encoding for encodings in _ENCODINGS.values() for encoding in encodings}
    if encoding not in every:
        raise ProgrammingError(
            f"column '{name}' cannot have the encoding '{encoding}', which does not exist"
            f"{did_you_mean(encoding, every)}"
        )
    allowed = _ENCODINGS[kind]
    if encoding not in allowed:
        raise ProgrammingError(
            f"column '{name}' cannot have the encoding '{encoding}'; "
            f"it may have {', '.join(sorted(allowed))}"
        )


def choose_chunk_rows(kind: Kind, modality: Modality, row_count: int, column: Any) -> int:
    """Return the rows of a chunk for a column of items of this kind, modality and mean size."""
    if kind not in {Kind.BYTES, Kind.NESTED}:
        return _NUMBER_ROWS
    mean = max(1, int(column.nbytes) // max(1, row_count))
    if modality in _MEDIA:
        return max(1, min(_MEDIA_ROWS, _MEDIA_BYTES // mean))
    target = _TEXT_BYTES if kind is Kind.BYTES else _NESTED_BYTES
    rows = min(_NUMBER_ROWS, target // mean)
    return max(1, rows // 8 * 8 or rows)


def _train_symbols(column: Any, wanted: bool) -> tuple[fsst.SymbolTable | None, float]:
    """Return the symbol table of a column of bytes and its ratio on a sample.

    Without `wanted`, None where the sample is small or saves less than 10 %.
    """
    if not wanted and column.nbytes < _MIN_FSST_BYTES:
        return None, 1.0
    count = len(column)
    step = np.linspace(0, count - 1, min(count, _SAMPLE_ROWS)).astype(np.int64)
    sample = column.take(np.unique(step)).combine_chunks()
    data, offsets = text_parts(pc.fill_null(sample, pa.scalar("", sample.type)))
    bounds = offsets.astype(np.int64)
    table = fsst.train(data, bounds)
    ratio = fsst.ratio(table, data, bounds)
    if not wanted and ratio < _MIN_FSST_RATIO:
        return None, 1.0
    return table, ratio
