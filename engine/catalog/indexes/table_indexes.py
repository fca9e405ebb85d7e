"""All indexes that lie beside the rows of tables, as these are numbered anew or dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.engine.catalog.indexes.stored_calibration import renumbered
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.text import text_index
from raydb.kernels.vector.graph_build import renumber

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot


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
    kept = (
        {name: each for name, each in some.items() if name in names}
        for some in (snapshot.vector_indexes, snapshot.calibrations, snapshot.text_indexes)
    )
    vectors, calibrations, texts = kept
    return replace(snapshot, vector_indexes=vectors, calibrations=calibrations, text_indexes=texts)
