"""All indexes that lie beside the rows of tables, as these are numbered anew or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from raydb.engine.catalog.indexes.stored_calibration import renumbered
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.text import text_index
from raydb.kernels.vector.graph_build import renumber
from raydb.storage.tables.rows import Rows
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.storage.tables.table import Table

_Index = TypeVar("_Index")


def chunks_from(table: Table, column: str, first: int) -> Iterator[tuple[pa.Array, int]]:
    """Yield the values of a column in the rows from number `first` on, masked ones too.

    Each chunk comes with the number of its first row.
    """
    passed = 0
    for part in table.rows.parts:
        start = max(first - passed, 0)
        if start < part.row_count:
            at = passed + start
            for chunk in Rows(table.rows.schema, (part,)).column(column).slice(start).chunks:
                yield chunk, at
                at += len(chunk)
        passed += part.row_count


def renumber_rows(snapshot: Snapshot, table: str, live: NDArray[np.bool_]) -> Snapshot:
    """Return the snapshot with a table's indexes once only the rows in `live` are left."""
    known, calibrations = dict(snapshot.vector_indexes), dict(snapshot.calibrations)
    texts, definition = dict(snapshot.text_indexes), snapshot.tables[table].definition
    for index in definition.ivf_indexes:
        known[index.name] = Deferred.of(renumber(known[index.name].get(), live))
        if index.name in calibrations:
            those = renumbered(calibrations[index.name].get(), live)
            calibrations[index.name] = Deferred.of(those)
    for index in definition.text_indexes:
        texts[index.name] = Deferred.of(text_index.renumber(texts[index.name].get(), live))
    return replace(snapshot, vector_indexes=known, calibrations=calibrations, text_indexes=texts)


def drop_lost_indexes(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the indexes beside rows that no table has any more."""
    names = {index.name for table in snapshot.tables.values() for index in table.definition.indexes}
    known = {*snapshot.vector_indexes, *snapshot.text_indexes}
    if known <= names:
        return snapshot
    return replace(
        snapshot,
        vector_indexes=_chosen(snapshot.vector_indexes, names),
        calibrations=_chosen(snapshot.calibrations, names),
        text_indexes=_chosen(snapshot.text_indexes, names),
    )


def _chosen(indexes: Mapping[str, _Index], names: set[str]) -> dict[str, _Index]:
    return {name: index for name, index in indexes.items() if name in names}
