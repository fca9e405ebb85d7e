"""The logical plan: what is asked, in relational algebra, as frozen values.

    Plan = Scan | Values | Series | CommonTable | WorkingTable
         | Filter | Project | Unnest | Window | Aggregate | Sort | Limit
         | InnerJoin | OuterJoin | SemiJoin | Apply | VectorSearch | MotifSearch | Union | Recursive

Every node knows its output columns. A column number is defined by exactly one node of a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from raydb.planner.expressions.nodes import expressions_of, map_aggregate, map_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.kernels.motif.shape import Motif
    from raydb.kernels.vector.stop_rule import Score
    from raydb.planner.expressions.nodes import AggregateCall, Column, Expression, WindowCall
    from raydb.planner.stars.star import NoStar, Star


Pairs: TypeAlias = "tuple[tuple[Column, Column], ...]"


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of a stored table; each output column bears the name of the table's column it reads."""

    table: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """Rows written in the statement; every row has one constant expression a column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The integers `start`, `start + step`, ... before `stop`, as a BIGINT column."""

    column: Column
    start: int
    stop: int
    step: int


@dataclass(frozen=True, slots=True)
class CommonTable:
    """A reference to a common table expression, whose columns have these numbers here.

    References with the same `number` hold the same query; it runs once. The rule
    `inline_common_tables` puts the query in the place of a reference that is the only one, and
    where the query is not worth keeping, unless `materialized` says what to do.
    """

    number: int
    name: str
    query: Plan
    columns: tuple[Column, ...]
    materialized: bool | None = None


@dataclass(frozen=True, slots=True)
class WorkingTable:
    """In the step of the Recursive node of this number: the rows that the last step has added."""

    number: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows for which the predicate is true (neither false nor NULL)."""

    source: Plan
    predicate: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """New columns computed from the source's columns; those not listed are gone."""

    source: Plan
    items: tuple[tuple[Column, Expression], ...]


@dataclass(frozen=True, slots=True)
class Unnest:
    """The source's rows, each once for every element of its lists, which are in new columns.

    Several lists go side by side, the shorter ones filled up with NULL. A row without any element
    is left out, or stays with NULLs if `keep`. `number` counts the elements of a row from 1.
    """

    source: Plan
    items: tuple[tuple[Column, Expression], ...]
    keep: bool = False
    number: Column | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The source's rows with a column more for each window function."""

    source: Plan
    calls: tuple[tuple[Column, WindowCall], ...]


@dataclass(frozen=True, slots=True)
class InnerJoin:
    """All combinations of the sources' rows for which every condition is true."""

    sources: tuple[Plan, ...]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OuterJoin:
    """A join that keeps the rows without a partner on the left, the right or both sides."""

    kind: Literal["left", "right", "full"]
    left: Plan
    right: Plan
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """The left rows, each once, by whether they have a partner on the right.

    semi: those with one. anti: those without. mark: all of them, with the BOOLEAN column `mark`
    that is true for those with one and false for the others.
    """

    kind: Literal["semi", "anti", "mark"]
    left: Plan
    right: Plan
    conditions: tuple[Expression, ...]
    mark: Column | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """LATERAL: each left row joined with the rows that the right plan has for it.

    The right plan reads the left row through the columns of `arguments` only. A left Apply keeps
    the left rows without a partner.
    """

    kind: Literal["inner", "left"]
    left: Plan
    right: Plan
    arguments: tuple[tuple[Column, Expression], ...]
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How many rows vector_search() is to find, and how; what is None is for the index to say.

    nprobe: how many lists of an index to scan. exact: whether to compare all rows. fnr: the share
    of the k nearest rows that may be missed, by a calibration with `score`.
    """

    k: int
    nprobe: int | None
    exact: bool
    metric: str | None
    fnr: float | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """Each left row with the k right rows whose vectors are nearest to its `query`, in order.

    vector: a column of the right plan, FLOAT[n] as the query. found: the columns rank, distance,
    probes and guarantee. Left rows whose query is NULL have no partner and are left out; with
    `keep`, left rows without a partner stay, with NULLs. pairs: a left column and a right one each;
    only right rows that have a left row's values there are searched for it, NULL being a value.
    """

    left: Plan
    right: Plan
    query: Expression
    vector: Column
    options: SearchOptions
    found: tuple[Column, ...]
    keep: bool = False
    pairs: Pairs = ()


@dataclass(frozen=True, slots=True)
class MotifQuestion:
    """What motif_count() and motif_sample() ask of a temporal graph.

    names: of the motif's vertices. delta: the longest time from the first edge of an instance to
    the last, in units of the times. rel_error, confidence: when an estimate is good enough.
    sample_count: how many instances to sample, None to count them.
    """

    motif: Motif
    names: tuple[str, ...]
    delta: int
    ties: Literal["strict", "index"]
    method: Literal["auto", "exact", "timest"]
    rel_error: float
    confidence: float
    seed: int
    max_seconds: float
    sample_count: int | None = None

    @property
    def function(self) -> str:
        """The name of the table function."""
        return "motif_count" if self.sample_count is None else "motif_sample"


@dataclass(frozen=True, slots=True)
class MotifSearch:
    """Each left row with a count or a sample of a motif in the graph whose edges are right rows.

    ends: the vertices that an edge leads from and to, of one type. time: of an edge. given: the
    arguments of the question that stand open, by name, over the left rows; where one of them is
    NULL a left row is left out. columns: what the function gives; none of the right ones.

    pairs: a left column and a right one each; the edges for a left row are the right rows that have
    its values there, all of them without pairs. place: a right column that edges are in the order
    of, where they are not in that of the rows. notes: what there is to say of the arguments.
    """

    left: Plan
    right: Plan
    ends: tuple[Expression, Expression]
    time: Expression
    question: MotifQuestion
    given: tuple[tuple[str, Expression], ...]
    columns: tuple[Column, ...]
    pairs: Pairs = ()
    place: Column | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """The sets of an aggregate's keys, by position, that rows are grouped by, each on its own.

    A key that is not in a set is NULL in its groups; the INTEGER column `number` tells the set.
    """

    sets: tuple[tuple[int, ...], ...]
    number: Column


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row for each distinct tuple of keys; exactly one row where there are no keys.

    `star` is set by the rule `match_stars`: how a fused job sees this node, or why it can't.
    """

    source: Plan
    keys: tuple[tuple[Column, Expression], ...]
    aggregates: tuple[tuple[Column, AggregateCall], ...]
    star: Star | NoStar | None = None
    grouping: GroupingSets | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all sources (UNION ALL): column i is column i of each source, by position."""

    sources: tuple[Plan, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Recursive:
    """WITH RECURSIVE: the rows of `base`, and of `step` over the rows added last, until none are.

    `distinct`: rows that were there already are not added again (UNION).
    """

    number: int
    base: Plan
    step: Plan
    columns: tuple[Column, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to order by, one of the source's."""

    column: Column
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """The source's rows in order; rows that compare equal come in any order."""

    source: Plan
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` rows (all where None) after the first `offset`."""

    source: Plan
    count: int | None
    offset: int = 0


Leaf: TypeAlias = Scan | Values | Series | CommonTable | WorkingTable
Unary: TypeAlias = Filter | Project | Unnest | Window | Aggregate | Sort | Limit
Binary: TypeAlias = OuterJoin | SemiJoin | Apply | VectorSearch | MotifSearch
Plan: TypeAlias = Leaf | Unary | InnerJoin | Binary | Union | Recursive


def output_columns(plan: Plan) -> tuple[Column, ...]:
    """Return the columns of a plan's rows, in order."""
    match plan:
        case (
            Scan(columns=columns)
            | Values(columns=columns)
            | CommonTable(columns=columns)
            | WorkingTable(columns=columns)
            | Union(columns=columns)
            | Recursive(columns=columns)
        ):
            return columns
        case Series(column=column):
            return (column,)
        case Filter(source=source) | Sort(source=source) | Limit(source=source):
            return output_columns(source)
        case Project(items=items):
            return tuple(column for column, _ in items)
        case Unnest(source=source, items=items):
            elements = tuple(column for column, _ in items)
            count = () if plan.number is None else (plan.number,)
            return (*output_columns(source), *elements, *count)
        case Window(source=source, calls=calls):
            return output_columns(source) + tuple(column for column, _ in calls)
        case InnerJoin(sources=sources):
            return tuple(column for source in sources for column in output_columns(source))
        case OuterJoin(left=left, right=right) | Apply(left=left, right=right):
            return output_columns(left) + output_columns(right)
        case VectorSearch(left=left, right=right, found=found):
            return (*output_columns(left), *output_columns(right), *found)
        case MotifSearch(left=left, columns=columns):
            return (*output_columns(left), *columns)
        case SemiJoin(left=left, mark=mark):
            return output_columns(left) + (() if mark is None else (mark,))
        case Aggregate(keys=keys, aggregates=aggregates, grouping=grouping):
            number = () if grouping is None else (grouping.number,)
            return (*(c for c, _ in keys), *(c for c, _ in aggregates), *number)
        case _:
            assert_never(plan)


def sources_of(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans that a node reads from; the query of a CommonTable is none of them."""
    match plan:
        case Scan() | Values() | Series() | CommonTable() | WorkingTable():
            return ()
        case InnerJoin(sources=sources) | Union(sources=sources):
            return sources
        case OuterJoin() | SemiJoin() | Apply() | VectorSearch() | MotifSearch():
            return (plan.left, plan.right)
        case Recursive(base=base, step=step):
            return (base, step)
        case Filter() | Project() | Unnest() | Window() | Aggregate() | Sort() | Limit():
            return (plan.source,)
        case _:
            assert_never(plan)


def map_sources(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Return the plan with `change` applied to each of its sources; itself where none changes."""
    match plan:
        case Scan():
            return plan
        case Filter() | Project() | Aggregate() | Sort() | Limit() | Unnest() | Window():
            source = change(plan.source)
            return plan if source is plan.source else replace(plan, source=source)
        case InnerJoin(sources=sources) | Union(sources=sources):
            changed = tuple([change(source) for source in sources])
            return plan if all(map(is_, changed, sources)) else replace(plan, sources=changed)
        case OuterJoin() | SemiJoin() | Apply() | VectorSearch() | MotifSearch():
            left, right = change(plan.left), change(plan.right)
            if left is plan.left and right is plan.right:
                return plan
            return replace(plan, left=left, right=right)
        case Recursive(base=base, step=step):
            return replace(plan, base=change(base), step=change(step))
        case Values() | Series() | CommonTable() | WorkingTable():
            return plan
        case _:
            assert_never(plan)


def map_expressions(plan: Plan, change: Callable[[Expression], Expression]) -> Plan:
    """Return the plan with `change` applied to each expression of the node itself."""
    match plan:
        case (
            Scan()
            | Series()
            | CommonTable()
            | WorkingTable()
            | Sort()
            | Limit()
            | Union()
            | Recursive()
        ):
            return plan
        case Values(rows=rows):
            return replace(plan, rows=tuple(tuple(change(e) for e in row) for row in rows))
        case Filter(predicate=predicate):
            changed = change(predicate)
            return plan if changed is predicate else replace(plan, predicate=changed)
        case Project(items=items) | Unnest(items=items):
            changed_items = tuple([(column, change(e)) for column, e in items])
            return plan if _has_same(changed_items, items) else replace(plan, items=changed_items)
        case Window(calls=calls):
            return replace(plan, calls=tuple((c, map_window(call, change)) for c, call in calls))
        case InnerJoin(conditions=conditions) | OuterJoin(conditions=conditions):
            changed_conditions = tuple(map(change, conditions))
            if all(map(is_, changed_conditions, conditions)):
                return plan
            return replace(plan, conditions=changed_conditions)
        case SemiJoin(conditions=conditions):
            return replace(plan, conditions=tuple(map(change, conditions)))
        case VectorSearch(query=query):
            return replace(plan, query=change(query))
        case MotifSearch(ends=(source, target), time=time, given=given):
            changed_given = tuple((name, change(e)) for name, e in given)
            ends = change(source), change(target)
            return replace(plan, ends=ends, time=change(time), given=changed_given)
        case Apply(arguments=arguments, conditions=conditions):
            return replace(
                plan,
                arguments=tuple((column, change(e)) for column, e in arguments),
                conditions=tuple(change(e) for e in conditions),
            )
        case Aggregate(keys=keys, aggregates=aggregates):
            changed_keys = tuple([(column, change(e)) for column, e in keys])
            changed_calls = tuple([(c, map_aggregate(call, change)) for c, call in aggregates])
            if _has_same(changed_keys, keys) and _has_same(changed_calls, aggregates):
                return plan
            return replace(plan, keys=changed_keys, aggregates=changed_calls)
        case _:
            assert_never(plan)


def _has_same(
    changed: Sequence[tuple[Column, object]], known: Sequence[tuple[Column, object]]
) -> bool:
    """Whether a change has left every item as it was."""
    return all(new[1] is old[1] for new, old in zip(changed, known, strict=True))


def expressions_in(plan: Plan) -> Iterator[Expression]:
    """Yield each expression of the node itself."""
    match plan:
        case Scan():
            return
        case Values(rows=rows):
            yield from (expression for row in rows for expression in row)
        case Filter(predicate=predicate):
            yield predicate
        case Project(items=items) | Unnest(items=items):
            yield from (expression for _, expression in items)
        case Window(calls=calls):
            yield from (e for _, call in calls for e in expressions_of(call))
        case InnerJoin() | OuterJoin() | SemiJoin():
            yield from plan.conditions
        case VectorSearch(query=query, vector=vector):
            yield query
            yield vector
        case MotifSearch(ends=ends, time=time, given=given):
            yield from (*ends, time, *(expression for _, expression in given))
        case Apply(arguments=arguments, conditions=conditions):
            yield from (expression for _, expression in arguments)
            yield from conditions
        case Aggregate(keys=keys, aggregates=aggregates):
            yield from (expression for _, expression in keys)
            yield from (e for _, call in aggregates for e in expressions_of(call))
        case _:
            return
