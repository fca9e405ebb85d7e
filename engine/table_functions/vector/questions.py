"""What vector_search() is asked row by row, the rows that it looks at, and what it answers.

vectors, k and max_distance of each row  ->  Questions
a table, or rows                         ->  blocks of vectors and row numbers
rows that are near                       ->  Hits, in order of rank
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.engine.catalog.indexes.table_indexes import chunks_from
from raydb.engine.catalog.indexes.vector_index import (
    bits_of_rows,
    bits_of_value,
    check_vectors,
    column_text,
    vector_blocks,
    visible_bits,
)
from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.scan import fetch_rows, scan_table
from raydb.errors import DataError, ProgrammingError
from raydb.planner.expressions.nodes import Column
from raydb.storage.tables.table import ROW_NUMBER, has_bits
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.engine.operators.run import Sources
    from raydb.engine.table_functions.vector.choose_index import VectorIndex
    from raydb.kernels.vector.exact_search import Neighbours
    from raydb.planner.plan.nodes import SearchRows
    from raydb.storage.tables.table import Table

    Block = tuple[NDArray[np.float32], NDArray[np.integer]]
    Values: TypeAlias = "pa.ChunkedArray | pa.Array"

# Rows beside an index that are worth a REINDEX.
_MANY_BESIDE = 5000
_MANY_BESIDE_PART = 1 / 8

_QUERY = "the query of vector_search()"

# The columns of plans have numbers from 0 on.
_NUMBER = Column(-1, ROW_NUMBER, pa.int32())


@dataclass(frozen=True, eq=False, slots=True)
class Questions:
    """What is asked: vectors (q, d), the places (q) of their rows, and how many rows to look for.

    counts (q): how many of them are wanted for each vector; None for all. most (q): the greatest
    distance of a row that is found; None for any. bits: how many the vectors have, where they are
    such; else 0.
    """

    vectors: NDArray[np.float32]
    places: NDArray[np.int64]
    k: int
    counts: NDArray[np.int64] | None
    most: NDArray[np.float64] | None
    bits: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Hits:
    """What was found, vector by vector and in order of rank: the vector's number and the rank (n).

    ranks: from 0 on. rows, distances (n): of each hit. probes, guarantees (q): of each vector.
    """

    queries: NDArray[np.int64]
    ranks: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    probes: NDArray[np.int64]
    guarantees: list[str]


def read_questions(plan: SearchRows, given: Mapping[str, Values]) -> Questions:
    """Return what the rows ask whose vector, and whose further arguments, are not NULL.

    given: the values of the call's arguments, by name. Raises DataError for a vector that has no
    distance to others, ProgrammingError for a k that is no count.
    """
    options, kind = plan.options, vector_of(plan).type
    bits = _bits_of(given["query"]) if has_bits(kind) else 0
    found = list(vector_blocks(given["query"], _QUERY, bits=bits))
    if found:
        vectors, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    else:
        width = 0 if has_bits(kind) else kind.list_size
        vectors, places = np.empty((0, width), np.float32), np.empty(0, np.int64)
    others = {name: joined(values) for name, values in given.items() if name != "query"}
    for values in others.values():
        known = values.is_valid().to_numpy(zero_copy_only=False)[places]
        vectors, places = vectors[known], places[known]
    check_vectors(vectors, places, plan.how.metric, "row", _QUERY)
    taken = {name: values.take(pa.array(places)).to_numpy() for name, values in others.items()}
    counts, most = taken.get("k"), taken.get("max_distance")
    if most is None and options.most is not None:
        most = np.full(len(places), options.most)
    if most is not None and np.isnan(most).any():
        raise ProgrammingError("max_distance of vector_search() is a number, not NaN")
    k = 0 if options.is_every else options.k
    if counts is not None:
        wrong = counts[(counts < 1) | (counts >= 2**31)]
        if len(wrong):
            argument = plan.function.argument("k")
            assert argument.kind is not None
            wanted = argument.kind.wanted(int(wrong[0]))
            raise ProgrammingError(f"k of vector_search() is {wanted}, not {wrong[0]}")
        k = int(counts.max(initial=0)) + options.offset
    return Questions(np.ascontiguousarray(vectors), places, k, counts, most, bits)


def _bits_of(values: Values) -> int:
    """Return how many bits the first value that is not NULL has; 0 without one."""
    known = values.drop_null()
    return bits_of_value(known[0]) if len(known) else 0


def check_bits(plan: SearchRows, asked: Questions, table: Table) -> None:
    """Raise DataError where an index has others than as many bits as are asked for."""
    if plan.how.index is None:
        return
    column = vector_of(plan).name
    bits = plan.how.index.arrays.bits or bits_of_rows(table, column)
    if asked.bits and bits and asked.bits != bits:
        raise DataError(
            f"column '{column}' of vector_search() has vectors of {bits} bits, "
            f"the query has {asked.bits}"
        )


def hits_of(plan: SearchRows, asked: Questions, found: Neighbours, guarantees: list[str]) -> Hits:
    """Return what is found as far as it is asked for."""
    is_hit, offset = found.rows >= 0, plan.options.offset
    if asked.most is not None:
        is_hit &= found.distances <= asked.most[:, None]
    if asked.counts is not None:
        is_hit &= np.arange(asked.k) < (asked.counts + offset)[:, None]
    is_hit[:, :offset] = False
    queries, ranks = np.nonzero(is_hit)
    pairs = (found.rows[queries, ranks], found.distances[queries, ranks])
    return Hits(queries, ranks, *pairs, found.probes, guarantees)


def vector_of(plan: SearchRows) -> Column:
    """Return the column that is searched."""
    (vector,) = plan.read
    assert isinstance(vector, Column)
    return vector


def table_blocks(
    plan: SearchRows,
    asked: Questions,
    table: Table,
    selected: NDArray[np.int64] | None,
    sources: Sources,
) -> Iterator[Block]:
    """Yield the vectors of a table's rows, of some of them where these are selected."""
    vector = vector_of(plan)
    if selected is None:
        rows = scan_table(table, [vector, _NUMBER], sources.memory)
        selected = joined(rows.columns[_NUMBER]).to_numpy().astype(np.int64)
    else:
        rows = fetch_rows(table, [vector], selected)
    return checked(plan, asked, rows.columns[vector], selected)


def checked(
    plan: SearchRows, asked: Questions, values: Values, numbers: NDArray[np.int64] | None
) -> Iterator[Block]:
    """Yield the vectors of a column with the numbers of their rows, once they are known good."""
    text = column_text(vector_of(plan).name)
    for vectors, places in vector_blocks(values, text, bits=asked.bits):
        known = places if numbers is None else numbers[places]
        check_vectors(vectors, known, plan.how.metric, "row", text)
        yield vectors, known


def rows_beside(
    table: Table, column: str, index: VectorIndex, allowed: NDArray[np.bool_] | None
) -> Iterator[Block]:
    """Yield the vectors of the rows that were added since an index was built, where they count."""
    for chunk, at in chunks_from(table, column, index.arrays.row_count):
        values, what = visible_bits(chunk, at, table), column_text(column)
        for vectors, numbers in vector_blocks(values, what, at, index.arrays.bits):
            if allowed is None:
                yield vectors, numbers
            else:
                counts = allowed[numbers]
                yield vectors[counts], numbers[counts]


def tell_beside(index: VectorIndex, table: Table, context: StatementContext) -> None:
    """Warn of many rows beside an index."""
    beside = table.row_count - index.arrays.row_count
    if beside > max(_MANY_BESIDE, _MANY_BESIDE_PART * len(index.arrays.row_ids)):
        context.warnings.append(
            f"{beside} rows lie beside the {index.arrays.list_count} lists of index "
            f"'{index.name}', and each search compares them all: REINDEX {index.name} puts them "
            "into lists"
        )
