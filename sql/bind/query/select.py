"""SELECT: its clauses to a plan, in the order in which they work.

FROM, WHERE -> Filter, GROUP BY -> Aggregate, HAVING -> Filter, OVER -> Window, QUALIFY -> Filter,
the select list -> Project (with hidden columns that only ORDER BY needs), DISTINCT, ORDER BY, LIMIT
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.collations import collated_key
from raydb.planner.expressions.nodes import (
    AggregateCall,
    Column,
    Expression,
    WindowCall,
    columns_of,
    conjunction,
    expressions_of,
    map_call,
)
from raydb.planner.plan.common_tables import separate_subqueries
from raydb.planner.plan.nodes import Aggregate, Filter, Plan, Unnest, Window
from raydb.sql.bind.binding import Binding, resolver
from raydb.sql.bind.expression.expression import (
    AggregateList,
    Context,
    Resolve,
    UnnestList,
    WindowList,
    bind_condition,
    bind_expression,
)
from raydb.sql.bind.expression.subquery import refuse_outer_aggregates
from raydb.sql.bind.query.from_clause import bind_from
from raydb.sql.bind.query.group_by import Groups, bind_groups, grouping_value, over_groups
from raydb.sql.bind.query.output import (
    MODIFIERS,
    OrderKey,
    bind_order,
    bind_output_key,
    finish,
    typed,
)
from raydb.sql.bind.query.sample import with_sample
from raydb.sql.bind.query.select_list import Item, bind_items, each_column, with_aliases
from raydb.sql.parse.nodes import require_only
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from raydb.sql.bind.scope import Scope

_ARGUMENTS = (
    *("with_", "expressions", "from_", "joins", "laterals", "where", "group", "having"),
    *("windows", "qualify", "distinct", "sample", *MODIFIERS),
)


def bind_select_clauses(node: exp.Expr, binding: Binding) -> Plan:
    """Return the plan of a SELECT; the names of its WITH are known already."""
    require_only(node, *_ARGUMENTS)
    source = bind_from(node.args.get("from_"), node.args.get("joins") or [], binding)
    plan, scope = with_sample(source.plan, node.args.get("sample"), binding), source.scope
    aggregates = AggregateList(binding.numbers)
    windows = WindowList(binding.numbers, _named_windows(node))
    unnests = UnnestList(binding.numbers)
    items: list[Item] = []
    meant: list[Item] = []

    context = partial(
        _context,
        with_aliases(resolver(binding, scope), scope, items, meant),
        (aggregates, windows, unnests),
        scope,
        binding,
    )
    bind_items(node.expressions, scope, context("SELECT"), items)
    where = _condition(node, "where", scope, context)
    having = _condition(node, "having", scope, context)
    qualify = _condition(node, "qualify", scope, context)
    order = bind_order(node, items, context("ORDER BY")) if node.args.get("order") else []
    distinct_on = _bind_distinct_on(node, items, context)
    _check_windows(windows.named, context)
    folded = frozenset((*aggregates.calls.values(), *aggregates.groupings.values()))
    groups = None
    if (group := node.args.get("group")) is not None:
        results = (
            dict.fromkeys(folded, "an aggregate")
            | dict.fromkeys(windows.calls.values(), "a window function")
            | _unnests_of_results(unnests, folded.union(windows.calls.values()), group)
        )
        groups = bind_groups(group, items, scope, context("GROUP BY"), results, binding)
    first, later = _part_unnests(unnests, groups)
    if meant or windows.calls or unnests.lists:
        conditions = {"WHERE": where, "HAVING": having, "QUALIFY": qualify}
        _check_places(aggregates, windows, unnests, later, conditions)
    refuse_outer_aggregates(aggregates.calls, binding)
    if where is not None:
        plan = Filter(plan, where)
    if first:
        plan = Unnest(plan, tuple((column, e) for e, column in first.items()))
    over: Callable[[Expression], Expression] = _unchanged
    if groups is not None or having is not None or folded:
        groups = groups or Groups({}, None)
        plan = _aggregate(plan, groups, aggregates)
        meanings = _results(groups, aggregates, windows, later)
        over = over_groups(groups, meanings, _outside(binding))
    if having is not None:
        plan = Filter(plan, over(having))
    if windows.calls:
        calls = ((column, map_call(call, over)) for call, column in windows.calls.items())
        plan = Window(plan, tuple(calls))
    if qualify is not None:
        if not windows.calls:
            raise ProgrammingError("QUALIFY needs a window function; WHERE and HAVING do without")
        plan = Filter(plan, over(qualify))
    if later.lists:
        plan = Unnest(plan, tuple((column, over(e)) for e, column in later.lists.items()))
    plan = finish(
        node,
        plan,
        [(item.name, over(typed(item.expression))) for item in items],
        [OrderKey(over(typed(k.expression)), k.descending, k.nulls_first) for k in order],
        binding,
        distinct=node.args.get("distinct") is not None and not distinct_on,
        distinct_on=[over(typed(key)) for key in distinct_on],
    )
    return separate_subqueries(plan, binding.numbers) if binding.subqueries else plan


def _context(
    resolve: Resolve,
    lists: tuple[AggregateList, WindowList, UnnestList],
    scope: Scope,
    binding: Binding,
    clause: str,
) -> Context:
    """Return the context of a clause: whether it may have aggregates, window functions, unnest."""
    aggregates, windows, unnests = lists
    return Context(
        resolve,
        binding.parameters,
        clause,
        aggregates=None if clause in ("WHERE", "GROUP BY") else aggregates,
        windows=None if clause in ("WHERE", "GROUP BY", "HAVING") else windows,
        unnests=unnests if clause in ("SELECT", "GROUP BY") else None,
        scope=scope,
        binding=binding,
    )


def _named_windows(node: exp.Expr) -> dict[str, exp.Expr]:
    """Return the windows of the WINDOW clause by their folded names."""
    named: dict[str, exp.Expr] = {}
    for window in node.args.get("windows") or ():
        name = window.this.name
        if fold(name) in named:
            raise ProgrammingError(f"WINDOW defines '{name}' twice")
        named[fold(name)] = window
    return named


def _check_windows(named: Mapping[str, exp.Expr], context: Callable[[str], Context]) -> None:
    """Find the errors of the windows of the WINDOW clause, which may be used nowhere."""
    for window in named.values():
        call = exp.Anonymous(this="row_number")
        over = exp.Window(this=call, alias=window.this.copy(), over="OVER")
        windows = WindowList(itertools.count(), named)
        bind_expression(over, replace(context("WINDOW"), windows=windows))


def _part_unnests(
    unnests: UnnestList, groups: Groups | None
) -> tuple[Mapping[Expression, Column], UnnestList]:
    """Part the lists that are taken apart before rows are grouped from those after it."""
    if not unnests.lists or groups is None:
        return {}, unnests
    grouped = columns_of(*groups.keys)
    first = {e: column for e, column in unnests.lists.items() if column in grouped}
    later = {e: column for e, column in unnests.lists.items() if e not in first}
    return first, UnnestList(unnests.numbers, later)


def _unchanged(expression: Expression) -> Expression:
    return expression


def _outside(binding: Binding) -> frozenset[Column]:
    return frozenset() if binding.outer is None else binding.outer.outside_columns()


def _condition(
    node: exp.Expr, clause: str, scope: Scope, context: Callable[[str], Context]
) -> Expression | None:
    """Return the condition of WHERE, HAVING or QUALIFY: for all columns that COLUMNS(...) names."""
    written = node.args.get(clause)
    if written is None:
        return None
    require_only(written, "this")
    within = context(clause.upper())
    conditions = each_column(written.this, scope)
    return conjunction([bind_condition(each, within) for each in conditions])


def _bind_distinct_on(
    node: exp.Expr, items: Sequence[Item], context: Callable[[str], Context]
) -> list[Expression]:
    """Return the keys of DISTINCT ON, or of DISTINCT where some text has a collation; else none."""
    distinct = node.args.get("distinct")
    if distinct is None:
        return []
    require_only(distinct, "on")
    on = distinct.args.get("on")
    if on is None:
        values = [item.expression for item in items]
        keys = [*map(collated_key, values)]
        return [] if keys == values else keys
    require_only(on, "expressions")
    within = context("DISTINCT ON")
    return [collated_key(bind_output_key(key, items, within)) for key in on.expressions]


def _aggregate(plan: Plan, groups: Groups, aggregates: AggregateList) -> Plan:
    keys = tuple((column, key) for key, column in groups.keys.items())
    calls = tuple((column, call) for call, column in aggregates.calls.items())
    return Aggregate(plan, keys, (*calls, *groups.texts), grouping=groups.grouping)


def _results(
    groups: Groups, aggregates: AggregateList, windows: WindowList, unnests: UnnestList
) -> dict[Column, Expression]:
    """Return what the columns of aggregates, GROUPING(), window functions and unnest() mean."""
    results: dict[Column, Expression] = {column: column for column in aggregates.calls.values()}
    results |= {column: column for column in windows.calls.values()}
    results |= {column: column for column in unnests.lists.values()}
    for arguments, column in aggregates.groupings.items():
        results[column] = grouping_value(arguments, groups)
    return results


def _unnests_of_results(
    unnests: UnnestList, results: AbstractSet[Column], group: exp.Expr
) -> dict[Column, str]:
    """Return the columns of unnest() that are no keys: those of results, with GROUP BY ALL each."""
    return {
        column: "unnest() of an aggregate or a window function"
        for each, column in unnests.lists.items()
        if group.args.get("all") or columns_of(each) & results
    }


def _check_places(
    aggregates: AggregateList,
    windows: WindowList,
    unnests: UnnestList,
    later: UnnestList,
    conditions: Mapping[str, Expression | None],
) -> None:
    """Raise ProgrammingError for an alias that brings a result to where it is not computed yet.

    later: the lists that are taken apart when the rows were grouped.
    """
    if not (aggregates.calls or aggregates.groupings or windows.calls or unnests.lists):
        return
    folded = frozenset((*aggregates.calls.values(), *aggregates.groupings.values()))
    windowed = frozenset(windows.calls.values())
    read = {clause: columns_of(each) for clause, each in conditions.items() if each is not None}
    for place, wrong in (("WHERE", folded | windowed), ("HAVING", windowed)):
        if found := read.get(place, frozenset()) & wrong:
            kind = "window function" if found & windowed else "aggregate"
            name = next(iter(found)).name.removesuffix("_star")
            raise ProgrammingError(f"{place} cannot contain the {kind} {name}")
    every: tuple[AggregateCall | WindowCall, ...] = (*aggregates.calls, *windows.calls)
    calls = [(call, _columns_in(call)) for call in every]
    for call, columns in calls:
        is_window = isinstance(call, WindowCall)
        if columns & (windowed if is_window else folded | windowed):
            wrong_ones = "a window function" if is_window else "an aggregate or a window function"
            raise ProgrammingError(f"{call.function}() cannot contain {wrong_ones}")
    rows, every_row = frozenset(later.lists.values()), frozenset(unnests.lists.values())
    for place, columns in (
        *read.items(),
        *((f"{call.function}()", found) for call, found in calls),
    ):
        if columns & (rows if place in ("HAVING", "QUALIFY") else every_row):
            raise ProgrammingError(
                f"{place} cannot contain unnest(): write FROM t, unnest(t.list) AS u(x)"
            )


def _columns_in(call: AggregateCall | WindowCall) -> frozenset[Column]:
    return frozenset(itertools.chain.from_iterable(map(columns_of, expressions_of(call))))
