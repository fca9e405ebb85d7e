"""Text indexes of a snapshot: built from a table's rows, and kept right while they change.

As beside a vector index, rows from `row_count` on lie beside it, and masked rows are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.catalog.indexes.table_indexes import chunks_from
from raydb.engine.context.progress import report, report_compiling
from raydb.errors import ProgrammingError
from raydb.kernels.bvh.build_input import BuildControl, Room
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.text.text_index import build_text_index
from raydb.late import pc
from raydb.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.text.text_index import TextIndex
    from raydb.storage.tables.table import Index, Table, TableDefinition


def check_alone(index: Index, definition: TableDefinition) -> None:
    """Raise ProgrammingError where the column has a text index already."""
    for other in definition.text_indexes:
        if other.columns == index.columns:
            raise ProgrammingError(
                f"column '{index.columns[0]}' of table '{definition.name}' has the fts index "
                f"'{other.name}' already"
            )


def with_text_index(
    snapshot: Snapshot, table: str, index: Index, context: StatementContext
) -> Snapshot:
    """Return the snapshot with an index built from the rows as they are now.

    It takes what memory the statement may hold, and reports its progress. Raises NotSupportedError
    for stems without their package, OperationalError where the index does not fit the memory.
    """
    assert index.text is not None
    (column,) = index.columns
    control = text_control(f"index {index.name}", f"index '{index.name}'", context)
    built = index_of_texts(snapshot.tables[table], column, 0, index.text.stemmer, control)
    indexes = {**snapshot.text_indexes, index.name: Deferred.of(built)}
    return replace(snapshot, text_indexes=indexes)


def text_control(told: str, called: str, context: StatementContext) -> BuildControl:
    """Return what bounds and watches a build; told, called: its name in a bar and in an error."""
    report_compiling()
    memory = context.new_memory()
    return BuildControl(
        Room(memory.limit, lambda size: memory.too_small(size, called)),
        lambda step, share: report(f"{told}: {step}", share),
    )


def index_of_texts(
    table: Table, column: str, first: int, stemmer: str, control: BuildControl
) -> TextIndex:
    """Return an index of the visible rows from number `first` on, which is its row 0."""
    blocks = (
        (_masked(chunk, table.live, at), at - first)
        for chunk, at in chunks_from(table, column, first)
    )
    return build_text_index(blocks, table.row_count - first, stemmer, control)


def _masked(texts: pa.Array, live: NDArray[np.bool_] | None, first: int) -> pa.Array:
    """Return texts with NULL for rows that are masked, the first of which is number `first`."""
    if live is None or live[first : first + len(texts)].all():
        return texts
    shown = pa.array(live[first : first + len(texts)])
    return pc.if_else(shown, texts, pa.scalar(None, texts.type))
