"""The answer to a question about a temporal graph, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from raydb.engine.operators.relation import Relation
from raydb.engine.table_functions.motif.instance_rows import Instances, instance_rows
from raydb.engine.table_functions.motif.motif_instances import NO_INSTANCE, sample
from raydb.engine.table_functions.motif.motif_search import Search, count_instances, method_of
from raydb.engine.table_functions.motif.motif_split import beside_shuffled, split_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.context.memory import Memory
    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_conditions import Values
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_search import Clock, Plains
    from raydb.planner.expressions.nodes import Column


class FoundMotifs(NamedTuple):
    """The rows of a search, how it went, for EXPLAIN, and whether it gave what was asked for."""

    rows: Relation
    how: str
    is_complete: bool


class Edges(NamedTuple):
    """The edges that a question is about.

    plains: the plain motifs, with the conditions on these edges. read: gives a value of all
    rows by its place among what is read. time_type: that of their times.
    """

    graph: EdgeGraph
    plains: Plains
    read: Callable[[int], Values]
    time_type: pa.DataType


def search_motif(
    asked: MotifQuestion, columns: Sequence[Column], edges: Edges, clock: Clock, memory: Memory
) -> FoundMotifs:
    """Return the rows of motif_count() or the rows of motif_sample() for one question.

    Raises OperationalError where time or memory is too small, and DataError for times that 64 bits
    cannot hold.
    """
    own, plains = edges.graph, edges.plains
    delta = own.clamp(asked.delta)
    method = method_of(asked)
    search = Search(own.graph, plains, asked, method, delta, edges.time_type, clock, memory)
    if asked.by is not None or asked.every is not None:
        return FoundMotifs(*split_count(search, columns, own))
    if asked.sample_count is None:
        values, how = count_instances(search)
        if asked.shuffles:
            values = {**values, **beside_shuffled(search, own, edges.read, values.get("estimate"))}
        rows = Relation(_count_row(columns, values, own, clock), 1)
        return FoundMotifs(rows, how, values["converged"])
    matches, places, how = sample(search)
    variants = [variant for variant, _ in plains]
    rows = instance_rows(columns, Instances(own, asked, variants, matches, places))
    return FoundMotifs(rows, how, rows.row_count == asked.sample_count or how == NO_INSTANCE)


def _count_row(
    columns: Sequence[Column], found: Mapping[str, Any], edges: EdgeGraph, clock: Clock
) -> dict[Column, pa.Array]:
    values = {
        **found,
        "seconds": round(clock.passed, 6),
        "edges": edges.graph.edge_count + edges.graph.loop_count,
        "vertices": len(edges.vertices),
        "skipped_rows": edges.skipped_count,
        "duplicates": edges.graph.duplicate_count,
        "self_loops": edges.graph.loop_count,
    }
    return {column: pa.array([values.get(column.name)], column.type) for column in columns}
