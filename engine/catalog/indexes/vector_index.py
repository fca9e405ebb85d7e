"""Vector indexes of a snapshot: built from a table's rows, and kept right while they change.

Rows keep their numbers while rows are added and deleted: those from `row_count` on lie beside the
index, and a masked row is passed over. Only VACUUM and TRUNCATE number rows anew.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.indexes.table_indexes import chunks_from
from raydb.engine.context.progress import report, report_compiling
from raydb.errors import DataError, ProgrammingError
from raydb.kernels.bvh.build_input import BuildControl, Room
from raydb.kernels.stored.deferred import Deferred
from raydb.kernels.vector.exact_search import first_unusable, words_of
from raydb.kernels.vector.graph_build import with_graph
from raydb.kernels.vector.ivf import build_from, from_arrays
from raydb.kernels.vector.ivf_merge import with_rows
from raydb.late import pc
from raydb.storage.bits import BIT
from raydb.storage.tables.changes import Load, Remove
from raydb.storage.tables.table import has_bits
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.stored.described import Described
    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.ivf import Ivf
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.table import Index, Table, TableDefinition

    # Some rows' vectors (n, d), float32, and where they stand among the rows of a column.
    Vectors = tuple[NDArray[np.float32], NDArray[np.int64]]

# REINDEX keeps the lists where rows that came and went are no greater part of those of the index,
# and the lists that it would have now are no more or less by a greater part.
_KEPT_CHANGE = 0.125


def check_alone(index: Index, definition: TableDefinition) -> None:
    """Raise ProgrammingError where a table has such an index already."""
    assert index.ivf is not None
    for other in definition.ivf_indexes:
        assert other.ivf is not None
        if (other.columns, other.ivf.metric) == (index.columns, index.ivf.metric):
            raise ProgrammingError(
                f"column '{index.columns[0]}' of table '{definition.name}' has the "
                f"{other.ivf.method} index '{other.name}' for {other.ivf.metric} already"
            )


def with_vector_index(
    snapshot: Snapshot,
    table: str,
    index: Index,
    context: StatementContext,
    before: Ivf | None = None,
) -> Snapshot:
    """Return the snapshot with an index built from the rows as they are now.

    before: the index as it was, whose lists may still serve; few new rows are then put into these.
    It takes what memory the statement may hold, and reports its progress. Raises ProgrammingError
    for more lists than vectors in a new index, DataError for a vector without distances, and
    OperationalError where the index does not fit the memory.
    """
    assert index.ivf is not None
    report_compiling()
    rows, (column,) = snapshot.tables[table], index.columns
    metric = cast("Metric", index.ivf.metric)
    memory = context.new_memory()
    control = BuildControl(
        Room(memory.limit, lambda size: memory.too_small(size, f"index '{index.name}'")),
        lambda step, share: report(f"index {index.name}: {step} vectors", share),
    )
    kept = None
    if before is not None:
        live = np.ones(before.row_count, np.bool_) if rows.live is None else rows.live
        kept = live[before.row_ids]
        blocks = _visible_vectors(rows, column, control.room, before.row_count)
        if not _lists_serve(before, index.ivf.lists, kept, blocks):
            kept = None
    if before is None or kept is None:
        blocks = _visible_vectors(rows, column, control.room, 0)
    for vectors, numbers in blocks:
        check_vectors(vectors, numbers, metric, f"table '{table}', row", column_text(column))
    count = sum(len(numbers) for _, numbers in blocks)
    left = 0 if kept is None else int(np.count_nonzero(kept))
    lists = index.ivf.lists or _usual_lists(left + count)
    if before is not None:
        lists = min(lists, left + count)  # There were more vectors when it was made.
    if lists > left + count:
        raise ProgrammingError(
            f"the index '{index.name}' cannot have {lists} lists: "
            f"column '{column}' of table '{table}' has {left + count} vectors"
        )
    if before is not None and kept is not None:
        built: Deferred[Ivf] = with_rows(before, kept, blocks, rows.row_count, control)
        if context.files is None:  # It is in no file that would have its vectors.
            built = Deferred.of(built.get())
    else:
        has_codes, seed = index.ivf.quantization == "int8", index.ivf.seed
        given = (blocks, rows.row_count, lists, metric, seed, control)
        bits = bits_of_rows(rows, column)
        built = Deferred.of(build_from(*given, has_codes=has_codes, bits=bits))
    known = None if kept is None else before
    if index.ivf.m:
        near = index.ivf.ef_construction
        built = Deferred.of(with_graph(built.get(), control, 2 * index.ivf.m, near, known))
    indexes = {**snapshot.vector_indexes, index.name: built}
    return replace(snapshot, vector_indexes=indexes)


def _lists_serve(
    before: Ivf, wanted: int, kept: NDArray[np.bool_], blocks: Sequence[Vectors]
) -> bool:
    """Tell whether the lists of an index serve some vectors as well as lists trained anew.

    wanted: how many lists there are to be, 0 for as many as usual. kept: whether each place of the
    index still counts. blocks: what was added.
    """
    known, left = len(kept), int(np.count_nonzero(kept))
    added = sum(len(numbers) for _, numbers in blocks)
    lists = wanted or _usual_lists(left + added)
    is_near = abs(lists - before.list_count) <= _KEPT_CHANGE * before.list_count
    return known > 0 and is_near and added + known - left <= _KEPT_CHANGE * known


def _usual_lists(vector_count: int) -> int:
    """Return as many lists as each has vectors: a query compares about as many of both."""
    return min(round(sqrt(vector_count)), vector_count)


def _visible_vectors(table: Table, column: str, room: Room, first: int) -> list[Vectors]:
    """Return the vectors of the visible rows from number `first` on, and the rows' numbers.

    They come by chunks.
    """
    kind, bits = table.definition.schema.field(column).type, bits_of_rows(table, column)
    width = -(-bits // 32) if has_bits(kind) else kind.list_size
    found: list[Vectors] = [(np.empty((0, width), np.float32), np.empty(0, np.int64))]
    for chunk, at in chunks_from(table, column, first):
        values = visible_bits(chunk, at, table)
        for vectors, numbers in vector_blocks(values, column_text(column), at, bits):
            if has_bits(kind) or kind.value_type != pa.float32():
                room.take(vectors.nbytes)
            if table.live is None:
                found.append((vectors, numbers))
                continue
            live = table.live[numbers]
            room.take(int(np.count_nonzero(live)) * vectors.itemsize * width)
            found.append((vectors[live], numbers[live]))
    return found


def bits_of_rows(table: Table, column: str) -> int:
    """Return how many bits the first visible value has; 0 for vectors, and where there is none."""
    if not has_bits(table.definition.schema.field(column).type):
        return 0
    for chunk, at in chunks_from(table, column, 0):
        values = visible_bits(chunk, at, table)
        if values.null_count < len(values):
            return bits_of_value(values.drop_null()[0])
    return 0


def visible_bits(values: pa.Array, at: int, table: Table) -> pa.Array:
    """Return bits with NULL for masked rows, which may have had others; vectors as they are.

    at: the number of the first row.
    """
    if table.live is None or not has_bits(values.type):
        return values
    live = pa.array(table.live[at : at + len(values)])
    return pc.if_else(live, values, pa.scalar(None, values.type))


def bits_of_value(value: pa.Scalar) -> int:
    """Return how many bits a value has, which is not NULL."""
    return len(value.as_py()) if value.type == BIT else 8 * len(value.as_py())


def column_text(column: str) -> str:
    """Return what errors call a vector of a column."""
    return f"the vector in '{column}'"


def vector_blocks(
    values: pa.ChunkedArray | pa.Array, what: str, start: int = 0, bits: int = 0
) -> Iterator[Vectors]:
    """Yield the vectors of a column chunk by chunk, without those that are NULL.

    The column is FLOAT[n], FLOAT16[n], TINYINT[n], or DOUBLE[n], which is rounded, or it has bits.

    what: how an error calls a vector. start: the number of the first row. bits: how many each value
    has, 0 for as many as the first. Raises DataError for a vector with a NULL in it, and for others
    than so many bits.
    """
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else [values]:
        numbers = np.arange(start, start + len(chunk))
        start += len(chunk)
        if chunk.null_count:
            numbers = numbers[chunk.is_valid().to_numpy(zero_copy_only=False)]
        if not len(numbers):
            continue
        if has_bits(values.type):
            known = chunk.drop_null()
            bits = bits or bits_of_value(known[0])
            yield _words_of(known, numbers, what, bits), numbers
            continue
        elements = chunk.flatten()
        if elements.null_count:
            holes = np.flatnonzero(elements.is_null().to_numpy(zero_copy_only=False))
            row = numbers[holes[0] // values.type.list_size] + 1
            raise DataError(f"row {row}: {what} has a NULL in it")
        found = elements.to_numpy()
        if found.dtype == np.float64:
            # What float32 cannot hold would become infinite: it is refused as too large.
            found = np.clip(found, -1e38, 1e38)
        found = found.astype(np.float32, copy=False)
        yield found.reshape(len(numbers), -1), numbers


def _words_of(
    values: pa.Array, numbers: NDArray[np.int64], what: str, bits: int
) -> NDArray[np.float32]:
    """Return bits as words (n, d), once all values have as many."""
    wide = values.cast(BIT)
    scale = 1 if values.type == BIT else 8
    lengths = scale * pc.binary_length(wide).to_numpy()
    wrong = np.flatnonzero(lengths != bits)
    if len(wrong):
        row, length = numbers[wrong[0]] + 1, lengths[wrong[0]]
        raise DataError(f"row {row}: {what} has {length} bits, not {bits}")
    offsets = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset :]
    whole = np.frombuffer(wide.buffers()[2] or b"", np.uint8)
    stored = whole[offsets[0] : offsets[len(wide)]].reshape(len(wide), bits // scale)
    return words_of(stored == ord("1") if scale == 1 else np.unpackbits(stored, axis=1) == 1)


def check_vectors(
    vectors: NDArray[np.float32],
    numbers: NDArray[np.int64],
    metric: Metric,
    where: str,
    what: str,
) -> None:
    """Raise DataError for the first vector that has no distance to others."""
    unusable = first_unusable(vectors, metric)
    if unusable is not None:
        place, why = unusable
        raise DataError(f"{where} {numbers[place] + 1}: {what} has {why}")


def check_change(change: Change, snapshot: Snapshot) -> None:
    """Raise DataError where a new row has a vector that an index of its table cannot hold."""
    if isinstance(change, Remove):
        return
    for index in snapshot.tables[change.table].definition.ivf_indexes:
        assert index.ivf is not None
        assert not isinstance(change, Load), "new rows of such a table are in memory"
        metric, (column,) = cast("Metric", index.ivf.metric), index.columns
        where, bits = f"index '{index.name}', new row", 0
        if metric == "hamming":
            known = snapshot.vector_indexes[index.name].get().bits
            bits = known or bits_of_rows(snapshot.tables[change.table], column)
        values, what = change.rows.column(column), column_text(column)
        for vectors, numbers in vector_blocks(values, what, bits=bits):
            check_vectors(vectors, numbers, metric, where, what)


def load_index(arrays: StoredArrays, properties: Described, index: Index, table: Table) -> Ivf:
    """Return the index that a file holds, once it is what the table's definition says.

    Raises OperationalError.
    """
    assert index.ivf is not None
    kind = table.definition.schema.field(index.columns[0]).type
    width = 0 if has_bits(kind) else kind.list_size
    has = {"has_codes": index.ivf.quantization == "int8", "has_graph": index.ivf.m > 0}
    loaded = from_arrays(arrays, properties, width, table.row_count, **has)
    if loaded.metric != index.ivf.metric or has_bits(kind) != (loaded.metric == "hamming"):
        raise properties["metric"].fault(f"'{index.ivf.metric}', as of index '{index.name}'")
    return loaded
