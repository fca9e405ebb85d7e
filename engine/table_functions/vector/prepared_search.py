"""A search for one vector whose plan is known: from the vector to rows in Python.

    text, or the text of a parameter  ->  OpenSearch  ->  FilledSearch, its vector  ->  FoundRows

The loops take some 100 us, and Arrow's way to ten rows takes several times as long. So numbers of
columns that lie in memory are read where they are, and an Arrow table is made when it is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.scan import fetch_rows
from raydb.engine.session.plan_cache import PLAN_BYTES, PreparedPlan
from raydb.engine.session.python_values import python_values
from raydb.engine.session.result import LazyRows
from raydb.engine.table_functions.vector.vector_function import FOUND, VectorFunction
from raydb.engine.table_functions.vector.vector_search import search_index, show_found
from raydb.kernels.vector.exact_search import LARGEST, SHORTEST
from raydb.planner.expressions.nodes import Column
from raydb.planner.expressions.slots import Hole
from raydb.planner.expressions.types import is_zoned
from raydb.planner.expressions.vector_value import Vector
from raydb.planner.plan.nodes import Limit, Project, Scan, Search, SearchRows, Sort
from raydb.planner.plan.table_function import ONE_ROW
from raydb.planner.prepared_star import has_holes
from raydb.storage.enums import has_enums
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    # From the numbers of rows to a column's values in Python.
    _Reader = Callable[[NDArray[np.int64]], list[Any]]

    from raydb import sql
    from raydb.engine.context.statement_context import StatementContext
    from raydb.kernels.vector.exact_search import Neighbours
    from raydb.planner.expressions.nodes import Expression, Literal
    from raydb.planner.plan.nodes import PhysicalPlan, Plan
    from raydb.storage.tables.table import Table

# More rows are as fast by the general path.
_MAX_K = 1024


class OpenSearch:
    """A query that is one search, for any vector.

    first: its plan with some vector. parameter: what gives the vector, None for the text.
    """

    def __init__(
        self, first: PreparedPlan, steps: _Steps, hole: Hole, table: Table, parameter: str | None
    ) -> None:
        self.parameter = parameter
        self.names, self.types = first.names, first.types
        self.steps, self.table = steps, table
        self._first, self._hole = first, hole
        self._readers = [_reader(table, column) for column in steps.stored]

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes: columns are the table's."""
        return PLAN_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan:
        """Return the plan with another vector."""
        literal = filling.literals[self._hole.slot][self._hole.place]
        plan = _with_vector(self._first.plan, literal)
        search = FilledSearch(self, literal.value.numbers)
        return replace(self._first, plan=plan, search=search)

    def rows(self, vector: NDArray[Any], context: StatementContext) -> FoundRows | None:
        """Return the rows nearest to a vector (d); None where the general path is to say why."""
        with np.errstate(over="ignore"):
            numbers = vector.astype(np.float32, copy=False)
        largest = float(np.abs(numbers).max())
        # Written so that NaN is no small number; of one of length 0 the metric decides.
        if not SHORTEST <= largest <= LARGEST:
            return None
        plan = self.steps.search
        found, guarantees = search_index(
            plan, plan.how.index, numbers[None], self.table, None, context
        )
        show_found(plan, context, found)
        context.warnings.extend(context.usage.searches.take_warnings())
        return FoundRows(self, found, guarantees[0])

    def read(self, rows: NDArray[np.int64]) -> list[list[Any]]:
        """Return the values of the stored columns in some rows."""
        return [reader(rows) for reader in self._readers]


@dataclass(frozen=True, eq=False, slots=True)
class FilledSearch:
    """A query that is one search, with its vector (d)."""

    search: OpenSearch
    vector: NDArray[np.float32]

    def rows(self, context: StatementContext) -> FoundRows | None:
        """Return the rows nearest to it; see `OpenSearch.rows`."""
        return self.search.rows(self.vector, context)


class FoundRows(LazyRows):
    """The rows of one search."""

    def __init__(self, search: OpenSearch, found: Neighbours, guarantee: str) -> None:
        steps = search.steps
        count = int(np.count_nonzero(found.rows[0] >= 0))
        last = count if steps.count is None else min(count, steps.offset + steps.count)
        self._part = slice(min(steps.offset, last), last)
        self._search, self._found, self._guarantee = search, found, guarantee

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return self._part.stop - self._part.start

    def python_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        stored = iter(self._search.read(self._found.rows[0, self._part]))
        columns = [
            next(stored) if name is None else self._made(name).tolist()
            for name in self._search.steps.made
        ]
        return list(zip(*columns, strict=True))

    def table(self) -> pa.Table:
        """Return the rows as Arrow has them."""
        steps = self._search.steps
        numbers = self._found.rows[0, self._part]
        distinct, places = np.unique(numbers, return_inverse=True)
        rows = fetch_rows(self._search.table, steps.stored, distinct).take(pa.array(places))
        stored = iter([rows.columns[column] for column in steps.stored])
        columns = [
            next(stored) if name is None else pa.array(self._made(name), kind)
            for name, kind in zip(steps.made, self._search.types, strict=True)
        ]
        return pa.table(columns, [f"c{place}" for place in range(len(columns))])

    def _made(self, name: str) -> NDArray[Any]:
        """Return what the search itself gives: a column of `vector_search`."""
        match name:
            case "rank":
                return np.arange(self._part.start + 1, self._part.stop + 1)
            case "distance":
                return self._found.distances[0, self._part]
            case "probes":
                return np.full(self.row_count, self._found.probes[0])
            case _:
                return np.full(self.row_count, self._guarantee, object)


@dataclass(frozen=True, eq=False, slots=True)
class _Steps:
    """What becomes of the columns of a search.

    made: of each column its name in `vector_search`, None for one of the table, which are `stored`.
    """

    search: SearchRows
    made: tuple[str | None, ...]
    stored: tuple[Column, ...]
    count: int | None
    offset: int


def prepare_search(
    filled: sql.Filled, filling: sql.Filling, first: PreparedPlan, tables: Mapping[str, Table]
) -> OpenSearch | None:
    """Prepare a query that is one search of an index for one vector; None for any other.

    first: its plan with the vector of `filling`.
    """
    hole = _only_hole(filling.open_plan.plan)
    steps = _steps_of(first.plan)
    if hole is None or steps is None:
        return None
    if any(is_zoned(kind) or has_enums(kind) for kind in first.types):
        return None
    if not isinstance(filling.literals[hole.slot][hole.place].value, Vector):
        return None
    assert isinstance(steps.search.right, Scan)
    table = tables[steps.search.right.table]
    if steps.search.options.k > table.live_count:
        return None
    return OpenSearch(first, steps, hole, table, filled.template.parameter_of(hole))


def _only_hole(plan: Plan) -> Hole | None:
    """Return the vector of the search below nodes without holes that have one source."""
    while not isinstance(plan, Search):
        if len(plan.sources) != 1 or has_holes(plan.expressions):
            return None
        (plan,) = plan.sources
    given = [expression for _, expression in plan.given]
    if len(given) == 1 and isinstance(given[0], Hole) and not plan.right.expressions:
        return given[0]
    return None


def _steps_of(plan: PhysicalPlan) -> _Steps | None:
    """Return what becomes of the columns of a search of an index; None where it is not that."""
    columns, nodes = plan.columns, []
    while isinstance(plan, Project | Sort | Limit):
        nodes.append(plan)
        plan = plan.source
    if not isinstance(plan, SearchRows) or not _is_plain(plan):
        return None
    rank, distance, _, _ = plan.found
    held: dict[Expression, Expression] = {column: column for column in plan.columns}
    count, offset = None, 0
    for node in reversed(nodes):
        match node:
            case Project(items=items):
                held = {column: held.get(value, value) for column, value in items}
            case Limit() if count is None and not offset:
                count, offset = node.count, node.offset
            case Sort(keys=(key, *others)) if not key.descending:
                # Rows come by rank, and so by distance.
                by = held[key.column]
                if by != rank and (by != distance or others):
                    return None
            case _:
                return None
    made: dict[Expression, str]
    made = {column: name for column, (name, _) in zip(plan.found, FOUND, strict=True)}
    taken = [held[column] for column in columns]
    of_table = frozenset(plan.right.columns)
    stored = tuple(each for each in taken if isinstance(each, Column) and each in of_table)
    if len(stored) + sum(value in made for value in taken) < len(taken):
        return None
    return _Steps(plan, tuple(made.get(value) for value in taken), stored, count, offset)


def _is_plain(plan: SearchRows) -> bool:
    """Whether a search is one of an index for one vector, among all rows of a table."""
    job = plan.how
    return (
        isinstance(plan.function, VectorFunction)
        and plan.left == ONE_ROW
        and isinstance(plan.right, Scan)
        and plan.selection is None
        and not (plan.pairs or plan.keep or job.exact or job.note)
        and job.index is not None
        and plan.options.k <= _MAX_K
    )


def _reader(table: Table, column: Column) -> _Reader:
    """Return what gives a column's values in some rows."""
    name = column.name
    is_plain = pt.is_integer(column.type) or pt.is_floating(column.type)
    if name != ROW_NUMBER and is_plain and table.rows.is_decoded(name):
        stored = table.rows.column(name)
        if not stored.null_count:
            parts = [chunk.to_numpy() for chunk in stored.chunks]
            return partial(_numbers, parts, np.cumsum([0, *map(len, parts)]))
    return partial(_values, table, column)


def _numbers(
    parts: Sequence[NDArray[Any]], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> list[Any]:
    """Return the numbers of some rows of a column that lies in memory, in some parts."""
    if len(parts) == 1:
        found: list[Any] = parts[0][rows].tolist()
        return found
    places = np.searchsorted(starts, rows, "right") - 1
    within = rows - starts[places]
    return [parts[p][w].item() for p, w in zip(places.tolist(), within.tolist(), strict=True)]


def _values(table: Table, column: Column, rows: NDArray[np.int64]) -> list[Any]:
    """Return the values of some rows, which are read in their order."""
    order = np.argsort(rows)
    read = joined(fetch_rows(table, [column], rows[order]).columns[column])
    values = python_values(read)
    found: list[Any] = [None] * len(rows)
    for place, value in zip(order.tolist(), values, strict=True):
        found[place] = value
    return found


def _with_vector(plan: PhysicalPlan, vector: Literal) -> PhysicalPlan:
    """Return a plan of one search for another vector."""
    if isinstance(plan, SearchRows):
        ((name, _),) = plan.given
        return replace(plan, given=((name, vector),))
    return plan.map_sources(lambda source: _with_vector(source, vector))
