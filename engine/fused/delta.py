"""Runs a star over the rows that a BVH does not hold yet: those of its fact table from a number on.

They are a table of their own (`Table.rest`). Many of them are one fused pass over that table; few
are looked up through the foreign keys, and are then rows like any other on the general path.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.fused.build_bvh import visible_rows
from raydb.engine.fused.denormalise import fetch
from raydb.engine.fused.run import run_table_job
from raydb.engine.fused.table_job import fuse_on_rows
from raydb.engine.operators.aggregate.run_aggregate import aggregate_rows
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import count_true
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, attributes_of, expressions_of
from raydb.planner.stars.delta import MIN_SCANNED
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.engine.context.memory import Memory
    from raydb.engine.fused.derived_cache import DerivedCache
    from raydb.engine.fused.table_job import TableJob
    from raydb.engine.operators.relation import Relation
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.planner.plan.nodes import Star
    from raydb.planner.stars.delta import DeltaScan
    from raydb.storage.tables.table import Table


@dataclass(frozen=True, eq=False, slots=True)
class FetchedRows:
    """Few rows with their attributes, each as long as the rows are, as they are first asked for."""

    attributes: dict[Attribute, pa.Array | pa.ChunkedArray] = field(default_factory=dict)


def prepare_delta(
    job: DeltaScan, tables: Mapping[str, Table], cache: DerivedCache
) -> TableJob | FetchedRows | None:
    """Return the scan of the rows, to be made once, or the rows of a look-up.

    None where there are too many rows to keep what is fetched of them.
    """
    if job.scan is None:
        return FetchedRows() if job.newer.count < MIN_SCANNED else None
    rest, tables = _with_rest(job, tables)
    star = replace(job.star, fact=rest.name)
    return fuse_on_rows(replace(job.scan, star=star), tables, cache)


def run_delta(
    job: DeltaScan,
    prepared: TableJob | FetchedRows | None,
    tables: Mapping[str, Table],
    memory: Memory,
) -> tuple[Relation, PreparedJob | None]:
    """Return the job's rows, and the job of a backend where one has scanned them.

    Raises DataError for a value
    that cannot be computed.
    """
    if not (prepared is None or isinstance(prepared, FetchedRows)):
        return run_table_job(prepared, memory)
    rest, tables = _with_rest(job, tables)
    rows = FetchedRows() if prepared is None else prepared
    return look_up(replace(job.star, fact=rest.name), rows, tables, memory), None


def _with_rest(job: DeltaScan, tables: Mapping[str, Table]) -> tuple[Table, Mapping[str, Table]]:
    """Return the table of the job's rows, and the tables with it."""
    rest = tables[job.star.fact].rest(job.newer.first)
    return rest, {**tables, rest.name: rest}


def look_up(star: Star, rows: FetchedRows, tables: Mapping[str, Table], memory: Memory) -> Relation:
    """Return the rows of a star, whose attributes are fetched for every row."""
    fact = tables[star.fact]
    count = fact.live_count
    keys = [key for _, key in star.keys]
    values = [argument for _, call in star.aggregates for argument in expressions_of(call)]
    read = {a for each in (*star.predicates, *keys, *values) for a in attributes_of(each)}
    missing = read - rows.attributes.keys()
    if missing:
        row_ids = visible_rows(fact)
        for attribute in sorted(missing, key=repr):
            rows.attributes[attribute] = fetch(tables, fact.name, attribute, row_ids)
    inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {
        attribute: rows.attributes[attribute] for attribute in read
    }
    if star.predicates:
        mask = pc.fill_null(evaluate(_all_of(star.predicates), inputs, count), fill_value=False)
        inputs = {attribute: column.filter(mask) for attribute, column in inputs.items()}
        count = count_true(mask)
    return aggregate_rows(
        {column: evaluate(key, inputs, count) for column, key in star.keys},
        star.aggregates,
        {each: evaluate(each, inputs, count) for each in dict.fromkeys(values)},
        count,
        memory,
    )


def _all_of(conditions: tuple[Expression, ...]) -> Expression:
    return conditions[0] if len(conditions) == 1 else Call("and", conditions, pa.bool_())
