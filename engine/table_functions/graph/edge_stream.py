"""The edges of a graph as they come: nodes are numbered, and the numbers kept to be read again.

'ann'  'bob'            0  1        `numbers` leads back to the nodes; the edges lie in memory
'bob'  'eve'     ->     1  2        while they fit, and beyond that in a temporary file, 8
'ann'  NULL                         bytes each. Rows without an end are counted
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.engine.operators.blocks import blocks_of
from raydb.engine.operators.relation import MORSEL_ROWS, Collector, Relation, joined
from raydb.engine.table_functions.graph.partition_function import EDGE, NODE, PLACED
from raydb.errors import DataError, NotSupportedError
from raydb.kernels.graph.numbering import MOST_VALUES, Numbers, is_numbered
from raydb.late import pc
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Column, Literal
from raydb.planner.expressions.show import show
from raydb.planner.plan.nodes import Project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.operators.run import Sources
    from raydb.planner.plan.nodes import SearchRows

NODE_BYTES, PART_BYTES = 24, 32
"""What a partition holds of each node and of each part beside edges and the values of nodes."""

_ENDS = (Column(-1, "source", pa.int32()), Column(-2, "target", pa.int32()))


class Graph(NamedTuple):
    """Edges as numbers of nodes, in batches, and what the numbers stand for.

    part: that of each node, where the rows say it. skipped: rows where an end, a node or a part is
    NULL.
    """

    numbers: Numbers
    batches: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]
    edge_count: int
    part: NDArray[np.int32] | None
    skipped: int


def blocks_read(plan: SearchRows, sources: Sources) -> Iterator[Relation]:
    """Yield what a search reads of its rows, some at a time; the columns are in that order."""
    read = [Column(-1 - place, "read", each.type) for place, each in enumerate(plan.read)]
    items = tuple(zip(read, plan.read, strict=True))
    below = Project(plan.right, items)
    if sources.trace is None:
        yield from blocks_of(below, frozenset(read), sources)
    else:
        yield sources.rows_of(below, read)


class GraphReader:
    """Makes a graph of what a call reads."""

    def __init__(self, name: str, tables: Sequence[str], memory: Memory) -> None:
        self._name, self._tables, self._memory = name, tables, memory
        self._numbers: Numbers | None = None
        self._collector = Collector(memory, _ENDS)
        self._by_row = pa.array([], pa.int64())
        self._part = np.empty(0, np.int32)
        self._skipped = 0

    def read(self, blocks: Iterator[Relation]) -> Graph:
        """Return the graph of blocks, each with the columns that the call reads in their order.

        Raises DataError for an edge to no node, NotSupportedError for too many nodes, and
        OperationalError where memory is too small.
        """
        for block in blocks:
            # Rows that were there at once are many, and their text more than an array can hold.
            for start in range(0, block.row_count, MORSEL_ROWS):
                rows = block.slice(start, MORSEL_ROWS)
                self._add([_one_array(values) for values in rows.columns.values()])
        numbers = self._numbers or Numbers(pa.int32())
        edges = self._collector.relation()
        batches = (
            [
                (source.to_numpy(), target.to_numpy())
                for source, target in zip(*map(_chunks, edges.columns.values()), strict=True)
            ]
            if edges.row_count
            else []
        )
        part = self._part[: numbers.count] if "parts" in self._tables else None
        return Graph(numbers, batches, edges.row_count, part, self._skipped)

    def _add(self, columns: Sequence[pa.Array]) -> None:
        if not self._tables:
            self._add_edges(*columns)
            return
        kinds, first, second, part = columns
        for kind in (NODE, PLACED, EDGE):
            chosen = pc.equal(kinds, kind)
            if not pc.any(chosen).as_py():
                continue
            nodes, others, parts = (pc.filter(each, chosen) for each in (first, second, part))
            if kind == EDGE:
                self._add_edges(nodes, others)
            elif kind == NODE:
                self._numbers_of(nodes.drop_null())
                self._skipped += nodes.null_count
            else:
                self._add_parts(nodes, parts)

    def _add_edges(self, source: pa.Array, target: pa.Array) -> None:
        source, target = self._without_null(source, target)
        ends = pa.concat_arrays([source, target])
        # Nodes are numbered in the order of the rows, wherever blocks begin.
        if len(self._by_row) != len(ends):
            self._by_row = pa.array(np.arange(len(ends)).reshape(2, -1).T.ravel())
        ends = pc.take(ends, self._by_row, boundscheck=False)
        numbers = self._numbers_of(ends, may_add=not self._tables)
        if self._tables and len(numbers) and numbers.min() < 0:
            raise self._no_node(source, target, numbers)
        columns = (np.ascontiguousarray(numbers[side::2]) for side in range(2))
        found = dict(zip(_ENDS, map(pa.array, columns), strict=True))
        self._collector.add(Relation(found, len(source)))

    def _no_node(self, source: pa.Array, target: pa.Array, numbers: NDArray[np.int32]) -> DataError:
        """Return the error about the first edge with an end that is no node."""
        row, side = divmod(int(np.argmax(numbers < 0)), 2)
        ends = [_shown(each, row) for each in (source, target)]
        table = "parts" if "parts" in self._tables else "nodes"
        return DataError(
            f"an edge of {self._name}() is from {ends[0]} to {ends[1]}, and {table} have no "
            f"{ends[side]}"
        )

    def _add_parts(self, nodes: pa.Array, parts: pa.Array) -> None:
        nodes, parts = self._without_null(nodes, parts)
        values = parts.to_numpy()
        for wrong in values[(values < 0) | (values >= MOST_VALUES)][:1].tolist():
            raise DataError(
                f"parts of {self._name}() have a part {wrong}; parts are numbered from 0"
            )
        numbers = self._numbers_of(nodes)
        assert self._numbers is not None
        if len(self._part) < self._numbers.count:
            longer = np.full(max(2 * len(self._part), self._numbers.count), -1, np.int32)
            longer[: len(self._part)] = self._part
            self._part = longer
        # The last one of a node in this block lies in `_part`; all others must be the same.
        before = self._part[numbers]
        self._part[numbers] = values
        clash = (self._part[numbers] != values) | ((before >= 0) & (before != values))
        if clash.any():
            row = int(np.argmax(clash))
            node = _shown(nodes, row)
            raise DataError(f"parts of {self._name}() have two parts for the node {node}")

    def _without_null(self, first: pa.Array, second: pa.Array) -> tuple[pa.Array, pa.Array]:
        if first.null_count or second.null_count:
            is_whole = pc.and_(first.is_valid(), second.is_valid())
            count = len(first)
            first, second = pc.filter(first, is_whole), pc.filter(second, is_whole)
            self._skipped += count - len(first)
        return first, second

    def _numbers_of(self, values: pa.Array, may_add: bool = True) -> NDArray[np.int32]:
        if self._numbers is None:
            if not is_numbered(values.type):
                raise NotSupportedError(
                    f"nodes of the type {values.type} are not supported by {self._name}()"
                )
            self._numbers = Numbers(values.type)
        try:
            found = self._numbers.of(values, may_add)
        except OverflowError:
            raise NotSupportedError(
                f"{self._name}() of more than {MOST_VALUES} nodes is not supported"
            ) from None
        need = self._numbers.size_bytes + NODE_BYTES * self._numbers.count
        self._memory.check(need, f"{self._name}() of {self._numbers.count} nodes")
        return found


def _one_array(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    whole = joined(values)
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole


def _chunks(values: pa.ChunkedArray | pa.Array) -> Sequence[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def kept_array(memory: Memory, values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return an array that waits for others: in a temporary file where those fill the memory."""
    table = memory.keep_rows(pa.table({"value": values}))
    chunks = table.column(0).chunks
    if len(chunks) == 1:
        found: NDArray[np.int32] = chunks[0].to_numpy()
        return found
    return np.concatenate([values[:0], *(chunk.to_numpy() for chunk in chunks)])


def _shown(values: pa.Array, row: int) -> str:
    return show(Literal(literal_value(values[row]), values.type))
