"""The plan cache: statements that ran before start further on the next time.

    the same text and parameters     the physical plan, ready to run; of one that ran long ago, and
                                     once only, it is made again and then kept
    the same but for constants       from the second text on, or with parameters, the template: its
                                     rules have run, literals are filled in, and how the query runs
                                     is chosen; or the query that was prepared of it, whose star is
                                     filled
    the same text, writing rows      the parsed statement

Plans, templates and the catalog are right for one snapshot; a new one empties the cache.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import itertools
from collections import OrderedDict
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from raydb import sql
from raydb.engine.fused.delta import FetchedRows
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.fused.post_aggregate import PostAggregate
    from raydb.engine.fused.prepared_query import AnyPrepared
    from raydb.engine.fused.row_fast_path import RowFastPath
    from raydb.engine.fused.table_job import TableJob
    from raydb.engine.table_functions.vector.prepared_search import FilledSearch, OpenSearch
    from raydb.kernels.backends.backend import PreparedJob
    from raydb.planner import PlannerOptions
    from raydb.planner.catalog import CatalogInfo, Relations
    from raydb.planner.plan.nodes import PhysicalPlan
    from raydb.planner.stars.deferred import DeferredScan
    from raydb.planner.stars.delta import DeltaScan
    from raydb.planner.stars.table_scan import FusedTableScan
    from raydb.sql import ast
    from raydb.storage.tables.table import Table

    Parameters = Sequence[object] | Mapping[str, object]

# A dashboard has some dozens of texts, whose constants change.
MAX_PLANS = 1024
MAX_SHAPES = 256
MAX_STATEMENTS = 256

# Plans of texts that have run once. Few of them run again, and each is up to some hundred objects
# that Python's garbage collector walks over.
MAX_NEW_PLANS = 64

# Shapes that were there once, and texts whose plans went before they came again.
MAX_KNOWN = 4096

# Of one shape: literals of other types, and constants that the plan depends on.
MAX_TEMPLATES = 8

# Parameters beyond these are hardly the same again.
MAX_PARAMETERS = 32
_PARAMETERS = (tuple, list, dict)
MAX_CHARACTERS = 256

# A plan with holes is prepared again where constants have asked for another plan.
MAX_PREPARED = 4

# A longer text is a list of values.
LONGEST_TEXT = 20_000

# A plan with a fused job takes up to 24 bytes for each cell that it touches.
MAX_BYTES = 2**26
PLAN_BYTES = 2**13


@dataclass(frozen=True, eq=False, slots=True)
class PreparedPlan:
    """A physical plan with its output names, what its fused jobs made once, and its open files.

    post_aggregate: how its rows come from one fused job, if that is so. row_fast_path: how they
    come straight from it, once it has run twice, which has_repeated says, or was filled.
    search: how they come straight from a search.
    scans: scans of whole tables, None for those that look rows up. deltas: scans of rows that BVHs
    lack, or such rows where they are looked up. deferred: the plans of stars whose subqueries have
    run.
    """

    plan: PhysicalPlan
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    post_aggregate: PostAggregate | None
    jobs: dict[FusedScanAggregate, PreparedJob] = field(default_factory=dict)
    scans: dict[FusedTableScan, TableJob | None] = field(default_factory=dict)
    deltas: dict[DeltaScan, TableJob | FetchedRows | None] = field(default_factory=dict)
    deferred: dict[DeferredScan, PhysicalPlan] = field(default_factory=dict)
    files: Mapping[str, Table] = field(default_factory=dict)
    reads_clock: bool = False
    row_fast_path: RowFastPath | None = None
    search: FilledSearch | None = None
    has_repeated: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether it is right the next time: a file may be another one, and time goes by."""
        return not (self.files or self.reads_clock)

    @property
    def size_bytes(self) -> int:
        """About the bytes that are there for the plan alone, after it has run."""
        size = PLAN_BYTES + (0 if self.row_fast_path is None else self.row_fast_path.size_bytes)
        for plan, prepared in self.jobs.items():
            size += _job_bytes(plan) + _array_bytes(prepared)
        if not (self.scans or self.deltas):
            return size
        for job in (*self.scans.values(), *self.deltas.values()):
            if job is None:
                continue
            if isinstance(job, FetchedRows):
                size += sum([column.nbytes for column in job.attributes.values()])
                continue
            size += sum(_array_bytes(each) for each in (job.plan.job, *job.plan.job.maps, job.scan))
            size += sum(table.nbytes for table in job.scan.tables) if job.scan else 0
        return size


def _job_bytes(plan: PhysicalPlan) -> int:
    """Return the bytes of the cells and groups that the jobs in a plan are for."""
    size = sum([_job_bytes(source) for source in plan.sources])
    if isinstance(plan, FusedScanAggregate):
        size += plan.job.intervals.nbytes + sum([each.groups.nbytes for each in plan.job.maps])
    return size


def _array_bytes(value: Any) -> int:
    """Return the bytes of the arrays that are fields of a value."""
    kind: Any = type(value)
    arrays = [getattr(value, name) for name in _field_names(kind)]
    return sum([array.nbytes for array in arrays if isinstance(array, np.ndarray)])


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()


@dataclass(slots=True)
class Preparing:
    """What is kept of a plan with holes.

    first: some literals and the plan with these, until the next ones come; a query is prepared of
    it then. query: the one that was prepared last, if any. count: how often. size_bytes: of both.
    """

    first: tuple[sql.Filling, PreparedPlan] | None = None
    query: AnyPrepared | OpenSearch | None = None
    count: int = 0
    size_bytes: int = 0


class PlanCache:
    """The plans, templates and statements of a session, the least recently used ones dropped."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, tuple[PreparedPlan, int]] = OrderedDict()
        self._new_plans: OrderedDict[Hashable, None] = OrderedDict()
        self._dropped_plans: OrderedDict[int, None] = OrderedDict()  # by the hashes of their keys
        self._shapes: OrderedDict[int, None] = OrderedDict()  # by their hashes
        self._templates: OrderedDict[str, list[sql.Template]] = OrderedDict()
        self._queries: WeakKeyDictionary[sql.OpenPlan, dict[PlannerOptions, Preparing]]
        self._queries = WeakKeyDictionary()
        self._query_bytes = 0
        self._searches: OrderedDict[Hashable, OpenSearch] = OrderedDict()
        self._statements: OrderedDict[str, ast.Statement] = OrderedDict()
        self._size_bytes = 0
        self._snapshot: Snapshot | None = None
        self._catalog: CatalogInfo | None = None

    def expect(self, snapshot: Snapshot) -> bool:
        """Forget what is of another snapshot; say whether this one is new."""
        is_new = self._snapshot is not snapshot
        if is_new:
            self._plans.clear()
            self._new_plans.clear()
            self._dropped_plans.clear()
            self._shapes.clear()
            self._templates.clear()
            self._forget_queries()
            self._searches.clear()
            self._size_bytes = 0
            self._catalog = None
            # Last: after an interrupt before it, plans of the earlier one are dropped next time.
            self._snapshot = snapshot
        return is_new

    def catalog(self, snapshot: Snapshot) -> CatalogInfo:
        """Return what the binder and the planner see; that of the expected snapshot is kept."""
        if snapshot is not self._snapshot:
            return snapshot.describe()
        if self._catalog is None:
            self._catalog = snapshot.describe()
        return self._catalog

    def relations(self, snapshot: Snapshot) -> Relations:
        """Return which table or view a name means; that of the expected snapshot is kept."""
        if snapshot is self._snapshot and self._catalog is not None:
            return self._catalog.relations
        return snapshot.relations

    def familiarity(self, key: Hashable | None, text: str, snapshot: Snapshot) -> str:
        """Say what there is of a text: 'repeated', 'new constants' or 'new'; nothing changes."""
        if snapshot is not self._snapshot:
            return "new"
        if key in self._plans:
            return "repeated"
        shape = sql.shape_of(text)
        known = () if shape is None else self._templates.get(shape.key, ())
        fits = any(each.fill(shape.constants, ()) is not None for each in known if shape)
        return "new constants" if fits else "new"

    def plan(self, key: Hashable | None) -> PreparedPlan | None:
        """Return the plan of a key, whose text has then run twice."""
        found = self._plans.get(key)
        if found is None:
            return None
        self._plans.move_to_end(key)
        self._new_plans.pop(key, None)
        return found[0]

    def keep_plan(self, key: Hashable, prepared: PreparedPlan) -> None:
        """Keep a plan that has run; of texts that have run once the last ones only."""
        size = prepared.size_bytes
        if not prepared.is_repeatable or size > MAX_BYTES:
            return
        known = self._plans.pop(key, None)
        if known is None and self._dropped_plans.pop(hash(key), self) is self:
            self._new_plans[key] = None
        self._plans[key] = prepared, size
        self._size_bytes += size - (0 if known is None else known[1])
        if len(self._new_plans) > MAX_NEW_PLANS:
            oldest, _ = self._new_plans.popitem(last=False)
            self._drop_plan(oldest)
            _note(self._dropped_plans, hash(oldest))
        while len(self._plans) > MAX_PLANS or self._size_bytes > MAX_BYTES:
            first = next(iter(self._plans))
            self._new_plans.pop(first, None)
            self._drop_plan(first)

    def _drop_plan(self, key: Hashable) -> None:
        _, size = self._plans.pop(key)
        self._size_bytes -= size

    def filled(self, shape: sql.Shape | None, parameters: Parameters) -> sql.Filled | None:
        """Return a template of a text's shape, filled in."""
        if shape is None:
            return None
        for template in self._templates.get(shape.key, ()):
            filled = template.fill(shape.constants, parameters)
            if filled is not None:
                self._templates.move_to_end(shape.key)
                return filled
        return None

    def knows(self, shape: sql.Shape) -> bool:
        """Tell whether a text of a shape was there before: the first one makes no template."""
        key = hash(shape.key)
        is_known = key in self._shapes
        _note(self._shapes, key)
        return is_known

    def keep_template(self, shape: sql.Shape, template: sql.Template) -> None:
        """Keep a template; of a shape that has many already, for a while."""
        templates = self._templates.setdefault(shape.key, [])
        templates.insert(0, template)
        del templates[MAX_TEMPLATES:]
        if len(self._templates) > MAX_SHAPES:
            self._templates.popitem(last=False)

    def preparing(self, filling: sql.Filling, options: PlannerOptions) -> Preparing:
        """Return what was prepared of a plan with holes, to be changed."""
        return self._queries.setdefault(filling.open_plan, {}).setdefault(options, Preparing())

    def keep_first(self, kept: Preparing, filling: sql.Filling, prepared: PreparedPlan) -> None:
        """Keep a plan with some literals, before it runs, to prepare a query of it."""
        size = kept.size_bytes + PLAN_BYTES + _job_bytes(prepared.plan)
        if self._make_room(kept, size):
            kept.first = filling, replace(prepared, jobs={}, scans={}, deltas={}, deferred={})

    def keep_query(self, kept: Preparing, query: AnyPrepared | OpenSearch | None) -> None:
        """Keep what was prepared of the first plan; others go where all are too much."""
        count = kept.count + 1
        kept.first = kept.query = None
        if self._make_room(kept, PLAN_BYTES if query is None else query.size_bytes):
            kept.query = query
        kept.count = count

    def _make_room(self, kept: Preparing, size: int) -> bool:
        """Say whether there is room for so many bytes of a plan with holes; others may go."""
        if self._query_bytes + size - kept.size_bytes > MAX_BYTES:
            self._forget_queries()
        fits = size <= MAX_BYTES
        self._query_bytes += (size if fits else 0) - kept.size_bytes
        kept.size_bytes = size if fits else 0
        return fits

    def _forget_queries(self) -> None:
        for kept in self._queries.values():
            for each in kept.values():
                each.first, each.query, each.count, each.size_bytes = None, None, 0, 0
        self._query_bytes = 0

    def search(self, key: Hashable) -> OpenSearch | None:
        """Return the search of a text with any vector."""
        return self._searches.get(key)

    def keep_search(self, key: Hashable, search: OpenSearch) -> None:
        """Keep the search of a text with any vector."""
        self._searches[key] = search
        if len(self._searches) > MAX_SHAPES:
            self._searches.popitem(last=False)

    def statement(self, text: str) -> ast.Statement | None:
        """Return the statement of a text."""
        return self._statements.get(text)

    def keep_statement(self, text: str, statement: ast.Statement) -> None:
        """Keep the one statement of a text."""
        if len(text) > LONGEST_TEXT:
            return
        self._statements[text] = statement
        if len(self._statements) > MAX_STATEMENTS:
            self._statements.popitem(last=False)


def _note(known: OrderedDict[int, None], key: int) -> None:
    """Note a hash; the one that was noted first goes where there are too many."""
    known[key] = None
    if len(known) > MAX_KNOWN:
        known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class VectorQuestion:
    """A text with a vector in it or among its parameters. key: both but for the vector's numbers.

    origin: which parameter it is, by its name or its number from 1, or which constant, from 0.
    vector: its numbers (d), or the constant as it is written.
    """

    key: Hashable
    origin: str | int
    vector: NDArray[Any] | str


def vector_question(
    text: str, parameters: Parameters, options: PlannerOptions
) -> VectorQuestion | None:
    """Return what a search is kept by; None where not one parameter alone is a vector."""
    if not isinstance(parameters, tuple | list | dict) or len(parameters) > MAX_PARAMETERS:
        return None
    named: dict[Any, object]
    named = parameters if isinstance(parameters, dict) else dict(enumerate(parameters, 1))
    vectors = [name for name, value in named.items() if type(value) in (np.ndarray, list, tuple)]
    if len(vectors) != 1:
        return None
    (name,) = vectors
    vector = _as_vector(named[name])
    key = plan_key(text, {n: v for n, v in named.items() if n != name}, options)
    if vector is None or key is None:
        return None
    return VectorQuestion((key, name, vector.dtype.str, len(vector)), str(name), vector)


def text_question(shape: sql.Shape, options: PlannerOptions) -> VectorQuestion | None:
    """Return what a search is kept by; None where not one constant alone may be a vector."""
    constants = shape.constants
    places = [place for place, text in enumerate(constants) if text.startswith(("[", "'["))]
    if len(places) != 1:
        return None
    (place,) = places
    others = constants[:place], constants[place + 1 :]
    return VectorQuestion((shape.key, others, options), place, constants[place])


def _as_vector(value: Any) -> NDArray[Any] | None:
    """Return numbers of float32 or float64 as an array of one dimension, None for what is none."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 1 and value.dtype in _FLOATS and len(value) else None
    return np.array(value, np.float64) if value and set(map(type, value)) == {float} else None


_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def plan_key(text: str, parameters: Parameters, options: PlannerOptions) -> Hashable | None:
    """Return what a plan is kept by; None where the parameters are more than a few short values."""
    if not isinstance(parameters, _PARAMETERS) or len(parameters) > MAX_PARAMETERS:
        return None
    options_key = _number_of(options)
    if not parameters:
        return text, options_key
    names = parameters if isinstance(parameters, dict) else range(len(parameters))
    values = parameters.values() if isinstance(parameters, dict) else parameters
    if not all(type(value) in _SHORT or _is_short_text(value) for value in values):
        return None
    # 1, 1.0 and True are equal, 0.0 and -0.0 too, but they are not the same question.
    return text, options_key, tuple(names), tuple((type(value), repr(value)) for value in values)


@functools.lru_cache(MAX_PLANS)
def _number_of(options: PlannerOptions) -> int:  # noqa: ARG001
    """Return a number of options, whose own hash takes longer than that of a text."""
    return next(_numbers)


_numbers = itertools.count()


def _is_short_text(value: object) -> bool:
    return type(value) is str and len(value) <= MAX_CHARACTERS


_SHORT = frozenset({int, float, bool, type(None), dt.date, dt.datetime, decimal.Decimal})
