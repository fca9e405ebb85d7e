"""The rows of partition_graph() and partition_stats(): a graph is read once for all that ask of it.

    k          edges          nodes, numbered      parts, clusters
    4    ->    a batch   ->   of 0 and 1      ->   of node 0   ->   a block of rows
    8          at a time      ...                  ...

Rows that ask about rows of their own have a graph each.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.engine.context.progress import report, report_compiling
from raydb.engine.operators.relation import MORSEL_ROWS, Collector, Relation
from raydb.engine.table_functions.graph.edge_stream import (
    NODE_BYTES,
    PART_BYTES,
    GraphReader,
    blocks_read,
    kept_array,
)
from raydb.engine.table_functions.search.paired_rows import PairedRows
from raydb.errors import DataError, NotSupportedError
from raydb.interrupts import beside, check_interrupt
from raydb.kernels.graph.numbering import Numbers
from raydb.kernels.graph.partition import (
    MOST_DEGREE,
    Edges,
    Question,
    even_share,
    partition,
    partition_stats,
)
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.graph.edge_stream import Graph
    from raydb.engine.table_functions.graph.partition_function import PartitionFunction
    from raydb.planner.plan.nodes import SearchRows

# The share of the room that the neighbours of some nodes may take, beside others that are kept.
_NEIGHBOURS_SHARE = 4


def partition_rows(
    function: PartitionFunction, plan: SearchRows, columns: Sequence[Column], sources: Sources
) -> Relation:
    """Return some columns of each row that asks with those of its answer, in the rows' order.

    Raises what `partition_blocks` does.
    """
    collector = Collector(sources.memory, columns)
    collector.add(Relation({column: pa.array([], column.type) for column in columns}, 0))
    for rows in partition_blocks(function, plan, columns, sources):
        collector.add(rows)
    return collector.relation()


def partition_blocks(
    function: PartitionFunction, plan: SearchRows, columns: Sequence[Column], sources: Sources
) -> Iterator[Relation]:
    """Yield some columns of each row that asks with those of its answer, some rows at a time.

    Raises DataError for edges of no node, nodes in two parts and arguments of a row that are none,
    OperationalError where memory is too small.
    """
    carried = [column for column in plan.left.columns if column in columns]
    needed = list(dict.fromkeys((*carried, *(ours for ours, _ in plan.pairs))))
    queries, given = sources.rows_with(plan.left, needed, [each for _, each in plan.given])
    asked = [
        function.values(plan, [literal_value(values[row]) for values in given])
        for row in range(queries.row_count)
    ]
    graphs = _Graphs(function, plan, queries, sources)
    told: list[str] = []
    for row, values in enumerate(asked):
        check_interrupt()
        if values is None:
            continue
        job = _Job(function.name, graphs.of_row(row), values, sources)
        answers = job.partition() if function.name == "partition_graph" else job.stats()
        for found in answers:
            numbers = pa.array(np.full(len(found["part"]), row))
            every: dict[Column, Any] = {
                **{column: queries.columns[column].take(numbers) for column in carried},
                **{column: found[column.name] for column in plan.found if column in columns},
            }
            yield Relation({column: every[column] for column in columns}, len(numbers))
        told.append(job.told)
    unasked = sum(values is None for values in asked)
    if unasked:
        sources.context.warnings.append(
            f"rows without an answer because an argument is NULL: {unasked}"
        )
    if graphs.skipped:
        sources.context.warnings.append(
            f"rows left out because an end, a node or a part is NULL: {graphs.skipped}"
        )
    if sources.trace is not None:
        sources.trace.note(plan, _how(told))


def _how(told: Sequence[str]) -> str:
    return told[0] if len(told) == 1 else f"{len(told)} graphs" if told else "nothing was asked"


class _Graphs:
    """The graph of each row that asks: of all edges, or of those that there are for the row."""

    def __init__(
        self, function: PartitionFunction, plan: SearchRows, queries: Relation, sources: Sources
    ) -> None:
        self._function, self._plan, self._sources = function, plan, sources
        self._held: tuple[int, Graph] | None = None
        self._paired: PairedRows | None = None
        self.skipped = 0
        if plan.pairs:
            place = () if plan.place is None else (plan.place,)
            own = list(dict.fromkeys((*(theirs for _, theirs in plan.pairs), *place)))
            right, read = sources.rows_with(plan.right, own, plan.read)
            columns = (Column(-1 - number, "read", each.type) for number, each in enumerate(read))
            self._read = Relation(dict(zip(columns, read, strict=True)), right.row_count)
            self._paired = PairedRows(plan, queries, right)

    def of_row(self, row: int) -> Graph:
        """Return the graph of a row that asks."""
        paired = self._paired
        code = 0 if paired is None else int(paired.codes[row])
        if self._held is not None and self._held[0] == code:
            return self._held[1]
        name = self._function.name
        _make_ready()
        report(f"{name}: edges", 0.0)
        reader = GraphReader(name, self._plan.options.tables, self._sources.memory)
        if paired is None:
            graph = reader.read(blocks_read(self._plan, self._sources))
        else:
            chosen = self._read.take(pa.array(paired.numbers(row)))
            graph = reader.read(iter([chosen]))
        self.skipped += graph.skipped
        self._held = code, graph
        return graph


@cache
def _make_ready() -> None:
    """Load the compiled loops, or compile them, on a thread that an interrupt leaves alone."""
    report_compiling()
    beside(_call_loops)


def _call_loops() -> None:
    for values in (pa.array([1, 2, 3]), pa.array(["a", "b", "c"])):
        numbers = Numbers(values.type)
        ends = numbers.of(values)
        numbers.values(0, len(ends))
        # As they come from relations, which cannot be written.
        ends.flags.writeable = False
        edges = Edges([(ends, ends[:1].repeat(3))], len(ends), keep=_unchanged)
        edges.batches[0][1].flags.writeable = False
        partition_stats(edges, partition(edges, Question(2, 1.0, 1, 1)).part, 2)


def _unchanged(values: NDArray[np.int32]) -> NDArray[np.int32]:
    values.flags.writeable = False
    return values


class _Job:
    """What a row asks of a graph. told: how it went, for EXPLAIN ANALYZE."""

    def __init__(
        self, name: str, graph: Graph, values: Mapping[str, Any], sources: Sources
    ) -> None:
        self._name, self._graph, self._values = name, graph, values
        memory = sources.memory
        self._k = int(values["k"]) if graph.part is None else int(graph.part.max(initial=-1)) + 1
        count = graph.numbers.count
        need = NODE_BYTES * count + PART_BYTES * self._k + graph.numbers.size_bytes
        memory.check(need, f"{name}() of {count} nodes in {self._k} parts")
        room = max(memory.room() - need, memory.room() // _NEIGHBOURS_SHARE) // _NEIGHBOURS_SHARE
        self._edges = Edges(graph.batches, count, room, partial(kept_array, memory))
        self.told = f"{count} nodes, {graph.edge_count} edges"

    def _tell(self, step: str, share: float) -> None:
        report(f"{self._name}: {step}", share)

    def partition(self) -> Iterator[Mapping[str, pa.Array]]:
        """Yield the columns of the nodes of a partition, some rows at a time."""
        part, cluster = self._parted()
        for start in range(0, len(part), MORSEL_ROWS):
            end = min(start + MORSEL_ROWS, len(part))
            yield {
                "node": self._graph.numbers.values(start, end),
                "part": pa.array(part[start:end].astype(np.int64)),
                "cluster": pa.array(cluster[start:end].astype(np.int64)),
            }

    def _parted(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        values = self._values
        asked = Question(self._k, values["balance"], values["refine"], values["seed"])
        try:
            found = partition(self._edges, asked, self._tell)
        except OverflowError:
            raise self._too_many() from None
        most = int(found.load.max()) / even_share(len(found.part), self._k)
        self.told += f", {found.cluster_count} clusters, {found.moved} moves"
        self.told += f", greatest load {most:.3f}"
        return found.part, found.cluster

    def _too_many(self) -> NotSupportedError:
        return NotSupportedError(
            f"{self._name}() of a node with more than {MOST_DEGREE} edges is not supported"
        )

    def stats(self) -> Iterator[Mapping[str, pa.Array]]:
        """Yield the columns of parts: of the partition that is given, or of one of its own."""
        part = self._graph.part
        if part is None:
            part, _ = self._parted()
        elif len(part) < self._edges.node_count or (part < 0).any():
            raise DataError(f"parts of {self._name}() lack a part for some node")
        try:
            found = partition_stats(
                self._edges, part, self._k, self._values["directed"], self._tell
            )
        except OverflowError:
            raise self._too_many() from None
        count = self._edges.node_count
        load = found.nodes / even_share(count, self._k) if self._k else found.nodes / 1
        rf = (count + int(found.copies.sum())) / count if count else None
        whole = {
            "replication_factor": pa.array([rf] * self._k, pa.float64()),
            "greatest_load": pa.array(np.full(self._k, load.max(initial=0.0))),
            "edges_cut": pa.array(np.full(self._k, found.cut_count)),
        }
        yield {
            "part": pa.array(np.arange(self._k)),
            "nodes": pa.array(found.nodes),
            "copies": pa.array(found.copies),
            "edges": pa.array(found.edges),
            "cut_edges": pa.array(found.cut),
            "load": pa.array(load),
            **whole,
        }
