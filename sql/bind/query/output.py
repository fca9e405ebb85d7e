"""The end of a query: the select list as columns, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.planner.expressions.collations import collate, collated_key, known_collation
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import (
    Bound,
    Call,
    Column,
    Expression,
    Frame,
    Literal,
    OrderItem,
    WindowCall,
    columns_of,
    has_subquery,
    leaves,
    rewrite,
)
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import SCALARS, volatile_function
from raydb.planner.expressions.signature import require_sortable
from raydb.planner.expressions.slots import Hole, SlotLiteral
from raydb.planner.expressions.types import BIGINT, BOOLEAN, DOUBLE, is_integer, is_number
from raydb.planner.expressions.typing_rules import cast
from raydb.planner.plan.nodes import Aggregate, Filter, Limit, Plan, Project, Sort, SortKey, Window
from raydb.sql.bind.binding import Binding, column_for, context_of, new_column
from raydb.sql.bind.expression import computed
from raydb.sql.bind.expression.expression import Context, bind_expression
from raydb.sql.bind.query.select_list import Item, each_column, item_at, only_item
from raydb.sql.bind.scope import Scope
from raydb.sql.parse.nodes import collation_name, require_only, unsupported
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.written import text_of
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODIFIERS = ("order", "limit", "offset")

_WHOLE_PARTITION = Frame("rows", Bound("unbounded_preceding"), Bound("unbounded_following"))


@dataclass(frozen=True, slots=True)
class OrderKey:
    """An entry of a query's ORDER BY, over the rows that the select list is computed from."""

    expression: Expression
    descending: bool
    nulls_first: bool


def bind_order(node: exp.Expr, items: Sequence[Item], context: Context) -> list[OrderKey]:
    """Return the keys of ORDER BY: a name of the select list, a position, or any expression."""
    order = node.args.get("order")
    if order is None:
        return []
    require_only(order, "expressions")
    keys: list[OrderKey] = []
    for ordered in order.expressions:
        require_only(ordered, "this", "desc", "nulls_first")
        if len(order.expressions) == 1 and _is_all(ordered.this):
            expressions = [item.expression for item in items]
        else:
            written = each_column(ordered.this, context.scope)
            expressions = [bind_output_key(key, items, context) for key in written]
        direction = bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))
        keys += [OrderKey(collated_key(require_sortable(e)), *direction) for e in expressions]
    return keys


def _is_all(node: exp.Expr) -> bool:
    """Tell whether this is the word of ORDER BY ALL, which sqlglot takes for a column."""
    match node:
        case exp.Column(this=exp.Identifier() as name):
            quoted = name.args.get("quoted") or node.args.get("table")
            return not quoted and name.name.upper() == "ALL"
        case _:
            return False


def bind_output_key(node: exp.Expr, items: Sequence[Item], context: Context) -> Expression:
    """Return an entry of ORDER BY or DISTINCT ON: names of the select list win over columns.

    COLLATE may stand behind any of them.
    """
    if isinstance(node, exp.Collate):
        key = bind_output_key(node.this, items, context)
        return collate(key, known_collation(collation_name(node.expression)))
    if isinstance(node, exp.PositionalColumn):
        node = exp.Literal.number(node.name)
    if (item := item_at(node, items, context.clause)) is not None:
        return item.expression
    if isinstance(node, exp.Column) and node.args.get("table") is None:
        item = None if isinstance(node.this, exp.Star) else only_item(name_in(node.this), items)
        if item is not None:
            return item.expression
    return bind_key(node, context)


def bind_key(node: exp.Expr, context: Context) -> Expression:
    """Return an expression to group or order by, which cannot be a constant."""
    key = bind_expression(node, context)
    if isinstance(key, Literal):
        raise ProgrammingError(f"{context.clause} needs columns, not the constant {text_of(node)}")
    return key


def typed(expression: Expression) -> Expression:
    """Give a bare NULL a type: a column has to have one, and INTEGER casts to most."""
    if isinstance(expression, Literal) and pa.types.is_null(expression.type):
        return Literal(None, pa.int32())
    return expression


def finish(
    node: exp.Expr,
    plan: Plan,
    items: Sequence[tuple[str, Expression]],
    order: Sequence[OrderKey],
    binding: Binding,
    *,
    distinct: bool = False,
    distinct_on: Sequence[Expression] = (),
) -> Plan:
    """Add the select list, DISTINCT or DISTINCT ON, ORDER BY and LIMIT to a plan."""
    if binding.slots is not None and not (distinct or distinct_on):
        items = [(name, _open(expression)) for name, expression in items]
        order = [replace(key, expression=_open(key.expression)) for key in order]
    listed = [
        (column_for(binding, name, expression), expression)
        for name, expression in ((name, typed(expression)) for name, expression in items)
    ]
    visible = tuple(column for column, _ in listed)
    columns: dict[Expression, Column] = {}
    if order or distinct or distinct_on:
        columns = {expression: column for column, expression in reversed(listed)}
    if distinct:
        fresh = {column: replace(column, number=next(binding.numbers)) for column in visible}
        plan = Aggregate(Project(plan, tuple(listed)), tuple((fresh[c], c) for c in visible), ())
        visible = tuple(fresh.values())
        listed = [(column, column) for column in visible]
        columns = {expression: fresh[column] for expression, column in columns.items()}
    hidden: list[tuple[Column, Expression]] = []
    for expression in (*distinct_on, *(key.expression for key in order)):
        key = typed(expression)
        if key in columns:
            continue
        value = _of_selected(key, columns) if distinct else key
        columns[key] = new_column(binding, "order key", key.type)
        hidden.append((columns[key], value))
    if hidden or not distinct:
        plan = Project(plan, (*listed, *hidden))
    sort_keys = _sort_keys(order, columns)
    if distinct_on:
        partition = [columns[typed(expression)] for expression in distinct_on]
        plan = _first_of_each(plan, partition, sort_keys, binding)
    if order:
        plan = Sort(plan, sort_keys)
    if hidden or distinct_on:
        plan = Project(plan, tuple((column, column) for column in visible))
    return _bind_limit(node, plan, sort_keys, binding)


def _open(expression: Expression) -> Expression:
    """Return an expression whose constants may differ: to look it up compares no values of them."""
    return rewrite(
        expression,
        lambda part: Hole(part.slot, part.place) if isinstance(part, SlotLiteral) else part,
    )


def _of_selected(key: Expression, columns: Mapping[Expression, Column]) -> Expression:
    """Return a key of SELECT DISTINCT as an expression over the selected columns."""
    value = rewrite(key, lambda part: columns.get(part, part))
    if not columns_of(value) <= set(columns.values()):
        raise ProgrammingError("ORDER BY of SELECT DISTINCT can only use selected columns")
    return value


def _sort_keys(
    order: Sequence[OrderKey], columns: Mapping[Expression, Column]
) -> tuple[SortKey, ...]:
    """Return the keys over a plan's columns; a column orders by its first appearance only."""
    keys: dict[Column, SortKey] = {}
    for key in order:
        column = columns[typed(key.expression)]
        keys.setdefault(column, SortKey(column, key.descending, key.nulls_first))
    return tuple(keys.values())


def _first_of_each(
    plan: Plan, partition: Sequence[Column], order: Sequence[SortKey], binding: Binding
) -> Plan:
    """Return the first row, in order, of those that agree in the columns of a partition."""
    number, numbered = numbered_rows(plan, partition, _items(order), binding)
    return Filter(numbered, Call("equal", (number, Literal(1, number.type)), BOOLEAN))


def _items(order: Sequence[SortKey]) -> tuple[OrderItem, ...]:
    return tuple(OrderItem(key.column, key.descending, key.nulls_first) for key in order)


def numbered_rows(
    plan: Plan, partition: Sequence[Expression], order: Sequence[OrderItem], binding: Binding
) -> tuple[Column, Plan]:
    """Return a plan with one column more, which numbers the rows of each partition from 1."""
    number = new_column(binding, "row_number", pa.int64())
    call = WindowCall(
        "row_number", (), number.type, tuple(partition), tuple(order), _WHOLE_PARTITION
    )
    return number, Window(plan, ((number, call),))


def _bind_limit(node: exp.Expr, plan: Plan, order: Sequence[SortKey], binding: Binding) -> Plan:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return plan
    skipped: int | Expression = 0
    count: int | Expression | None
    if offset is not None:
        require_only(offset, "expression")
        skipped = _row_count(offset.expression, "OFFSET", binding) or 0
    match limit:
        case None:
            count = None
        case exp.Limit() if (options := limit.args.get("limit_options")) is not None:
            require_only(limit, "expression", "limit_options")
            require_only(options, "percent")
            counted, most = _share_of_rows(plan, limit.expression, binding)
            kept = _limit_by_number(counted, most, skipped, order, binding)
            return Project(kept, tuple((column, column) for column in plan.columns))
        case exp.Limit():
            require_only(limit, "expression")
            count = _row_count(limit.expression, "LIMIT", binding)
        case exp.Fetch():
            require_only(limit, "direction", "count", "limit_options")
            require_only(limit.args["limit_options"], "rows")
            written = limit.args.get("count")
            count = 1 if written is None else _row_count(written, "FETCH", binding)
        case _:
            raise unsupported(limit)
    if not (isinstance(count, int | None) and isinstance(skipped, int)):
        return _limit_by_number(plan, count, skipped, order, binding)
    return Limit(plan, count, skipped)


def _share_of_rows(plan: Plan, node: exp.Expr, binding: Binding) -> tuple[Plan, Expression]:
    """Return a plan with one column more, and how many of its rows `LIMIT n %` keeps, by that."""
    context = context_of(binding, Scope(), "LIMIT")
    share = typed(bind_expression(node, context))
    if not is_number(share.type):
        raise ProgrammingError(f"LIMIT takes a number of percent, not {describe(share)}")
    if not isinstance(share, Literal):
        raise NotSupportedError("LIMIT of a share that is no constant is not supported")
    if share.value is not None and not 0 <= share.value <= 100:
        raise ProgrammingError(f"LIMIT takes 0 to 100 percent, not {share.value}")
    total = new_column(binding, "row_count", BIGINT)
    counted = Window(
        plan, ((total, WindowCall("count_star", (), BIGINT, (), (), _WHOLE_PARTITION)),)
    )
    percent = Literal(100.0 if share.value is None else float(share.value), DOUBLE)
    part = arithmetic(
        "divide", arithmetic("multiply", cast(total, DOUBLE), percent), Literal(100.0, DOUBLE)
    )
    return counted, cast(SCALARS["floor"].call("floor", [part]), BIGINT)


def _limit_by_number(
    plan: Plan,
    count: int | Expression | None,
    skipped: int | Expression,
    order: Sequence[SortKey],
    binding: Binding,
) -> Plan:
    """Return the rows of a plan in order whose numbers a subquery's value includes."""
    number, numbered = numbered_rows(plan, (), _items(order), binding)
    before = Literal(skipped, BIGINT) if isinstance(skipped, int) else skipped
    found: Plan = Filter(numbered, Call("greater", (number, before), BOOLEAN))
    if count is not None:
        most = Literal(count, BIGINT) if isinstance(count, int) else count
        after = arithmetic("subtract", number, before)
        found = Filter(found, Call("less_equal", (after, most), BOOLEAN))
    if order:
        found = Sort(found, tuple(order))
    return Project(found, tuple((column, column) for column in plan.columns))


def _row_count(node: exp.Expr, clause: str, binding: Binding) -> int | Expression | None:
    """Return the number of rows of LIMIT or OFFSET; None for LIMIT ALL and LIMIT NULL.

    That of a subquery is known when the statement runs: NULL leaves out no row there either.
    """
    if isinstance(node, exp.Var) and node.name.upper() == "ALL":
        return None
    count = bind_expression(node, context_of(binding, Scope(), clause))
    if called := volatile_function(count):
        raise NotSupportedError(f"{called}() in {clause} is not supported")
    if has_subquery(count):
        if not is_integer(count.type):
            raise ProgrammingError(f"{clause} needs an integer, not {describe(count)}")
        nothing = Literal(0 if clause == "OFFSET" else 2**62, BIGINT)
        return Call("coalesce", (cast(count, BIGINT), nothing), BIGINT)
    if columns_of(count) or not all(isinstance(leaf, Literal) for leaf in leaves(count)):
        raise NotSupportedError(f"{clause} needs a constant")
    if isinstance(count, Call):
        try:
            count = computed.compute_constant(count, binding)
        except DataError as error:
            raise DataError(f"{clause}: {error.sentence}") from error
    assert isinstance(count, Literal), "what has no leaf but literals is computed"
    if count.value is None:
        return None
    if not is_integer(count.type):
        raise ProgrammingError(f"{clause} needs an integer, not {describe(count)}")
    if count.value < 0:
        raise ProgrammingError(f"{clause} must not be negative, as {count.value} is")
    return int(count.value)
