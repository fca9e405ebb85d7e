"""Runs a query for all outer rows at once: its domain, the distinct outer values, joins its tables.

    for each o:  {.. i.a < o.a ..}   ->   D = SELECT DISTINCT a FROM o
                                          {.. i.a < D.a ..} for each row of D, with D's columns

Whatever a query does, it does for each row of the domain apart: it groups by it, numbers rows by
it, and joins on it. Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.decorrelate.dependent import Independent, PlanBuilder, depends
from raydb.planner.decorrelate.pull_up import limit_rows, row_number_call, value_or_zero
from raydb.planner.expressions.nodes import (
    Call,
    Column,
    Expression,
    Literal,
    map_call,
    substitute,
)
from raydb.planner.plan.common_tables import free_columns, reads_working_table, renumbered
from raydb.planner.plan.nodes import (
    Aggregate,
    AsofJoin,
    CommonTable,
    Filter,
    InnerJoin,
    KeyedRecursive,
    Limit,
    OuterJoin,
    Plan,
    Project,
    Recursive,
    Search,
    SemiJoin,
    Sort,
    Union,
    Unnest,
    Values,
    Window,
    WorkingTable,
)
from raydb.planner.plan.nulls import is_never_null
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.planner.expressions.nodes import WindowCall

Names = dict[Column, Column]

# What there is without FROM.
_ONE_ROW = Values((), ((),))


@dataclass(frozen=True, slots=True)
class _Pushed:
    """A query for the whole domain; `names` are the columns that hold the outer row's values."""

    plan: Plan
    names: Names

    def passed_on(self) -> tuple[tuple[Column, Expression], ...]:
        """Return the items of a projection that keep the outer row's values."""
        return tuple((column, column) for column in self.names.values())


def share(plan: Plan, builder: PlanBuilder) -> tuple[Plan, Plan, dict[Column, Column]]:
    """Return a plan for use at two places, and the columns of the second by those of the plan.

    The plan runs once, unless it has other rows at each step of a recursion or for each outer row.
    """
    columns = plan.columns
    if isinstance(plan, CommonTable):
        fresh = tuple(builder.new_column(c.name, c.type) for c in columns)
        return plan, replace(plan, columns=fresh), dict(zip(columns, fresh, strict=True))
    if _has_working_table(plan) or free_columns(plan):
        copy = renumbered(plan, builder.numbers)
        return plan, copy, dict(zip(columns, copy.columns, strict=True))
    # The reference keeps the columns that are read above, and the query gets others.
    query = renumbered(plan, builder.numbers)
    # A reference knows the columns of its query by their places, which a projection keeps.
    query = Project(query, tuple((column, column) for column in query.columns))
    first = CommonTable(next(builder.numbers), "shared rows", query, columns)
    return share(first, builder)


class _Domain:
    """The distinct values that a query reads of its outer rows, as often as they are needed.

    The columns of `plan` stand for the outer row; those in `never_null` have no NULL.
    """

    def __init__(self, plan: Plan, never_null: frozenset[Column], builder: PlanBuilder) -> None:
        self._plan = plan
        self._columns = plan.columns
        self._never_null = never_null
        self.builder = builder
        self._outer = frozenset(self._columns)
        self._recursions: set[int] = set()

    def concerns(self, plan: Plan) -> bool:
        """Tell whether a plan has other rows for other outer rows."""
        return depends(plan, self._outer) or any(
            reads_working_table(plan, number) for number in self._recursions
        )

    def enter(self, number: int) -> None:
        """Go into the step of a recursion whose rows have the columns of the domain."""
        self._recursions.add(number)

    def rows(self) -> _Pushed:
        """Return the domain in columns of its own."""
        self._plan, plan, names = share(self._plan, self.builder)
        return _Pushed(plan, names)

    def reads(self, plan: Plan) -> _Domain:
        """Return the distinct values of what a plan reads of the domain."""
        if self._recursions:
            return self  # The rows of a recursion have all of the domain's columns.
        rows, free = self.rows(), free_columns(plan)
        keys = tuple((column, rows.names[column]) for column in self._columns if column in free)
        return _Domain(Aggregate(rows.plan, keys, ()), self._never_null, self.builder)

    def new_names(self) -> Names:
        """Return new columns for the outer row's values."""
        return {c: self.builder.new_column(c.name, c.type) for c in self._columns}

    def conditions(self, one: Names, other: Names) -> tuple[Call, ...]:
        """Return the conditions that two parts of the query are of the same outer row."""
        return tuple(
            Call(
                "equal" if column in self._never_null else "not_distinct",
                (one[column], other[column]),
                pa.bool_(),
            )
            for column in self._columns
        )


def push_domain(
    source: Plan, plan: Plan, arguments: Mapping[Column, Expression], builder: PlanBuilder
) -> tuple[Plan, Independent]:
    """Return the outer rows, for use above, and the query without its dependence on them.

    `arguments` are the columns of the query that stand for expressions over the outer rows.
    """
    source, copy, names = share(source, builder)
    values = {
        builder.new_column(column.name, column.type): substitute(e, names)
        for column, e in arguments.items()
    }
    keys = tuple(zip(arguments, values, strict=True))
    known = source.never_null(builder.catalog)
    never_null = frozenset(c for c, e in arguments.items() if is_never_null(e, known))
    rows = Aggregate(Project(copy, tuple(values.items())), keys, ())
    domain = _Domain(rows, never_null, builder)
    pushed = _push(plan, domain)
    same = {column: column for column in arguments}
    return source, Independent(pushed.plan, domain.conditions(same, pushed.names))


def _push(plan: Plan, domain: _Domain) -> _Pushed:
    """Return a query for the whole domain."""
    if not domain.concerns(plan):
        return _with_domain((plan,), (), domain)
    match plan:
        case Filter() | Unnest() | Sort():
            below = _push(plan.source, domain)
            changed = plan.map_expressions(lambda part: substitute(part, below.names))
            return replace(below, plan=changed.map_sources(lambda _: below.plan))
        case Project(source=source, items=items):
            below = _push(source, domain)
            own = tuple((column, substitute(e, below.names)) for column, e in items)
            return replace(below, plan=Project(below.plan, own + below.passed_on()))
        case Search():
            return _push_search(plan, domain)
        case Window(source=source, calls=calls):
            below = _push(source, domain)
            divided = tuple((c, _divide(call, below.names)) for c, call in calls)
            return replace(below, plan=Window(below.plan, divided))
        case Limit():
            return _push_limit(plan, domain)
        case Aggregate(grouping=None):
            return _push_aggregate(plan, domain)
        case Aggregate():
            return _push(_one_by_one(plan, domain.builder), domain)
        case InnerJoin():
            return _push_inner_join(plan, domain)
        case OuterJoin() | SemiJoin() | AsofJoin():
            return _push_join(plan, domain)
        case Union(sources=sources, columns=columns):
            return _union([_push(source, domain) for source in sources], sources, columns, domain)
        case Values(rows=rows, columns=columns):
            parts = [_push_row(row, columns, domain) for row in rows]
            return _union([part for part, _ in parts], [p for _, p in parts], columns, domain)
        case Recursive():
            return _push_recursive(plan, domain)
        case WorkingTable(columns=columns):
            names = domain.new_names()
            return _Pushed(replace(plan, columns=(*columns, *names.values())), names)
        case _:
            raise AssertionError(f"{type(plan).__name__} reads no outer row")


def _push_asof_join(plan: AsofJoin, domain: _Domain) -> _Pushed:
    """Return the join with the values of the outer row among the keys."""
    left, right = _push(plan.left, domain), _push(plan.right, domain)
    conditions = domain.conditions(left.names, right.names)
    first = len(plan.left_keys)
    unsure = {first + n for n, each in enumerate(conditions) if each.function == "not_distinct"}
    joined = replace(
        plan,
        left=left.plan,
        right=right.plan,
        left_keys=(*plan.left_keys, *left.names.values()),
        right_keys=(*plan.right_keys, *right.names.values()),
        null_safe=plan.null_safe | unsure,
    )
    return replace(left, plan=joined)


def _has_working_table(plan: Plan) -> bool:
    if isinstance(plan, CommonTable):
        return _has_working_table(plan.query)
    return isinstance(plan, WorkingTable) or any(map(_has_working_table, plan.sources))


def _with_domain(
    sources: Sequence[Plan], conditions: Sequence[Expression], domain: _Domain
) -> _Pushed:
    """Join sources that read no outer row with the domain."""
    rows = domain.rows()
    if tuple(sources) == (_ONE_ROW,) and not conditions:
        return rows
    changed = tuple(substitute(condition, rows.names) for condition in conditions)
    return replace(rows, plan=InnerJoin((rows.plan, *sources), changed))


def _divide(call: WindowCall, names: Names) -> WindowCall:
    call = map_call(call, lambda expression: substitute(expression, names))
    return replace(call, partition_by=(*names.values(), *call.partition_by))


def _push_join(plan: OuterJoin | SemiJoin | AsofJoin, domain: _Domain) -> _Pushed:
    """Push into the side that is kept; the rows of the other are found for its outer rows."""
    if isinstance(plan, AsofJoin):
        return _push_asof_join(plan, domain)
    if isinstance(plan, OuterJoin) and plan.kind == "full":
        return _push_full_join(plan, domain)
    if plan.kind == "right":
        kept = _push(plan.right, domain)
        left, conditions = _push_other(plan.left, plan.conditions, kept, domain)
        right = kept.plan
    else:
        kept = _push(plan.left, domain)
        right, conditions = _push_other(plan.right, plan.conditions, kept, domain)
        left = kept.plan
    return replace(kept, plan=replace(plan, left=left, right=right, conditions=conditions))


def _push_limit(plan: Limit, domain: _Domain) -> _Pushed:
    """Number the rows of each outer row in their order, and keep the first."""
    source = plan.source.source if isinstance(plan.source, Sort) else plan.source
    below = _push(source, domain)
    order = plan.source.keys if isinstance(plan.source, Sort) else ()
    number = domain.builder.new_column("row_number", pa.int64())
    call = row_number_call(below.names.values(), order)
    first = limit_rows(Window(below.plan, ((number, call),)), number, plan)
    columns = (*plan.columns, *below.names.values())
    return replace(below, plan=Project(first, tuple((column, column) for column in columns)))


def _push_search(plan: Search, domain: _Domain) -> _Pushed:
    """Search for each outer row; where the rows depend on it, they are there for all outer rows.

    Those for an outer row are found again by the values that they are there for.
    """
    below = _push(plan.left, domain)
    given = tuple((name, substitute(e, below.names)) for name, e in plan.given)
    plan = replace(plan, left=below.plan, given=given)
    if not domain.concerns(plan.right):
        return replace(below, plan=plan)
    rows, place = plan.right, plan.place
    # A number for each row keeps filters from the scan.
    if place is None and plan.function.sees_order(plan):
        rows, place = _with_place(rows, domain)
    pushed = _push(rows, domain.reads(rows))
    pairs = tuple((below.names[column], own) for column, own in pushed.names.items())
    plan = replace(plan, right=pushed.plan, pairs=(*plan.pairs, *pairs), place=place)
    return replace(below, plan=plan)


def _with_place(plan: Plan, domain: _Domain) -> tuple[Plan, Column | None]:
    """Return a plan with a column that tells the order of its rows, as far as SQL knows one."""
    match plan:
        case Filter(source=source) | Limit(source=source):
            source, place = _with_place(source, domain)
            return replace(plan, source=source), place
        case Project(source=source, items=items):
            source, place = _with_place(source, domain)
            kept = () if place is None else ((place, place),)
            return Project(source, (*items, *kept)), place
        case Sort(source=source, keys=order):
            place = domain.builder.new_column("row_number", pa.int64())
            numbered = Window(source, ((place, row_number_call((), order)),))
            return Sort(numbered, order), place
        case _ if domain.concerns(plan):
            return plan, None
        case _:
            place = domain.builder.new_column("row_number", pa.int64())
            return Window(plan, ((place, row_number_call((), ())),)), place


def _push_aggregate(plan: Aggregate, domain: _Domain) -> _Pushed:
    below = _push(plan.source, domain)

    def change(expression: Expression) -> Expression:
        return substitute(expression, below.names)

    names = domain.new_names()
    own = tuple((column, change(key)) for column, key in plan.keys)
    added = tuple((names[column], below.names[column]) for column in names)
    calls = tuple((column, map_call(call, change)) for column, call in plan.aggregates)
    if plan.keys:
        return _Pushed(Aggregate(below.plan, (*own, *added), calls), names)
    # Without keys there is a row for every outer row, even where there is nothing to aggregate.
    rows = domain.rows()
    found = tuple((domain.builder.new_column(c.name, c.type), call) for c, call in calls)
    grouped = Aggregate(below.plan, added, found)
    joined = OuterJoin("left", rows.plan, grouped, domain.conditions(rows.names, names))
    results = tuple(
        (column, value_or_zero(value, call))
        for (column, _), (value, call) in zip(calls, found, strict=True)
    )
    return replace(rows, plan=Project(joined, results + rows.passed_on()))


def _one_by_one(plan: Aggregate, builder: PlanBuilder) -> Union:
    """Return the groups of each grouping set by an aggregate of its own, all behind each other.

    So the total over all rows, a set without keys, is there for an outer row without rows too.
    """
    assert plan.grouping is not None
    parts = []
    for place, keys in enumerate(plan.grouping.sets):
        copy = renumbered(plan, builder.numbers)
        assert isinstance(copy, Aggregate)
        assert copy.grouping is not None
        number = copy.grouping.number
        grouped = Aggregate(copy.source, tuple(copy.keys[key] for key in keys), copy.aggregates)
        given = frozenset(grouped.columns)
        items = tuple(
            (column, column if column in given else Literal(None, column.type))
            for column in copy.columns
            if column != number
        )
        parts.append(Project(grouped, (*items, (number, Literal(place, number.type)))))
    return Union(tuple(parts), plan.columns)


def _push_recursive(plan: Recursive, domain: _Domain) -> _Pushed:
    """Give every row of the recursion the outer row that it is for."""
    base = _push(plan.base, domain)
    domain.enter(plan.number)
    step = _push(plan.step, domain)
    names = domain.new_names()
    pushed = replace(
        plan,
        base=_with_names(base, plan.base),
        step=_with_names(step, plan.step),
        columns=(*plan.columns, *names.values()),
    )
    if isinstance(pushed, KeyedRecursive):
        domain.enter(pushed.inputs)
        kept = tuple([_with_names(_push(each, domain), each) for each in pushed.kept])
        width = len(plan.columns)
        keys = (*pushed.keys, *range(width, width + len(names)))
        pushed = replace(pushed, kept=kept, keys=keys)
    return _Pushed(pushed, names)


def _push_inner_join(plan: InnerJoin, domain: _Domain) -> _Pushed:
    pushed = {
        place: _push(source, domain)
        for place, source in enumerate(plan.sources)
        if domain.concerns(source)
    }
    if not pushed:
        return _with_domain(plan.sources, plan.conditions, domain)
    first, *others = pushed.values()
    conditions = [substitute(condition, first.names) for condition in plan.conditions]
    for other in others:
        conditions += domain.conditions(first.names, other.names)
    sources = tuple(
        pushed[place].plan if place in pushed else source
        for place, source in enumerate(plan.sources)
    )
    return replace(first, plan=InnerJoin(sources, tuple(conditions)))


def _push_other(
    plan: Plan, conditions: Sequence[Expression], kept: _Pushed, domain: _Domain
) -> tuple[Plan, tuple[Expression, ...]]:
    """Return the other side of a join that keeps the rows of one, and the join's conditions."""
    changed = tuple(substitute(condition, kept.names) for condition in conditions)
    if not domain.concerns(plan):
        return plan, changed
    other = _push(plan, domain)
    return other.plan, changed + domain.conditions(kept.names, other.names)


def _push_full_join(plan: OuterJoin, domain: _Domain) -> _Pushed:
    left, right = _push(plan.left, domain), _push(plan.right, domain)
    conditions = tuple(substitute(condition, left.names) for condition in plan.conditions)
    conditions += domain.conditions(left.names, right.names)
    joined = OuterJoin("full", left.plan, right.plan, conditions)
    names = domain.new_names()
    values = tuple(
        (names[column], Call("coalesce", (left.names[column], right.names[column]), column.type))
        for column in names
    )
    kept = tuple((column, column) for column in plan.columns)
    return _Pushed(Project(joined, kept + values), names)


def _push_row(
    row: Sequence[Expression], columns: Sequence[Column], domain: _Domain
) -> tuple[_Pushed, Plan]:
    """Return a row of VALUES for the whole domain, and a plan with the row's columns alone."""
    rows = domain.rows()
    own = [domain.builder.new_column(column.name, column.type) for column in columns]
    items = tuple((c, substitute(e, rows.names)) for c, e in zip(own, row, strict=True))
    alone = Project(rows.plan, items)
    return replace(rows, plan=Project(rows.plan, items + rows.passed_on())), alone


def _union(
    pushed: Sequence[_Pushed], sources: Sequence[Plan], columns: Sequence[Column], domain: _Domain
) -> _Pushed:
    """Put the rows of sources behind each other; the domain's columns follow their own."""
    names = domain.new_names()
    parts = [_with_names(part, source) for part, source in zip(pushed, sources, strict=True)]
    return _Pushed(Union(tuple(parts), (*columns, *names.values())), names)


def _with_names(pushed: _Pushed, plan: Plan) -> Plan:
    """Return what a plan has become with the plan's columns, and the domain's behind them."""
    own = tuple((column, column) for column in plan.columns)
    return Project(pushed.plan, own + pushed.passed_on())
