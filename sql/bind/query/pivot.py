"""PIVOT and UNPIVOT, rewritten to what queries have without them.

    t PIVOT (sum(x) FOR y IN (1, 2))   SELECT g, sum(x) FILTER (WHERE y = 1) AS "1", ..
                                       FROM t GROUP BY g
    t UNPIVOT (v FOR n IN (a, b))      SELECT g, n, v FROM t, unnest(['a', 'b'], [a, b]) AS u(n, v)
                                       WHERE v IS NOT NULL

g are the columns of t that neither of them names.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import fold
from raydb.planner.expressions.aggregates import is_aggregate
from raydb.sql.bind.query.select_list import matching_columns
from raydb.sql.parse.nodes import require_only
from raydb.sql.parse.written import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raydb.sql.bind.scope import Scope, Visible

# Tells the columns of unnest() from those of the table.
_UNPIVOTED = "unpivoted values"

_MOST_COLUMNS = 10_000


def pivoted(source: exp.Expr, pivot: exp.Expr, scope: Scope) -> exp.Select:
    """Return the query that a PIVOT or an UNPIVOT of a source is; `scope` has its columns."""
    if pivot.args.get("unpivot"):
        return _unpivoted(source, pivot, scope)
    fields = pivot.args.get("fields") or pivot.expressions
    aggregates = (pivot.expressions if pivot.args.get("fields") else pivot.args.get("using")) or [
        exp.Anonymous(this="count", expressions=[exp.Star()])
    ]
    group = pivot.args.get("group")
    if not fields:
        raise NotSupportedError("PIVOT without ON is not supported; SELECT gives its aggregates")
    named = [each for field in fields for each in field.find_all(exp.Column)]
    named += [each for call in aggregates for each in call.find_all(exp.Column)]
    if group:
        require_only(group, "expressions")
    keys = group.expressions if group else _others(scope, (each.name for each in named))
    items = [key.copy() for key in keys]
    choices = [_values(field) for field in fields]
    if prod(map(len, choices)) * len(aggregates) > _MOST_COLUMNS:
        raise NotSupportedError(f"PIVOT makes {_MOST_COLUMNS} columns at most")
    for choice in itertools.product(*choices):
        condition = exp.and_(*(test for _, test in choice), copy=True)
        name = "_".join(name for name, _ in choice)
        for call in aggregates:
            alias = call.alias or (text_of(call) if len(aggregates) > 1 else "")
            written = f"{name}_{alias}" if alias else name
            items.append(exp.alias_(_filtered(call.unalias(), condition), written, quoted=True))
    query = exp.Select(expressions=items, from_=exp.From(this=source))
    if keys:
        query.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return query


def _values(field: exp.Expr) -> list[tuple[str, exp.Expr]]:
    """Return the name of each value that a PIVOT looks for, and the condition that finds it."""
    if not isinstance(field, exp.In) or field.args.get("query") is not None:
        raise NotSupportedError(
            f"PIVOT ON {text_of(field)} is not supported; list the values that become columns,"
            " as in PIVOT t ON y IN (1, 2)"
        )
    found: list[tuple[str, exp.Expr]] = []
    for each in field.expressions:
        has_alias = isinstance(each, exp.Alias | exp.PivotAlias)
        value: exp.Expr = each.this if has_alias else each
        if isinstance(value, exp.Placeholder | exp.Parameter | exp.Query):
            raise NotSupportedError(f"{text_of(value)} in IN of PIVOT is not supported")
        if isinstance(value, exp.Column):  # as in DuckDB, a name is a text
            value = exp.Literal.string(value.name)
        name = value.name if isinstance(value, exp.Literal) else text_of(value)
        name = each.args["alias"].name if has_alias else name
        if any(fold(name) == fold(other) for other, _ in found):
            raise ProgrammingError(f"PIVOT has '{name}' twice in IN")
        found.append((name, _is_value(field.this, value)))
    return found


def _is_value(pivoted: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return the condition that an expression has a value, NULL among them."""
    are_rows = isinstance(pivoted, exp.Tuple) and isinstance(value, exp.Tuple)
    if are_rows and len(pivoted.expressions) == len(value.expressions):
        parts = zip(pivoted.expressions, value.expressions, strict=True)
        return exp.and_(*(_is_value(one, other) for one, other in parts))
    operator = exp.NullSafeEQ if isinstance(value, exp.Null) else exp.EQ
    return operator(this=pivoted.copy(), expression=value.copy())


def _filtered(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Return an expression whose aggregates see only the rows for which a condition is true."""

    def filtered(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Filter(this=aggregate, expression=where):
                every: exp.Expr = exp.and_(where.this, condition)
            case exp.Anonymous() if is_aggregate(node.name.lower()):
                aggregate, every = node, condition.copy()
            case _:
                return node
        return exp.Filter(this=aggregate.copy(), expression=exp.Where(this=every))

    changed = exp.Paren(this=call.copy())
    for node in list(changed.find_all(exp.Filter, exp.Anonymous)):
        if node.find_ancestor(exp.Filter) is None and (new := filtered(node)) is not node:
            node.replace(new)
    found: exp.Expr = changed.this
    if found.find(exp.Filter) is None:
        raise ProgrammingError(f"PIVOT needs an aggregate, not {text_of(call)}")
    return found


def _unpivoted(source: exp.Expr, pivot: exp.Expr, scope: Scope) -> exp.Select:
    into, fields = pivot.args.get("into"), pivot.args.get("fields")
    if fields:
        if len(fields) > 1:
            raise NotSupportedError("UNPIVOT with several FOR is not supported")
        if isinstance(fields[0].this, exp.Tuple):
            raise NotSupportedError("UNPIVOT with several names in FOR is not supported")
        name, entries = fields[0].this.name, fields[0].expressions
        (held,) = pivot.expressions
        values = [each.name for each in (held.expressions or [held])]
    else:
        name, values = ("name", ["value"]) if into is None else (into.this.name, into.expressions)
        values = [each if isinstance(each, str) else each.name for each in values]
        entries = pivot.expressions
    groups = [group for entry in entries for group in _columns(entry, scope)]
    for label, columns in groups:
        if len(columns) != len(values):
            raise ProgrammingError(
                f"UNPIVOT gives {len(columns)} columns for '{label}', but names {len(values)}"
            )
    lists: list[list[exp.Expr]] = [[exp.Literal.string(label) for label, _ in groups]]
    lists += [[columns[place].copy() for _, columns in groups] for place in range(len(values))]
    unnested = exp.Unnest(
        expressions=[exp.Array(expressions=each) for each in lists],
        alias=exp.TableAlias(
            this=_quoted(_UNPIVOTED), columns=[_quoted(each) for each in (name, *values)]
        ),
    )
    read = [c.name for _, columns in groups for each in columns for c in each.find_all(exp.Column)]
    made = [exp.Column(this=_quoted(each), table=_quoted(_UNPIVOTED)) for each in (name, *values)]
    query = exp.Select(
        expressions=[*_others(scope, read), *made],
        from_=exp.From(this=source),
        joins=[exp.Join(this=unnested)],
    )
    if not pivot.args.get("include_nulls"):
        known = [exp.Not(this=exp.Is(this=each.copy(), expression=exp.Null())) for each in made[1:]]
        query.set("where", exp.Where(this=exp.and_(*known)))
    return query


def _columns(entry: exp.Expr, scope: Scope) -> Iterable[tuple[str, list[exp.Expr]]]:
    """Yield what an entry of an UNPIVOT turns into rows: a label and the values of a row."""
    is_columns = isinstance(entry, exp.Anonymous) and entry.name.lower() == "columns"
    if is_columns or isinstance(entry, exp.Star):
        call = entry if is_columns else exp.Anonymous(this="columns", expressions=[entry])
        for each in matching_columns(call, scope):
            yield each.name, [_column(each)]
        return
    values = entry.this if isinstance(entry, exp.Alias | exp.PivotAlias) else entry
    held = values.expressions if isinstance(values, exp.Tuple) else [values.unnest()]
    alias = entry.args.get("alias")
    known = {fold(each.name): each.name for each in scope.visible}
    names = (known.get(fold(each.name), each.name) or text_of(each) for each in held)
    if isinstance(alias, exp.Tuple):
        raise NotSupportedError("UNPIVOT with several names behind AS is not supported")
    yield (alias.name if alias else "_".join(names)), held


def _others(scope: Scope, names: Iterable[str]) -> Sequence[exp.Expr]:
    """Return the columns of a source that have none of the names."""
    named = {fold(name) for name in names}
    return [_column(each) for each in scope.visible if fold(each.name) not in named]


def _column(visible: Visible) -> exp.Column:
    table = None if not visible.table else _quoted(visible.table)
    return exp.Column(this=_quoted(visible.name), table=table)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def check_pivot(pivot: exp.Expr) -> None:
    """Raise NotSupportedError for a part of a PIVOT or an UNPIVOT that is not supported."""
    known = ("this", "expressions", "fields", "unpivot", "using", "group", "into", "include_nulls")
    ours = ("default_on_null", "columns", "identify_pivot_strings", "prefixed_pivot_columns")
    require_only(pivot, *known, *ours, "pivot_column_naming", "value_columns_first", "alias")
