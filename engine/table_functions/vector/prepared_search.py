"""A search for one vector whose plan is known: from the vector to rows in Python.

    text, or the text of a parameter  ->  OpenSearch  ->  FilledSearch, its vector  ->  FoundRows

The loops take some 100 us, and Arrow's way to ten rows takes several times as long. So numbers of
columns that lie in memory are read where they are, and an Arrow table is made when it is asked for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.relation import joined
from raydb.engine.operators.scan.scan import fetch_rows
from raydb.engine.plans.prepared_plan import PLAN_BYTES, PreparedPlan
from raydb.engine.session.python_values import python_values
from raydb.engine.session.result import LazyRows
from raydb.engine.table_functions.vector.vector_function import FOUND, VectorFunction
from raydb.engine.table_functions.vector.vector_search import search_index, show_found
from raydb.kernels.vector.exact_search import LARGEST, SHORTEST
from raydb.planner.expressions.functions.vectors import MEASURES
from raydb.planner.expressions.nodes import Call, Column, leaves
from raydb.planner.expressions.slots import Hole
from raydb.planner.expressions.types import is_zoned
from raydb.planner.expressions.vector_value import Vector
from raydb.planner.plan.nodes import Limit, Project, Scan, Search, SearchRows, Sort
from raydb.planner.plan.table_function import ONE_ROW
from raydb.storage.enums import has_enums
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

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

    first: its plan with some vector. template: that of its text.
    origin: the parameter or the constant that is the vector, None where it is more than that.
    """

    def __init__(
        self,
        first: PreparedPlan,
        steps: _Steps,
        hole: Hole,
        table: Table,
        template: sql.Template,
    ) -> None:
        self.origin = template.origin_of(hole)
        self._template = template
        self.names, self.types = first.names, first.types
        self.steps, self.table = steps, table
        self._first, self._hole = first, hole
        self._readers = [_reader(table, column) for column in steps.stored]
        (searched,) = steps.search.read
        assert isinstance(searched, Column)
        self._vectors = _vector_reader(table, searched)

    @property
    def size_bytes(self) -> int:
        """About the bytes that it takes: columns are the table's."""
        return PLAN_BYTES

    def plan(self, filling: sql.Filling) -> PreparedPlan | None:
        """Return the plan with another vector; None for an array with NULL in it."""
        literal = filling.literals[self._hole.slot][self._hole.place]
        if not isinstance(literal.value, Vector):
            return None
        plan = _with_vector(self._first.plan, literal)
        search = FilledSearch(self, literal.value.numbers)
        return replace(self._first, plan=plan, search=search)

    def asked(self, vector: NDArray[Any] | str, context: StatementContext) -> FoundRows | None:
        """Return the rows nearest to what its origin is now; None as in `rows`."""
        if isinstance(vector, str):
            assert isinstance(self.origin, int)
            rounded = self._template.rounded(self.origin, vector)
            return None if rounded is None else self.rows(rounded.numbers, context)
        return self.rows(vector, context)

    def rows(self, vector: NDArray[Any], context: StatementContext) -> FoundRows | None:
        """Return the rows nearest to a vector (d); None where the general path is to say why."""
        numbers = vector
        if vector.dtype != np.float32:
            with np.errstate(over="ignore"):
                numbers = vector.astype(np.float32)
        largest = float(np.abs(numbers).max())
        # Written so that NaN is no small number; of one of length 0 the metric decides.
        if not SHORTEST <= largest <= LARGEST:
            return None
        plan = self.steps.search
        found, guarantees = search_index(
            plan, plan.how.index, numbers[None], self.table, None, context, plan.options.k
        )
        if plan.options.is_order and found.rows[0, -1] < 0:
            return None
        show_found(plan, context, found)
        context.warnings.extend(context.usage.searches.take_warnings())
        return self._found(numbers, found, guarantees[0])

    def _found(self, vector: NDArray[np.float32], found: Neighbours, guarantee: str) -> FoundRows:
        """Return what a search has found, in order and as far as the query asks for it."""
        steps, rows = self.steps, found.rows[0]
        count = len(rows) if rows[-1] >= 0 else int(np.count_nonzero(rows >= 0))
        last = count if steps.count is None else min(count, steps.offset + steps.count)
        part = slice(min(steps.offset, last), last)
        made: dict[str, NDArray[Any]] = {}
        if steps.measure is not None:
            pairs = self._vectors(rows).astype(np.float64), vector.astype(np.float64)[None]
            values = MEASURES[steps.measure](pairs[0], np.broadcast_to(pairs[1], pairs[0].shape))
            order = np.argsort(-values if steps.descending else values, kind="stable")[part]
            return FoundRows(self, rows[order], {"measure": values[order]})
        for name in set(steps.made) - {None}:
            match name:
                case "rank":
                    made["rank"] = np.arange(part.start + 1, last + 1)
                case "distance":
                    made["distance"] = found.distances[0, part]
                case "probes":
                    made["probes"] = np.full(last - part.start, found.probes[0])
                case _:
                    made["guarantee"] = np.full(last - part.start, guarantee, object)
        return FoundRows(self, rows[part], made)

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
    """The rows of one search. rows: their numbers. made: what the search gives of each, by name."""

    def __init__(
        self, search: OpenSearch, rows: NDArray[np.int64], made: Mapping[str, NDArray[Any]]
    ) -> None:
        self._search, self._rows, self._made = search, rows, made

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def python_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        stored = iter(self._search.read(self._rows))
        columns = [
            next(stored) if name is None else self._made[name].tolist()
            for name in self._search.steps.made
        ]
        return list(zip(*columns, strict=True))

    def table(self) -> pa.Table:
        """Return the rows as Arrow has them."""
        steps = self._search.steps
        distinct, places = np.unique(self._rows, return_inverse=True)
        rows = fetch_rows(self._search.table, steps.stored, distinct).take(pa.array(places))
        stored = iter([rows.columns[column] for column in steps.stored])
        columns = [
            next(stored) if name is None else pa.array(self._made[name], kind)
            for name, kind in zip(steps.made, self._search.types, strict=True)
        ]
        return pa.table(columns, [f"c{place}" for place in range(len(columns))])


@dataclass(frozen=True, eq=False, slots=True)
class _Steps:
    """What becomes of the columns of a search.

    made: of each column its name in `vector_search`, `measure` for what the rows are ordered by,
    None for one of the table, which are `stored`.
    measure: of ORDER BY, by its function; None for the rank. descending: whether the greatest are
    first.
    """

    search: SearchRows
    made: tuple[str | None, ...]
    stored: tuple[Column, ...]
    count: int | None
    offset: int
    measure: str | None
    descending: bool


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
    return OpenSearch(first, steps, hole, table, filled.template)


def _only_hole(plan: Plan) -> Hole | None:
    """Return the vector of a search or of distances, if it is all that is open in a plan.

    The plan: nodes of one source each, above a table or above a search in what has nothing open.
    """
    holes: set[Hole] = set()
    while True:
        is_search = isinstance(plan, Search)
        if any(_computes_with_hole(each, as_it_is=is_search) for each in plan.expressions):
            return None
        holes.update(each for each in _leaves_of(plan) if isinstance(each, Hole))
        if len(plan.sources) != 1:
            break
        (plan,) = plan.sources
    is_plain = isinstance(plan, Scan) or (is_search and not any(map(_leaves_of, plan.sources)))
    return holes.pop() if is_plain and len(holes) == 1 else None


def _computes_with_hole(expression: Expression, *, as_it_is: bool) -> bool:
    """Whether an expression computes something of what is open that is no distance.

    as_it_is: whether it may be what is open itself.
    """
    if isinstance(expression, Hole):
        return not as_it_is
    if isinstance(expression, Call) and expression.function in MEASURES:
        return any(_computes_with_hole(each, as_it_is=True) for each in expression.arguments)
    return any(isinstance(leaf, Hole) for leaf in leaves(expression))


def _leaves_of(plan: Plan) -> list[Expression]:
    return [leaf for each in plan.expressions for leaf in leaves(each)]


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
    measure: Call | None = None
    descending = False
    for node in reversed(nodes):
        match node:
            case Project(items=items):
                held = {column: held.get(value, value) for column, value in items}
            case Limit() if count is None and not offset:
                count, offset = node.count, node.offset
            case Sort(keys=(key,)) if plan.options.is_order and measure is None:
                value, descending = held[key.column], key.descending
                if not isinstance(value, Call) or count or not _is_measure(value, plan):
                    return None
                measure = value
            case Sort(keys=(key, *others)) if not (key.descending or plan.options.is_order):
                # Rows come by rank, and so by distance.
                by = held[key.column]
                if by != rank and (by != distance or others):
                    return None
            case _:
                return None
    made: dict[Expression, str]
    made = {column: name for column, (name, _) in zip(plan.found, FOUND, strict=True)}
    if plan.options.is_order:
        if measure is None:
            return None
        made = {measure: "measure"}
    taken = [held[column] for column in columns]
    of_table = frozenset(plan.right.columns)
    stored = tuple(each for each in taken if isinstance(each, Column) and each in of_table)
    if len(stored) + sum(value in made for value in taken) < len(taken):
        return None
    names = tuple(made.get(value) for value in taken)
    function = None if measure is None else measure.function
    return _Steps(plan, names, stored, count, offset, function, descending)


def _is_measure(value: Call, plan: SearchRows) -> bool:
    """Whether a value is the distance of the rows of a search from its vector."""
    ((_, vector),) = plan.given
    (searched,) = plan.read
    return (
        value.function in MEASURES
        and searched in value.arguments
        and any(each is vector for each in value.arguments)
    )


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
        # What else there is to an answer is for the general path.
        and not (plan.options.offset or plan.options.is_every or plan.options.most is not None)
        and len(plan.given) == 1
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


def _vector_reader(table: Table, column: Column) -> Callable[[NDArray[np.int64]], NDArray[Any]]:
    """Return what gives the vectors (n, d) of a column in some rows, none of which is NULL."""
    width = column.type.list_size
    if table.rows.is_decoded(column.name):
        chunks = table.rows.column(column.name).chunks
        if len(chunks) == 1:
            (chunk,) = chunks
            values = chunk.values.slice(chunk.offset * width, len(chunk) * width)
            whole: NDArray[Any] = values.to_numpy(zero_copy_only=False).reshape(-1, width)
            return lambda rows: np.asarray(whole[rows])
    return partial(_vectors, table, column)


def _vectors(table: Table, column: Column, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the vectors of some rows, which are read in their order."""
    order = np.argsort(rows)
    read = joined(fetch_rows(table, [column], rows[order]).columns[column])
    found = np.empty((len(rows), column.type.list_size), np.float32)
    found[order] = read.flatten().to_numpy(zero_copy_only=False).reshape(found.shape)
    return found


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
