"""Rows that get what subqueries say of them, by joins: values, marks, and which rows stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from raydb.planner.decorrelate.dependent import key_side
from raydb.planner.decorrelate.pull_up import pull_up
from raydb.planner.decorrelate.push_domain import push_domain, share
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Call,
    Column,
    Expression,
    Subquery,
    columns_of,
    conjunction,
    conjuncts,
    rewrite_subqueries,
    substitute,
)
from raydb.planner.expressions.nodes import Literal as Constant
from raydb.planner.plan.common_tables import free_columns
from raydb.planner.plan.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    Limit,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    Sort,
    Window,
    filter_rows,
)
from raydb.planner.plan.nulls import COMPARISONS, is_never_null
from raydb.planner.plan.unique import has_one_row, has_one_row_at_most, is_unique_by
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.planner.decorrelate.dependent import Independent, PlanBuilder

_BOOLEAN = pa.bool_()
_TRUE = Constant(True, _BOOLEAN)
_FALSE = Constant(False, _BOOLEAN)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A reason for `x = ANY (query)` to be NULL where it is not true.

    It is if a row of the query fulfils the conditions and, of the outer row, `of_outer_row` is
    true (where it is None, nothing is asked of it).
    """

    conditions: tuple[Expression, ...]
    of_outer_row: Expression | None = None


class OuterRows:
    """The rows of a plan, which grow by columns and lose rows as subqueries demand.

    `unnest` takes the subqueries out of a plan.
    """

    def __init__(
        self, plan: Plan, builder: PlanBuilder, unnest: Callable[[Plan, PlanBuilder], Plan]
    ) -> None:
        self.plan = plan
        self._builder = builder
        self._unnest = unnest
        self._values: dict[Subquery, Expression] = {}

    def without_subqueries(self, expression: Expression) -> Expression:
        """Return an expression over the rows with columns of theirs for its subqueries."""

        def change(part: Subquery) -> Expression:
            if part not in self._values:
                self._values[part] = self._value(part)
            return self._values[part]

        return rewrite_subqueries(expression, change)

    def keep_where(self, condition: Expression) -> bool:
        """Keep the rows for which [NOT] EXISTS or [NOT] ... ANY holds; False for the rest."""
        match condition:
            case Subquery(kind="exists" | "any"):
                subquery, kept = condition, True
            case Call(function="not", arguments=(Subquery(kind="exists" | "any") as subquery,)):
                kept = False
            case _:
                return False
        subquery = self._with_plain_arguments(subquery)
        found = self._independent(_as_set(subquery), dict(subquery.arguments))
        if found.always:
            truth = self._truth_of_one_row(subquery, found)
            self.plan = Filter(self.plan, truth if kept else Call("not", (truth,), _BOOLEAN))
            return True
        condition = self._condition(subquery, found)
        doubts = [] if kept else self._doubts(found, condition)
        plans = self._copies(found.plan, 1 + len(doubts))
        self._semi_join("semi" if kept else "anti", *plans[0], (*found.conditions, condition))
        for doubt, (plan, names) in zip(doubts, plans[1:], strict=True):
            if doubt.of_outer_row is None:
                self._semi_join("anti", plan, names, doubt.conditions)
            else:
                mark = self._semi_join("mark", plan, names, doubt.conditions)
                both = Call("and", (doubt.of_outer_row, mark), _BOOLEAN)
                self.plan = Filter(self.plan, Call("not", (both,), _BOOLEAN))
        return True

    def join_rows(
        self,
        query: Plan,
        arguments: Mapping[Column, Expression],
        conditions: Sequence[Expression],
        *,
        keep: bool,
    ) -> Plan:
        """Return the rows joined with those that a query has for them, under more conditions.

        With `keep`, rows without a partner stay, with NULLs for the query's columns.
        """
        columns = self.plan.columns
        found = self._independent(query, arguments)
        resolved = tuple(found.resolve(condition) for condition in conditions)
        if found.always:
            found = replace(found, guards=(*found.guards, *resolved))
            resolved = ()
        guards = found.guards
        if keep or found.always:
            found = self._left_join(found, resolved, guarded=keep)
        else:
            sources = (self.plan, found.plan)
            self.plan = InnerJoin(sources, (*found.conditions, *resolved))
        rows = self.plan if keep else filter_rows(self.plan, guards)
        items = [(column, found.resolve(column)) for column in query.columns]
        return Project(rows, (*((column, column) for column in columns), *items))

    # -- values

    def _value(self, subquery: Subquery) -> Expression:
        if subquery.kind == "scalar":
            return self._scalar(subquery)
        found = self._independent(_as_set(subquery), dict(subquery.arguments))
        if found.always:
            return self._truth_of_one_row(subquery, found)
        condition = self._condition(subquery, found)
        doubts = self._doubts(found, condition)
        plans = self._copies(found.plan, 1 + len(doubts))
        answer = self._semi_join("mark", *plans[0], (*found.conditions, condition))
        nulls: list[Expression] = []
        for doubt, (plan, names) in zip(doubts, plans[1:], strict=True):
            mark = self._semi_join("mark", plan, names, doubt.conditions)
            of_outer_row = doubt.of_outer_row
            nulls.append(
                mark if of_outer_row is None else Call("and", (of_outer_row, mark), _BOOLEAN)
            )
        if not nulls:
            return answer
        is_null = nulls[0] if len(nulls) == 1 else Call("or", tuple(nulls), _BOOLEAN)
        unknown = Constant(None, _BOOLEAN)
        return Call("case", (answer, _TRUE, is_null, unknown, _FALSE), _BOOLEAN)

    def _scalar(self, subquery: Subquery) -> Expression:
        """Return the value of the only row of a query."""
        arguments = dict(subquery.arguments)
        plan = self._unnest(subquery.plan, self._builder)
        (column,) = plan.columns
        found = self._look_up(plan, arguments)
        if found is None:
            if not has_one_row_at_most(plan):
                plan = self._first_row(plan)
            (column,) = plan.columns
            found = self._make_independent(plan, arguments)
        return self._left_join(found, (), guarded=True).resolve(column)

    def _first_row(self, plan: Plan) -> Plan:
        """Return the first value of a query, which is an error to ask for where there are more.

        The number of rows is looked at above the join: only outer rows that there are ask.
        """
        (column,) = plan.columns
        value, count, only = (
            self._builder.new_column(column.name, kind)
            for kind in (column.type, pa.int64(), column.type)
        )
        calls = (
            (value, AggregateCall("first", (column,), column.type)),
            (count, AggregateCall("count_star", (), pa.int64())),
        )
        first = Aggregate(plan, (), calls)
        return Project(first, ((only, Call("single", (value, count), column.type)),))

    def _look_up(self, plan: Plan, arguments: Mapping[Column, Expression]) -> Independent | None:
        """Return a query that finds one row at most by a key of a table, or None for others."""
        outer = frozenset(arguments) & free_columns(plan) if arguments else frozenset()
        found = pull_up(plan, outer, self._builder) if outer else None
        if found is None or found.always:
            return None
        keys = {
            key_side(condition, outer)
            for condition in found.conditions
            if isinstance(condition, Call) and condition.function == "equal"
        }
        columns = {key for key in keys if isinstance(key, Column)}
        if not is_unique_by(found.plan, columns, self._builder.catalog):
            return None
        return _over_rows(found, arguments)

    def _truth_of_one_row(self, subquery: Subquery, found: Independent) -> Expression:
        """Return the answer of EXISTS or ANY for a query that has a row for every outer row."""
        if subquery.condition is None and not found.guards:
            return _TRUE
        guards = found.guards
        found = self._left_join(found, (), guarded=False)
        condition = self._condition(subquery, found)
        return Call("case", (conjunction(guards), condition, _FALSE), _BOOLEAN)

    def _condition(self, subquery: Subquery, found: Independent) -> Expression:
        """Return what decides about a row of the query, over the outer rows and the plan's."""
        if subquery.condition is None:
            return _TRUE
        return substitute(found.resolve(subquery.condition), dict(subquery.arguments))

    def _doubts(self, found: Independent, condition: Expression) -> list[_Doubt]:
        """Return how the answer can be NULL, as far as it cannot be told that it never is.

        A comparison of an outer and an inner value is NULL if one of them is; the rows where the
        inner one is, and the question whether there is a row at all, need no pairs of rows.
        """
        inner = frozenset(found.plan.columns)
        catalog = self._builder.catalog
        known = self.plan.never_null(catalog) | found.plan.never_null(catalog)
        parts = conjuncts(condition)
        unsure = [part for part in parts if not is_never_null(part, known)]
        sure = (*found.conditions, *(part for part in parts if part not in unsure))
        match unsure:
            case []:
                return []
            case [Call(function=function, arguments=(one, other))] if function in COMPARISONS:
                if columns_of(one) & inner:
                    one, other = other, one
                if not columns_of(one) & inner and columns_of(other) <= inner:
                    doubts = []
                    if not is_never_null(other, known):
                        doubts.append(_Doubt((*sure, _is_null(other))))
                    if not is_never_null(one, known):
                        doubts.append(_Doubt(sure, _is_null(one)))
                    return doubts
            case _:
                pass
        return [_Doubt((*sure, _is_null(conjunction(unsure))))]

    # -- joins

    def _with_plain_arguments(self, subquery: Subquery) -> Subquery:
        arguments = tuple((c, self.without_subqueries(e)) for c, e in subquery.arguments)
        return replace(subquery, arguments=arguments)

    def _independent(self, plan: Plan, arguments: Mapping[Column, Expression]) -> Independent:
        return self._make_independent(self._unnest(plan, self._builder), arguments)

    def _make_independent(self, plan: Plan, arguments: Mapping[Column, Expression]) -> Independent:
        """Return a query, without subqueries, that depends on the rows by a join only."""
        free = free_columns(plan) if arguments else frozenset()
        used = {column: e for column, e in arguments.items() if column in free}
        found = pull_up(plan, frozenset(used), self._builder)
        if found is None:
            self.plan, found = push_domain(self.plan, plan, used, self._builder)

        return _over_rows(found, used)

    def _left_join(
        self, found: Independent, conditions: Sequence[Expression], *, guarded: bool
    ) -> Independent:
        """Join each row with the query's; without a partner all definitions become NULL.

        With `guarded` they do so where a guard is not true, too.
        """
        present: list[Expression] = list(found.guards) if guarded else []
        plan = found.plan
        if found.definitions and not found.always:
            marker = self._builder.new_column("is there", _BOOLEAN)
            kept = tuple((column, column) for column in plan.columns)
            plan = Project(plan, (*kept, (marker, _TRUE)))
            present.append(Call("not", (_is_null(marker),), _BOOLEAN))
        every = (*found.conditions, *conditions)
        if not every and has_one_row(plan):
            self.plan = InnerJoin((self.plan, plan), ())
        else:
            self.plan = OuterJoin("left", self.plan, plan, every)
        if not present:
            return found
        definitions = {
            column: Call("case", (conjunction(present), e, Constant(None, e.type)), e.type)
            for column, e in found.definitions.items()
        }
        return replace(found, definitions=definitions)

    def _copies(self, plan: Plan, count: int) -> list[tuple[Plan, dict[Column, Column]]]:
        """Return a plan for use at several places, with the columns that it has at each."""
        copies = []
        for _ in range(count - 1):
            plan, copy, names = share(plan, self._builder)
            copies.append((copy, names))
        return [(plan, {}), *copies]

    def _semi_join(
        self,
        kind: Literal["semi", "anti", "mark"],
        plan: Plan,
        names: Mapping[Column, Column],
        conditions: Sequence[Expression],
    ) -> Column:
        """Keep or mark the rows with a partner; `names` are the plan's columns in conditions."""
        mark = self._builder.new_column("mark", _BOOLEAN)
        parts = [part for condition in conditions for part in conjuncts(condition)]
        needed = tuple(substitute(part, names) for part in parts if part != _TRUE)
        right = plan if needed else Limit(plan, 1)
        self.plan = SemiJoin(kind, self.plan, right, needed, mark if kind == "mark" else None)
        return mark


def _over_rows(found: Independent, arguments: Mapping[Column, Expression]) -> Independent:
    """Return a query that speaks of the outer rows themselves, not of what stood for them."""
    return replace(
        found,
        conditions=tuple(substitute(each, arguments) for each in found.conditions),
        definitions={column: substitute(e, arguments) for column, e in found.definitions.items()},
        guards=tuple(substitute(guard, arguments) for guard in found.guards),
    )


def _is_null(expression: Expression) -> Call:
    return Call("is_null", (expression,), _BOOLEAN)


def _as_set(subquery: Subquery) -> Plan:
    """Return the query without what cannot change whether a row is in it."""
    plan = subquery.plan
    while True:
        match plan:
            case Sort(source=source):
                plan = source
            case Aggregate(source=source, keys=keys, aggregates=(), grouping=None) if keys:
                plan = Project(source, keys)
            case Project(source=source) | Window(source=source) if subquery.kind == "exists":
                plan = source
            case Limit(source=source, count=count, offset=0) if subquery.kind == "exists" and (
                count is None or count > 0
            ):
                plan = source
            case _:
                return plan
