"""Instances of a motif as rows: vertices by their names, places of rows, first and last times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.planner.expressions.nodes import Column


class Instances(NamedTuple):
    """Instances of the plain motifs of a question, numbered from `first` on.

    matches: the graph's edges, shape (n, e), by edge of the motif. places: which of the variants
    each is of.
    """

    edges: EdgeGraph
    asked: MotifQuestion
    variants: Sequence[Variant]
    matches: NDArray[np.int64]
    places: NDArray[np.int64]
    first: int = 1


def instance_rows(columns: Sequence[Column], found: Instances) -> Relation:
    """Return some columns of instances."""
    graph, matches, count = found.edges.graph, found.matches, len(found.matches)
    made: dict[Column, pa.Array] = {}
    for column in columns:
        name = column.name
        values: Any
        if name == "instance":
            values = pa.array(np.arange(found.first, found.first + count))
        elif name in ("first_time", "last_time"):
            # Edges are numbered by time.
            ends = matches.min(axis=1) if name == "first_time" else matches.max(axis=1)
            values = as_times(graph.time[ends] + found.edges.first_time, column.type)
        elif name in found.asked.names:
            values = found.edges.vertices.take(pa.array(vertex_numbers(name, found)))
        else:
            values = pa.array(
                graph.row[matches[:, int(name[1 : -len("_row")]) - 1]].astype(np.int64) + 1
            )
        made[column] = values.cast(column.type)
    return Relation(made, count)


def vertex_numbers(name: str, found: Instances) -> NDArray[np.uint32]:
    """Return the graph's vertex that each instance has for one of the motif's."""
    graph, matches = found.edges.graph, found.matches
    vertex = found.asked.names.index(name)
    numbers = np.empty(len(matches), np.uint32)
    for place, variant in enumerate(found.variants):
        edge, is_source = variant.place_of(vertex)
        ends = graph.source if is_source else graph.target
        is_own = slice(None) if len(found.variants) == 1 else found.places == place
        numbers[is_own] = ends[matches[is_own, edge]]
    return numbers


def as_times(moments: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Return times of a type from the numbers that a graph has of them."""
    numbers = pa.array(moments)
    return numbers.cast(pa.int32()).cast(kind) if kind == pa.date32() else numbers.cast(kind)
