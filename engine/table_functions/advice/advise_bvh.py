"""advise_bvh(): the queries of a workload as stars, a profile of their fact tables, the advice.

The search (`planner/advisor/advise.py`) works on distinct tuples of values and on how many rows
have each. Dimensions are read whole; of a fact table, and of where its keys point, a sample stands
for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.context.memory import parse_limit
from raydb.engine.fused.build_bvh import by_foreign_key, columns_behind, visible_rows
from raydb.engine.fused.denormalise import fetch
from raydb.engine.table_functions.advice.workload import WORKLOAD, plans
from raydb.errors import DataError, ProgrammingError
from raydb.kernels.bvh.bvh import narrow_measure
from raydb.kernels.bvh.encode import encode_column
from raydb.kernels.codecs.arrow_numbers import to_numbers
from raydb.planner.advisor.advise import Asked, advise, attributes_wanted, measures_wanted
from raydb.planner.advisor.bvh_model import Profile, distinct_tuples
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import attributes_of, columns_of
from raydb.planner.plan.common_tables import queries_in
from raydb.planner.plan.function_arguments import Argument
from raydb.planner.plan.nodes import Aggregate, NoStar, Star
from raydb.planner.plan.table_function import OpenedFunction
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.bvh.encode import EncodedColumn
    from raydb.planner.advisor.advise import Proposal
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.expressions.nodes import Attribute, Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import ForeignKey, Table

# Fact rows that stand for all of them: enough for one row in 100,000 to be seen.
SAMPLE_ROWS = 2**20

# Of dimensions with more rows a sample is read. An attribute of more values is not encoded: rows
# that are grouped by one have as good as a group each.
DIMENSION_ROWS = 2**18
MAX_VALUES = 2**18
MAX_GROUPS = 2**15

# As many as the Star Schema Benchmark needs for its 13 queries.
MAX_BVHS = 4

_SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "statement": pa.string(),
        "queries": pa.list_(pa.int32()),
        "rows_touched": pa.int64(),
        "rows_total": pa.int64(),
        "size_bytes": pa.int64(),
        "reason": pa.string(),
    }
)


@dataclass(frozen=True, eq=False, slots=True)
class Workload:
    """The stars of a workload's queries, and why the other queries have none, by number from 1."""

    asked: tuple[Asked, ...]
    refused: Mapping[int, str]


class AdviseBvh(OpenedFunction):
    """advise_bvh(workload [, memory [, max_bvhs]]): the BVHs to create for a workload.

    One row for each BVH to create, then one for each query that none serves. workload: the text of
    its queries, or the path of a file of them. memory: a size such as '2GB' for all BVHs, or NULL
    for no limit. Raises the error of a statement that is wrong, with its number.
    """

    name = "advise_bvh"
    arguments = (WORKLOAD, Argument("memory"), Argument("max_bvhs", default=MAX_BVHS))

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        workload, memory, max_bvhs = (call.value(each.name) for each in self.arguments)
        if memory is not None and not isinstance(memory, str):
            raise ProgrammingError(
                f"the memory of advise_bvh() is a size such as '2GB', not {memory}"
            )
        if not isinstance(max_bvhs, int) or isinstance(max_bvhs, bool) or max_bvhs < 1:
            raise ProgrammingError(f"max_bvhs is a number of BVHs from 1, not {max_bvhs}")
        limit = None if memory is None else parse_limit(memory, "memory")
        snapshot = context.snapshot
        catalog = snapshot.describe()
        read = _read(plans(workload, self.name, context), snapshot)
        # What dimensions hold is the same for all fact tables.
        encoded: dict[Attribute, EncodedColumn] = {}
        profiles = {
            table: _profile(
                *(table, [each.star for each in read.asked], snapshot, catalog, encoded)
            )
            for table in dict.fromkeys(each.star.fact for each in read.asked)
        }
        found = advise(read.asked, profiles, catalog, limit, max_bvhs)
        rows = []
        taken = set(snapshot.bvhs)
        for proposal in found.proposals:
            name = _free_name(proposal.definition.table, taken)
            taken.add(name)
            rows.append(_row(name, proposal, catalog))
        refused = {**read.refused, **found.refused}
        rows += [
            {"queries": [query], "rows_touched": None, "reason": refused[query]}
            for query in sorted(refused)
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)


def _free_name(table: str, taken: set[str]) -> str:
    number = 1
    while f"{table}_{number}" in taken:
        number += 1
    return f"{table}_{number}"


def _row(name: str, proposal: Proposal, catalog: CatalogInfo) -> dict[str, object]:
    return {
        "name": name,
        "statement": sql.bvh_text(replace(proposal.definition, name=name), catalog),
        "queries": list(proposal.queries),
        "rows_touched": proposal.rows_touched,
        "rows_total": proposal.rows_total,
        "size_bytes": proposal.size_bytes,
        "reason": proposal.reason,
    }


# -- the workload


def _read(plans: Iterable[tuple[int, Plan | str]], snapshot: Snapshot) -> Workload:
    """Return the stars of each statement of a workload over the tables of a database."""
    asked: list[Asked] = []
    refused: dict[int, str] = {}
    for number, plan in plans:
        found = plan if isinstance(plan, str) else _stars(plan, snapshot)
        if isinstance(found, str):
            refused[number] = found
        else:
            asked += (Asked(number, star) for star in found)
    return Workload(tuple(asked), refused)


def _stars(plan: Plan, snapshot: Snapshot) -> list[Star] | str:
    """Return the stars of a query, or why it has none."""
    found = [each.star for each in _aggregates(plan)]
    stars = [_without_subqueries(star) for star in found if isinstance(star, Star)]
    if any(table not in snapshot.tables for star in stars for table in star.tables):
        return "it reads what is not a table of the database"
    reasons = [star.reason for star in found if isinstance(star, NoStar)]
    return stars or next(iter(reasons), "it has no aggregate")


def _without_subqueries(star: Star) -> Star:
    """Return a star without the predicates that compare with what only subqueries tell."""
    known = tuple(predicate for predicate in star.predicates if not columns_of(predicate))
    return replace(star, predicates=known, given=())


def _aggregates(plan: Plan) -> Iterator[Aggregate]:
    """Yield the aggregates of a plan and of the queries in it, the inner ones first."""
    for part in (*queries_in(plan).values(), plan):
        yield from _own_aggregates(part)


def _own_aggregates(plan: Plan) -> Iterator[Aggregate]:
    for source in plan.sources:
        yield from _own_aggregates(source)
    if isinstance(plan, Aggregate):
        yield plan


# -- the profile of a fact table


def _profile(
    fact: str,
    stars: Sequence[Star],
    snapshot: Snapshot,
    catalog: CatalogInfo,
    known: dict[Attribute, EncodedColumn],
) -> Profile:
    """Read what the advice needs to know of a fact table's rows.

    known: columns of dimensions that were encoded before, by their attributes as the dimension
    itself has them.
    """
    tables = snapshot.tables
    rows = _sample(tables[fact])
    stars = [star for star in stars if star.fact == fact]
    names = sql.BvhNames(fact, catalog)
    filtered = {attribute for star in stars for attribute in star.scanned}
    wanted = [
        attribute
        for attribute in attributes_wanted(stars, catalog)
        if names.attribute_text(attribute) is not None
    ]
    tuples = []
    for key, together in by_foreign_key(wanted).items():
        columns, row_numbers = columns_behind(fact, key, together, tables, rows)
        weights = np.ones(len(columns[0]))
        if row_numbers is not None and len(columns[0]) > DIMENSION_ROWS:
            # Of a large dimension, the rows of some fact rows.
            some = pa.array(row_numbers[:: -(-len(row_numbers) // DIMENSION_ROWS)])
            encoded = [encode_column(column.take(some)) for column in columns]
            weights = np.ones(len(some))
        else:
            encoded = [
                _encoded(key, attribute, column, known)
                for attribute, column in zip(together, columns, strict=True)
            ]
            if row_numbers is not None:
                weights = np.bincount(row_numbers, minlength=len(weights)).astype(np.float64)
        few = [
            place
            for place, (attribute, column) in enumerate(zip(together, encoded, strict=True))
            if column.cardinality <= (MAX_VALUES if attribute in filtered else MAX_GROUPS)
        ]
        tuples += distinct_tuples([together[n] for n in few], [encoded[n] for n in few], weights)
    widths = {}
    for measure in dict.fromkeys(m for star in stars for m in measures_wanted(star)):
        if names.measure_text(measure) is not None:
            width = _width(measure, fact, tables, rows)
            if width is not None:
                widths[measure] = width
    return Profile(fact, tables[fact].live_count, tuple(tuples), widths)


def _encoded(
    key: ForeignKey | None,
    attribute: Attribute,
    values: pa.ChunkedArray | pa.Array,
    known: dict[Attribute, EncodedColumn],
) -> EncodedColumn:
    """Encode an attribute's column; one of the same dimension and as many rows is encoded once."""
    if key is None:
        return encode_column(values)
    # What is behind a key is that of its table, whatever the key; the last row may be none.
    any_key = replace(key, columns=key.references, name="", on_delete="", on_update="")
    name = attribute.name if attribute.path else key.references[0]
    own = replace(attribute, path=(any_key, *attribute.path[1:]), name=name)
    if own not in known or len(known[own].codes) != len(values):
        known[own] = encode_column(values)
    return known[own]


def _sample(table: Table) -> NDArray[np.uint32] | None:
    """Return the numbers of visible rows, one out of every so many; None for all rows."""
    rows = visible_rows(table)
    count = table.live_count
    if count <= SAMPLE_ROWS:
        return rows
    step = count / SAMPLE_ROWS
    chance = np.random.default_rng(0).random(SAMPLE_ROWS)
    places = ((np.arange(SAMPLE_ROWS) + chance) * step).astype(np.uint32)
    return places if rows is None else rows[places]


def _width(
    measure: Expression,
    fact: str,
    tables: Mapping[str, Table],
    rows: NDArray[np.uint32] | None,
) -> int | None:
    """Return the bytes that a row of a measure takes, None where it does not fit 64 bits."""
    inputs: dict[Expression, pa.Array | pa.ChunkedArray] = {
        attribute: fetch(tables, fact, attribute, rows) for attribute in attributes_of(measure)
    }
    row_count = tables[fact].live_count if rows is None else len(rows)
    try:
        held = narrow_measure(*to_numbers(evaluate(measure, inputs, row_count)))
    except DataError:
        return None
    return int(held.values.itemsize) + (held.valid is not None)
