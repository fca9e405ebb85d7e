"""Rows that no table holds: those of VALUES, series of integers, and UNION ALL of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.relation import MORSEL_ROWS, Collector, Relation, concatenate
from raydb.planner.expressions.casts import cast as casting
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.functions import generated_numbers
from raydb.planner.expressions.nodes import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import PhysicalPlan, Series, Union, Values


def run_values(plan: Values, columns: Sequence[Column], _: Sources) -> Relation:
    """Return rows written in the statement."""

    def values(column: Column) -> pa.ChunkedArray:
        position = plan.columns.index(column)
        expressions = [row[position] for row in plan.rows]
        if all(isinstance(e, Literal) and e.type == column.type for e in expressions):
            constants = [e.value for e in expressions if isinstance(e, Literal)]
            return pa.chunked_array([pa.array(constants, column.type)])
        first = expressions[0] if expressions else None
        if (
            first is not None
            and generated_numbers.asks_statement(first)
            and all(e == first for e in expressions)
        ):
            taken = casting.cast_values(evaluate(first, {}, len(expressions)), column.type)
            return pa.chunked_array([taken])
        chunks = [casting.cast_values(evaluate(e, {}, 1), column.type) for e in expressions]
        return pa.chunked_array(chunks, type=column.type)

    return Relation({column: values(column) for column in columns}, len(plan.rows))


def run_series(plan: Series, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows of a series of integers."""
    if not columns:
        return Relation({}, len(range(plan.start, plan.stop, plan.step)))
    collector = Collector(sources.memory, columns)
    for block in series_blocks(plan, columns):
        collector.add(block)
    return collector.relation()


def series_blocks(plan: Series, columns: Sequence[Column]) -> Iterator[Relation]:
    """Yield the rows of a series, some at a time."""
    numbers = range(plan.start, plan.stop, plan.step)
    for start in range(0, len(numbers), MORSEL_ROWS):
        some = numbers[start : start + MORSEL_ROWS]
        values = pa.array(np.arange(some.start, some.stop, some.step, dtype=np.int64))
        yield Relation(dict.fromkeys(columns, values), len(some))


def run_union(plan: Union, columns: Sequence[Column], sources: Sources) -> Relation:
    """Return the rows of all sources."""
    parts = []
    for source, theirs in columns_of_sources(plan, columns):
        rows = sources.rows_of(source, theirs)
        parts.append(renamed(rows, theirs, columns))
    return concatenate(parts, columns)


def columns_of_sources(
    plan: Union, columns: Sequence[Column]
) -> Iterator[tuple[PhysicalPlan, list[Column]]]:
    """Yield each source of a union with those of its columns that become some of the union's."""
    places = [plan.columns.index(column) for column in columns]
    for source in plan.sources:
        yield source, [source.columns[place] for place in places]


def renamed(rows: Relation, given: Sequence[Column], columns: Sequence[Column]) -> Relation:
    """Return given columns of some rows under other names."""
    values = (rows.columns[column] for column in given)
    return Relation(dict(zip(columns, values, strict=True)), rows.row_count)
