"""Random queries over random tables, as SQL text whose meaning RayDB and DuckDB share.

ORDER BY at the top names every column, so that LIMIT leaves no choice; ORDER BY in a window names a
key of the rows. NULLS FIRST or LAST is mostly written, and else it is PostgreSQL's default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from query_features import NOT_IN_DUCKDB, NOT_IN_SQLITE
from random_aggregates import INEXACT, aggregate, direction, window
from random_expressions import (
    Scope,
    Value,
    Writer,
    column_value,
    compare,
    constant,
    expression,
    leaf,
    operand,
    predicate,
)

if TYPE_CHECKING:
    from random import Random

    from random_tables import Table

# How a query is judged: by other engines, or by splitting it with its condition.
CHECKS = (*("answer",) * 5, "where", "distinct", "aggregate", "having", "count")


@dataclass(frozen=True, slots=True)
class Trial:
    """A query and how to judge it; `ordered` says that its ORDER BY leaves no choice."""

    sql: str
    check: str
    ordered: bool
    used: frozenset[str]


@dataclass(frozen=True, slots=True)
class Source:
    """FROM's text, its columns, and those that together are a key of its rows."""

    sql: str
    columns: tuple[Value, ...]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """A query and the kinds of its columns."""

    sql: str
    kinds: tuple[str, ...]


def random_trial(rng: Random, tables: list[Table]) -> Trial:
    """Return a query; half of those for other engines are such that SQLite can judge them too."""
    check = rng.choice(CHECKS)
    w = Writer(rng, tables)
    if check == "answer":
        w.banned = rng.choice((NOT_IN_SQLITE, NOT_IN_DUCKDB))
    w.predicate_queries, w.value_query = PREDICATE_QUERIES, scalar_subquery
    if check == "answer":
        sql, ordered = top_query(w)
        return Trial(sql, check, ordered, frozenset(w.used))
    return Trial(split_query(w, check), check, False, frozenset(w.used))


# Queries that are compared with other engines


def top_query(w: Writer) -> tuple[str, bool]:
    """Return a whole query, and whether its rows are in a certain order."""
    ctes = []
    tables = list(w.tables)
    while w.takes("cte", 0.2) and len(ctes) < 2:
        name, body = w.name("c"), query(w, (), depth=1)
        columns = tuple(Value(f"a{i}", kind) for i, kind in enumerate(body.kinds))
        ctes.append(f"{name} ({', '.join(c.sql for c in columns)}) AS ({body.sql})")
        w.tables = [*w.tables, CommonTable(name, columns), CommonTable(name, columns)]
    if w.takes("recursive cte", 0.05):
        ctes.insert(0, recursive_cte(w))
    body = query(w, (), depth=2)
    w.tables = tables
    sql = body.sql
    if ctes:
        recursive = "RECURSIVE " if "recursive cte" in w.used else ""
        sql = f"WITH {recursive}{', '.join(ctes)} {sql}"
    if "DISTINCT ON" in sql or INEXACT in body.kinds or w.rng.random() < 0.4:
        return sql, False
    keys = [str(place + 1) for place in range(len(body.kinds))]
    if not body.sql.startswith("(") and w.takes("order by name", 0.3):
        keys = [f"a{place}" for place in range(len(body.kinds))]
    w.rng.shuffle(keys)
    sql += f" ORDER BY {', '.join(direction(w, key) for key in keys)}"
    if w.takes("limit", 0.5):
        sql += f" LIMIT {w.rng.choice((0, 1, 3, 10))}"
        sql += w.rng.choice(("", "", " OFFSET 1", " OFFSET 4"))
    return sql, True


@dataclass(frozen=True, slots=True)
class CommonTable:
    """What FROM needs to know of a common table expression."""

    name: str
    columns: tuple[Value, ...]


def recursive_cte(w: Writer) -> str:
    """Return the numbers up to a few, or the rows that a chain of keys reaches."""
    name = w.name("c")
    column = Value("a0", "integer", 100)
    w.tables = [*w.tables, CommonTable(name, (column,))]
    union = w.rng.choice(("UNION", "UNION ALL"))
    if w.rng.random() < 0.5:
        step = f"SELECT a0 + 1 FROM {name} WHERE a0 < {w.rng.choice((0, 1, 5, 20))}"
        return f"{name} (a0) AS (SELECT 1 {union} {step})"
    step = f"SELECT t.r FROM t0 AS t JOIN {name} AS s ON t.id = s.a0 WHERE t.r > s.a0"
    return f"{name} (a0) AS (SELECT id FROM t2 {union} {step})"


def query(w: Writer, outer: tuple[Value, ...], depth: int, kinds: tuple[str, ...] = ()) -> Select:
    """Return a query whose columns have the kinds, where there are any."""
    if depth > 0:
        for operator in (
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "INTERSECT ALL",
            "EXCEPT",
            "EXCEPT ALL",
        ):
            if w.takes(operator.lower(), 0.05):
                return set_operation(w, outer, operator, depth, kinds)
    if w.rng.random() < 0.35 and w.takes("group by"):
        return grouped(w, outer, depth, kinds)
    return plain(w, outer, depth, kinds)


def set_operation(
    w: Writer, outer: tuple[Value, ...], operator: str, depth: int, kinds: tuple[str, ...]
) -> Select:
    left = query(w, outer, 0, kinds or random_kinds(w))
    right = query(w, outer, depth - 1, left.kinds)
    sides = [left.sql, right.sql]
    if "set operation in parentheses" in w.banned:
        right = plain(w, outer, 0, left.kinds)
        return Select(f"{sides[0]} {operator} {right.sql}", left.kinds)
    if depth > 1 or any("DISTINCT ON " in side for side in sides):
        w.used.add("set operation in parentheses")
        sides = [f"({side})" for side in sides]
    return Select(f"{sides[0]} {operator} {sides[1]}", left.kinds)


def random_kinds(w: Writer) -> tuple[str, ...]:
    return tuple(w.rng.choice(w.kinds) for _ in range(w.rng.randint(1, 3)))


def plain(w: Writer, outer: tuple[Value, ...], depth: int, kinds: tuple[str, ...]) -> Select:
    """Return a query without GROUP BY, perhaps with DISTINCT or windows."""
    source = random_source(w, outer, depth)
    scope = Scope(source.columns, outer)
    items = [expression(w, scope, kind, depth) for kind in kinds or random_kinds(w)]
    condition = predicate(w, scope, depth) if w.rng.random() < 0.5 else ""
    where = f" WHERE {condition}" if condition else ""
    if not kinds and depth > 0 and w.takes("window", 0.25):
        items += [window(w, scope, source.key) for _ in range(w.rng.randint(1, 2))]
    sql = f"{select_list(items)} FROM {source.sql}{where}"
    found = tuple(item.kind for item in items)
    if "OVER" not in sql and w.takes("distinct", 0.2):
        return Select(f"SELECT DISTINCT {sql}", found)
    if depth > 0 and w.takes("distinct on", 0.05):
        first = w.rng.choice(source.columns).sql
        order = ", ".join(direction(w, key) for key in (first, *source.key))
        return Select(f"SELECT DISTINCT ON ({first}) {sql} ORDER BY {order}", found)
    if depth > 0 and "OVER" not in sql and w.takes("qualify", 0.08):
        number = window(w, scope, source.key, ("row_number",)).sql
        return Select(f"SELECT {sql} QUALIFY {number} <= {w.rng.choice((1, 2, 5))}", found)
    return Select(f"SELECT {sql}", found)


def select_list(items: list[Value]) -> str:
    return ", ".join(f"{item.sql} AS a{i}" for i, item in enumerate(items))


# GROUP BY


def grouped(w: Writer, outer: tuple[Value, ...], depth: int, kinds: tuple[str, ...]) -> Select:
    """Return aggregates, with or without GROUP BY, its extensions and HAVING."""
    source = random_source(w, outer, depth)
    keys = [w.rng.choice(source.columns) for _ in range(w.rng.choice((0, 1, 1, 2, 2)))]
    keys = list(dict.fromkeys(keys))
    # An aggregate of outer columns alone would belong to the outer query.
    own = Scope(source.columns)
    aggregates = [aggregate(w, own, depth) for _ in range(w.rng.randint(1, 3))]
    condition = predicate(w, Scope(source.columns, outer), depth)
    where = f" WHERE {condition}" if w.rng.random() < 0.4 else ""
    with_sets = not outer or w.takes("correlated grouping sets")
    group, items = group_clause(w, keys, with_sets=with_sets)
    exact = tuple(value for value in aggregates if value.kind != INEXACT)
    inner = Scope((*keys, *exact))
    if kinds:
        items = [grouped_item(w, inner, kind) for kind in kinds]
    else:
        items = [*items, *keys, *aggregates]
        if inner.columns and w.takes("window over aggregate", 0.1):
            items.append(window(w, inner, tuple(value.sql for value in inner.columns)))
    if not kinds and "OVER" not in items[-1].sql and group.startswith(" GROUP BY q"):
        group = " GROUP BY ALL" if w.takes("group by all", 0.1) else group
    having = ""
    if exact and w.takes("having", 0.25):
        side = w.rng.choice(exact)
        having = f" HAVING {side.sql} {compare(w.rng)} {grouped_item(w, inner, side.kind).sql}"
    sql = f"SELECT {select_list(items)} FROM {source.sql}{where}{group}{having}"
    return Select(sql, tuple(item.kind for item in items))


def grouped_item(w: Writer, scope: Scope, kind: str) -> Value:
    """Return an expression over keys and aggregates, without a subquery that would see them."""
    return expression(w.without_queries(), scope, kind, 1)


def group_clause(w: Writer, keys: list[Value], *, with_sets: bool) -> tuple[str, list[Value]]:
    """Return GROUP BY, and items that it allows besides the keys."""
    if not keys:
        return "", []
    names = [key.sql for key in keys]
    listed = ", ".join(names)
    if not with_sets:
        return f" GROUP BY {listed}", []
    text = ""
    if w.takes("rollup", 0.08):
        text = f"ROLLUP ({listed})"
    elif w.takes("cube", 0.08):
        text = f"CUBE ({listed})"
    elif w.takes("grouping sets", 0.08):
        sets = ["()", f"({names[0]})", f"({names[-1]})", "()"]
        sets = [f"({listed})", *w.rng.sample(sets, w.rng.randint(0, 3))]
        text = f"GROUPING SETS ({', '.join(sets)})"
    if text and w.takes("grouping function", 0.5):
        return f" GROUP BY {text}", [Value(f"GROUPING({listed})", "integer")]
    return f" GROUP BY {text or listed}", []


# FROM


def random_source(w: Writer, outer: tuple[Value, ...], depth: int) -> Source:
    """Return one relation or a join of some."""
    source = relation(w, outer, depth)
    for _ in range(w.rng.choice((0, 0, 1, 1, 2) if depth > 1 else (0, 0, 0, 1))):
        source = joined(w, source, outer, depth)
    return source


def relation(w: Writer, outer: tuple[Value, ...], depth: int) -> Source:
    """Return a table, a derived table, or VALUES."""
    if depth > 0 and w.takes("derived table", 0.15):
        return derived(w, query(w, (), depth - 1))
    if w.takes("values", 0.05):
        kinds = random_kinds(w)
        rows = [[constant(w, kind).sql for kind in kinds] for _ in range(w.rng.randint(1, 4))]
        text = ", ".join(f"({', '.join(row)})" for row in rows)
        return derived(w, Select(f"VALUES {text}", kinds))
    table = w.rng.choice(w.tables)
    alias = w.name("q")
    if isinstance(table, CommonTable):
        columns = tuple(replace(c, sql=f"{alias}.{c.sql}") for c in table.columns)
        return Source(f"{table.name} AS {alias}", columns, tuple(c.sql for c in columns))
    columns = tuple(column_value(c, alias) for c in table.columns if c.kind not in w.banned)
    return Source(f"{table.name} AS {alias}", columns, (f"{alias}.id",))


def derived(w: Writer, body: Select, prefix: str = "") -> Source:
    alias = w.name("v")
    names = [f"a{i}" for i in range(len(body.kinds))]
    columns = tuple(
        Value(f"{alias}.{name}", kind) for name, kind in zip(names, body.kinds, strict=True)
    )
    sql = f"{prefix}({body.sql}) AS {alias}"
    if body.sql.startswith("VALUES") or w.takes("column aliases", 0.5):
        sql += f" ({', '.join(names)})"
    return Source(sql, columns, tuple(column.sql for column in columns))


USING_JOINS = {"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}


def joined(w: Writer, left: Source, outer: tuple[Value, ...], depth: int) -> Source:
    """Join a source with one more relation, beside which the bare name of USING is ambiguous."""
    left = replace(left, columns=tuple(c for c in left.columns if "." in c.sql))
    if depth > 0 and w.takes("lateral", 0.07):
        return lateral(w, left, depth)
    right = relation(w, outer, depth - 1)
    columns, key = (*left.columns, *right.columns), (*left.key, *right.key)
    if w.takes("cross join", 0.1):
        return Source(f"{left.sql} CROSS JOIN {right.sql}", columns, key)
    word = "JOIN"
    for side in ("left", "right", "full"):
        if w.takes(f"{side} join", 0.2):
            word = f"{side.upper()} JOIN"
            break
    else:
        if w.takes("semi join", 0.05):
            word = w.rng.choice(("SEMI JOIN", "ANTI JOIN"))
    both = suffixes(left) & suffixes(right)
    if (
        " JOIN " not in left.sql
        and both >= {".k", ".id"}
        and word in USING_JOINS
        and w.takes("using", 0.15)
    ):
        return using(w, left, right, word)
    condition = on_condition(w, left, right, depth, word)
    sql = f"{left.sql} {word} {right.sql} ON {condition}"
    if word in {"SEMI JOIN", "ANTI JOIN"}:
        return Source(sql, left.columns, left.key)
    return Source(sql, columns, key)


def suffixes(source: Source) -> set[str]:
    return {column.sql[column.sql.index(".") :] for column in source.columns}


def using(w: Writer, left: Source, right: Source, word: str) -> Source:
    """Join on columns of one name, which is then a column of its own."""
    name = w.rng.choice(("k", "id"))
    merged = Value(name, "integer", 10)
    columns = (merged, *left.columns, *right.columns)
    return Source(f"{left.sql} {word} {right.sql} USING ({name})", columns, (*left.key, *right.key))


def on_condition(w: Writer, left: Source, right: Source, depth: int, word: str) -> str:
    """Return a condition: mostly an equality, perhaps with more, or any at all."""
    kinds = {c.kind for c in left.columns} & {c.kind for c in right.columns} or {"boolean"}
    kind = w.rng.choice(sorted(kinds))
    if kinds & {"integer"} and w.rng.random() < 0.6:
        kind = "integer"
    sides = [leaf(w, Scope(source.columns), kind) for source in (left, right)]
    equality = f"{sides[0].sql} = {sides[1].sql}"
    if w.rng.random() < 0.6:
        return equality
    feature = "subquery in on" if word == "JOIN" else "subquery in outer on"
    asked = w if w.takes(feature, 0.05) else w.without_queries()
    extra = predicate(asked, Scope((*left.columns, *right.columns)), min(depth, 1))
    if word == "FULL JOIN" and not w.takes("full join on anything", 0.3):
        return equality
    return w.rng.choice((f"{equality} AND {extra}", extra))


def lateral(w: Writer, left: Source, depth: int) -> Source:
    """Join each row with the rows of a query that sees it."""
    visible = tuple(c for c in left.columns if "." in c.sql)
    body = query(w, visible, depth - 1)
    if w.takes("lateral left join", 0.4):
        right = derived(w, body, "LATERAL ")
        sql = f"{left.sql} LEFT JOIN {right.sql} ON TRUE"
    else:
        right = derived(w, body, "LATERAL ")
        sql = f"{left.sql} CROSS JOIN {right.sql}"
    return Source(sql, (*left.columns, *right.columns), (*left.key, *right.key))


# Subqueries


def visible_from(scope: Scope) -> tuple[Value, ...]:
    """Return what a subquery sees: not the merged columns of USING, whose names are not unique."""
    return tuple(c for c in (*scope.columns, *scope.outer) if "." in c.sql and "(" not in c.sql)


def scalar_subquery(w: Writer, scope: Scope, kind: str, depth: int) -> Value | None:
    """Return a query of one row: an aggregate, or the row of a key."""
    if kind == "boolean" or not w.takes("scalar subquery", 0.5):
        return None
    source = random_source(w, (), min(depth, 0))
    inner = Scope(source.columns, visible_from(scope))
    where = f" WHERE {predicate(w, inner, 1)}" if w.rng.random() < 0.7 else ""
    value = expression(w.without_queries(), Scope(source.columns), kind, 1).sql
    shape = w.rng.choice(("MIN({})", "MAX({})", "MIN({})", "COUNT({})"))
    if shape == "COUNT({})" and kind != "integer":
        shape = "MAX({})"
    return Value(f"(SELECT {shape.format(value)} FROM {source.sql}{where})", kind)


def exists(w: Writer, scope: Scope, depth: int) -> str | None:
    if not w.takes("exists"):
        return None
    body = query(w, visible_from(scope), min(depth, 0))
    return f"{w.rng.choice(('', 'NOT '))}EXISTS ({body.sql})"


def in_subquery(w: Writer, scope: Scope, depth: int) -> str | None:
    no = w.rng.choice(("", "NOT "))
    if not w.takes("not in subquery" if no else "in subquery"):
        return None
    kinds = (w.rng.choice([column.kind for column in scope.columns]),)
    if w.takes("row in subquery", 0.1):
        kinds = (*kinds, w.rng.choice([column.kind for column in scope.columns]))
    sides = [expression(w, scope, kind, 0).sql for kind in kinds]
    body = query(w, visible_from(scope), min(depth, 0), kinds)
    left = f"({', '.join(sides)})" if len(sides) > 1 else sides[0]
    return f"{left} {no}IN ({body.sql})"


def quantified(w: Writer, scope: Scope, depth: int) -> str | None:
    if not w.takes("quantified", 0.4):
        return None
    kind = w.rng.choice([column.kind for column in scope.columns])
    body = query(w, visible_from(scope), min(depth, 0), (kind,))
    left = expression(w, scope, kind, 0).sql
    return f"{left} {compare(w.rng)} {w.rng.choice(('ANY', 'ALL'))} ({body.sql})"


PREDICATE_QUERIES = (exists, in_subquery, in_subquery, quantified)


# Queries that are judged by splitting them


def split_query(w: Writer, check: str) -> str:
    """Return a query with the condition to split by: WHERE, or HAVING."""
    source = random_source(w, (), 2)
    scope = Scope(source.columns)
    condition = predicate(w, scope, 2)
    items = [expression(w, scope, w.rng.choice(w.kinds), 1) for _ in range(w.rng.randint(1, 3))]
    keys = [w.rng.choice(source.columns) for _ in range(w.rng.randint(0, 2))]
    keys = list(dict.fromkeys(keys))
    group = f" GROUP BY {', '.join(key.sql for key in keys)}" if keys else ""
    number = operand(w, scope, "integer", 1).sql
    match check:
        case "count":
            return f"SELECT COUNT(*) AS a0 FROM {source.sql} WHERE {condition}"
        case "distinct":
            return f"SELECT DISTINCT {select_list(items)} FROM {source.sql} WHERE {condition}"
        case "aggregate":
            first = [
                replace(item, sql=f"MIN({item.sql})") for item in items if item.kind != "boolean"
            ]
            last = Value(f"MAX({number})", "integer")
            sums = [Value(f"SUM({number})", "integer"), Value("COUNT(*)", "integer")]
            found = select_list([*keys, *first, last, *sums])
            return f"SELECT {found} FROM {source.sql} WHERE {condition}{group}"
        case "having":
            sums = [Value(f"SUM({number})", "integer"), Value("COUNT(*)", "integer", 10**4)]
            over = grouped_condition(w, Scope((*keys, *sums)))
            found = select_list([*keys, *sums])
            return f"SELECT {found} FROM {source.sql}{group or ' GROUP BY ()'} HAVING {over}"
        case _:
            return f"SELECT {select_list(items)} FROM {source.sql} WHERE {condition}"


def grouped_condition(w: Writer, scope: Scope) -> str:
    return predicate(w.without_queries(), scope, 1)
