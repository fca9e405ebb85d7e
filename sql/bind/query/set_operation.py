"""UNION, INTERSECT and EXCEPT: columns meet by position, and NULL equals NULL.

a UNION b          ->  Aggregate(keys: all columns, Union(a, b))
a UNION b          ->  any_value of the texts of a collation, whose keys are its keys
a INTERSECT b      ->  the groups of Union(a with tag 0, b with tag 1) that have both tags
a EXCEPT b         ->  those that have the tag 0 only
a EXCEPT ALL b     ->  the same, where the copies of a row are numbered and so differ
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.aggregates import bind_aggregate
from raydb.planner.expressions.collations import collated_key, common_collation, compared_by
from raydb.planner.expressions.nodes import AggregateCall, Column, Expression, Literal
from raydb.planner.expressions.typing_rules import compare, unify
from raydb.planner.plan.nodes import Aggregate, Filter, Plan, Project, Union
from raydb.sql.bind.binding import column_for, new_column, renumbered
from raydb.sql.bind.query.output import MODIFIERS, numbered_rows, typed
from raydb.sql.parse.nodes import require_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.sql.bind.binding import Binding

    _Items = tuple[tuple[Column, Expression], ...]

_TAG = pa.int32()
UNTYPED = Literal(None, pa.null())


def bind_set_operation(node: exp.Expr, binding: Binding) -> Plan:
    """Return the plan of two or more queries as one, without the ORDER BY of the whole."""
    require_only(node, "this", "expression", "distinct", "by_name", "with_", *MODIFIERS)
    distinct = bool(node.args.get("distinct"))
    by_name = bool(node.args.get("by_name"))
    word = node.key.upper()
    if not isinstance(node, exp.Union):
        if by_name:
            raise ProgrammingError(f"{word} BY NAME does not exist; only UNION has it")
        operands = [node.this, node.expression]
    else:
        operands = _operands(node)
    for operand in operands:
        if not isinstance(operand, exp.Subquery) and any(map(operand.args.get, MODIFIERS)):
            raise ProgrammingError(
                f"ORDER BY, LIMIT and OFFSET before {word} need parentheses around their query"
            )
    plans = [binding.bind_query(operand, binding) for operand in operands]
    if isinstance(node, exp.Union):
        return union_of(plans, binding, distinct=distinct, by_name=by_name)
    left, right = _aligned(plans, word, binding)
    return _matched(left, right, binding, both=word == "INTERSECT", distinct=distinct)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """Return the queries of `a UNION b UNION c`, from left to right.

    What UNION puts together may come from UNION ALL, for it drops all copies in the end.
    """
    distinct, by_name = (bool(node.args.get(name)) for name in ("distinct", "by_name"))
    operands: list[exp.Expr] = []
    current = node
    while (
        isinstance(current, exp.Union)
        and (distinct or not current.args.get("distinct"))
        and by_name == bool(current.args.get("by_name"))
        and (current is node or not any(current.args.get(name) for name in ("with_", *MODIFIERS)))
    ):
        require_only(current, "this", "expression", "distinct", "by_name", "with_", *MODIFIERS)
        operands.append(current.expression)
        current = current.this
    return [current, *reversed(operands)]


def union_of(
    plans: Sequence[Plan], binding: Binding, *, distinct: bool, by_name: bool = False
) -> Plan:
    """Return UNION [ALL] [BY NAME] of some plans; the first one names the columns."""
    aligned = _aligned_by_name(plans, binding) if by_name else _aligned(plans, "UNION", binding)
    plan: Plan = Union(tuple(aligned), _columns_of(aligned, binding))
    return distinct_rows(plan, binding) if distinct else plan


def distinct_rows(plan: Plan, binding: Binding) -> Plan:
    """Return the plan's rows, each once: of texts that a collation has for the same, any one."""
    keys, shown, texts = _grouped(plan.columns, "any_value", (), binding)
    groups = Aggregate(plan, keys, texts)
    return Project(groups, tuple((column, column) for column in shown)) if texts else groups


def _grouped(
    columns: Sequence[Column], which: str, by: Sequence[Column], binding: Binding
) -> tuple[_Items, list[Column], tuple[tuple[Column, AggregateCall], ...]]:
    """Return the keys that group rows by their columns, columns for these, and the texts of some.

    Texts of a collation are grouped by their keys. which, by: the aggregate that chooses one.
    """
    keys: list[tuple[Column, Expression]] = []
    shown: list[Column] = []
    texts: list[tuple[Column, AggregateCall]] = []
    for column in columns:
        (own,) = renumbered((column,), binding)
        key = collated_key(column)
        shown.append(own)
        if key is column:
            keys.append((own, column))
            continue
        keys.append((new_column(binding, column.name, column.type), key))
        texts.append((own, bind_aggregate(which, [column, *by], False)))
    return tuple(keys), shown, tuple(texts)


def _columns_of(plans: Sequence[Plan], binding: Binding) -> tuple[Column, ...]:
    """Return the columns of several plans in one, which the first one names."""
    return tuple(
        new_column(binding, each[0].name, each[0].type, common_collation(each))
        for each in zip(*(plan.columns for plan in plans), strict=True)
    )


def _aligned(plans: Sequence[Plan], word: str, binding: Binding) -> list[Plan]:
    """Return the plans with columns of the same types, by position."""
    first, *others = (len(plan.columns) for plan in plans)
    for number, width in enumerate(others, 2):
        if width != first:
            raise ProgrammingError(
                f"the queries of {word} must have the same number of columns:"
                f" the first has {first}, and number {number} has {width}"
            )
    rows = [adapting_cells(plan) for plan in plans]
    names = [column.name for column in plans[0].columns]
    return _unified(plans, rows, names, word, binding)


def _aligned_by_name(plans: Sequence[Plan], binding: Binding) -> list[Plan]:
    """Return the plans with the columns of all of them, NULL where one has no such column."""
    rows: list[dict[str, Expression]] = []
    every: dict[str, str] = {}  # the first way in which a name is written, by the folded name
    for plan in plans:
        row: dict[str, Expression] = {}
        for column, cell in zip(plan.columns, adapting_cells(plan), strict=True):
            name = every.setdefault(fold(column.name), column.name)
            if name in row:
                raise ProgrammingError(f"UNION BY NAME: a query has two columns '{column.name}'")
            row[name] = cell
        rows.append(row)
    names = list(every.values())
    cells = [[row.get(name, UNTYPED) for name in names] for row in rows]
    return _unified(plans, cells, names, "UNION BY NAME", binding)


def adapting_cells(plan: Plan) -> list[Expression]:
    """Return a plan's columns; a constant of the select list is one that adapts to its peers."""
    columns = plan.columns
    if not isinstance(plan, Project):
        return list(columns)
    constants = {
        column: UNTYPED if e == typed(UNTYPED) else e
        for column, e in plan.items
        if isinstance(e, Literal)
    }
    return [constants.get(column, column) for column in columns]


def _unified(
    plans: Sequence[Plan],
    rows: Sequence[Sequence[Expression]],
    names: Sequence[str],
    word: str,
    binding: Binding,
) -> list[Plan]:
    """Return plans that give the cells of each row of `rows` in types that are common to all."""
    unified: list[tuple[Expression, ...]] = []
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        try:
            unified.append(unify(cells, "combine"))
        except ProgrammingError as error:
            raise ProgrammingError(f"column '{name}' of {word}: {error}") from error
    aligned: list[Plan] = []
    for plan, row, cells in zip(plans, rows, zip(*unified, strict=True), strict=True):
        types = [column.type for column in plan.columns]
        if row == adapting_cells(plan) and [cell.type for cell in cells] == types:
            aligned.append(plan)
            continue
        columns = [column_for(binding, name, cell) for name, cell in zip(names, cells, strict=True)]
        aligned.append(Project(plan, tuple(zip(columns, cells, strict=True))))
    return aligned


def _matched(left: Plan, right: Plan, binding: Binding, *, both: bool, distinct: bool) -> Plan:
    """Return the rows that both plans have, or those that only the left one has."""
    if not distinct:
        # A text of no collation is compared as the one beside it.
        by = [compared_by(pair) for pair in zip(left.columns, right.columns, strict=True)]
        left, right = (_with_copies(plan, by, binding) for plan in (left, right))
    tagged = [_tagged(plan, tag, binding) for tag, plan in enumerate((left, right))]
    columns = _columns_of(tagged, binding)
    *compared, tag = columns
    keys, found, texts = _grouped(compared, "arg_min", (tag,), binding)
    first = new_column(binding, "first", _TAG), AggregateCall("min", (tag,), _TAG)
    last = new_column(binding, "last", _TAG), AggregateCall("max", (tag,), _TAG)
    groups = Aggregate(Union(tuple(tagged), columns), keys, (first, last, *texts))
    condition = (
        compare("less", first[0], last[0]) if both else compare("equal", last[0], Literal(0, _TAG))
    )
    if not distinct:
        found.pop()  # the number of the copy
    return Project(Filter(groups, condition), tuple((column, column) for column in found))


def _with_copies(plan: Plan, collations: Sequence[str], binding: Binding) -> Plan:
    """Return the plan's rows with the number of the copy that each is."""
    keys = [collated_key(*pair) for pair in zip(plan.columns, collations, strict=True)]
    return numbered_rows(plan, keys, (), binding)[1]


def _tagged(plan: Plan, tag: int, binding: Binding) -> Plan:
    """Return the plan's rows with the tag."""
    items: list[tuple[Column, Expression]] = [
        *zip(renumbered(plan.columns, binding), plan.columns, strict=True),
        (new_column(binding, "tag", _TAG), Literal(tag, _TAG)),
    ]
    return Project(plan, tuple(items))
