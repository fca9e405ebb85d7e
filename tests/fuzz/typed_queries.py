"""Random queries whose keys, conditions, orders and values are of the types of typed_tables.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typed_tables import Column, Kind, constant

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")
_ALIASES = ("x", "y")


@dataclass(frozen=True, slots=True)
class Query:
    """A query; is_ordered: whether the order of its rows is certain. form: what it is made of."""

    sql: str
    is_ordered: bool
    form: str


def random_query(rng: Random, columns: list[Column]) -> Query:
    """Return a query of the tables a and b."""
    form = rng.choice(FORMS)
    sql, is_ordered = form(rng, columns)
    return Query(sql, is_ordered, form.__name__)


def _ordered(columns: list[Column]) -> list[Column]:
    return [each for each in columns if each.kind.is_ordered]


def _told(sql: str, kind: Kind) -> str:
    """Return an expression of a kind as a query shows it."""
    return kind.told.replace("{}", sql)


def _shown(rng: Random, column: Column, table: str = "x") -> str:
    """Return a column, or an expression of it, as a query shows it."""
    name = f"{table}.{column.name}"
    if column.kind.expressions and rng.random() < 0.5:
        return f"({_expression(rng, column, table)})"
    return _told(name, column.kind)


def _expression(rng: Random, column: Column, table: str) -> str:
    written = rng.choice(column.kind.expressions)
    return written.replace("{}", f"{table}.{column.name}").replace("{{", "{").replace("}}", "}")


def _condition(rng: Random, columns: list[Column], depth: int = 1) -> str:
    """Return a condition on the table x."""
    if depth and rng.random() < 0.3:
        left, right = (_condition(rng, columns, depth - 1) for _ in range(2))
        return rng.choice((f"({left} OR {right})", f"({left} AND {right})", f"NOT ({left})"))
    column = rng.choice(columns)
    name, kind = f"x.{column.name}", column.kind
    no = rng.choice(("", "NOT "))
    match rng.randrange(8):
        case 0:
            return f"{name} IS {no}NULL"
        case 1:
            return f"{name} {no}IN ({constant(rng, kind)}, {constant(rng, kind)})"
        case 2:
            return f"{name} IS {no}DISTINCT FROM {constant(rng, kind)}"
        case 3 if kind.is_ordered:
            return f"{name} {no}BETWEEN {constant(rng, kind)} AND {constant(rng, kind)}"
        case 4:
            return f"{name} {no}IN (SELECT {column.name} FROM b)"
        case 5:
            return f"x.n {rng.choice(_COMPARISONS)} {rng.randint(0, 3)}"
        case 6 if kind.is_ordered:
            extreme = f"{rng.choice(('min', 'max'))}({column.name})"
            return f"{name} {rng.choice(_COMPARISONS)} (SELECT {extreme} FROM b)"
        case _:
            sign = rng.choice(_COMPARISONS if kind.is_ordered else ("=", "<>"))
            return f"{name} {sign} {constant(rng, kind)}"


def _where(rng: Random, columns: list[Column]) -> str:
    return f" WHERE {_condition(rng, columns)}" if rng.random() < 0.6 else ""


def _sort(rng: Random, key: str) -> str:
    direction = rng.choice(("", " DESC"))
    return f"{key}{direction} NULLS {rng.choice(('FIRST', 'LAST'))}"


def _filtered(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    items = ", ".join(_shown(rng, rng.choice(columns)) for _ in range(rng.randint(1, 3)))
    return f"SELECT x.id, {items} FROM a AS x{_where(rng, columns)}", False


def _sorted(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    keys = rng.sample(_ordered(columns), min(len(_ordered(columns)), rng.randint(1, 2)))
    order = ", ".join(_sort(rng, key) for key in [*(f"x.{each.name}" for each in keys), "x.id"])
    limit = rng.choice(("", " LIMIT 3", " LIMIT 5 OFFSET 2"))
    shown = _shown(rng, rng.choice(columns))
    return f"SELECT x.id, {shown} FROM a AS x{_where(rng, columns)} ORDER BY {order}{limit}", True


def _aggregate(rng: Random, columns: list[Column]) -> str:
    column = rng.choice(columns)
    name, kind = f"x.{column.name}", column.kind
    only = f" FILTER (WHERE {_condition(rng, columns, 0)})" if rng.random() < 0.2 else ""
    if "(SELECT" in only:
        only = ""
    match rng.randrange(8):
        case 0:
            return f"count(*){only}"
        case 1:
            return f"count({name}){only}"
        case 2:
            return f"count(DISTINCT {name}){only}"
        case 3 | 4 if kind.is_ordered:
            return _told(f"{rng.choice(('min', 'max'))}({name}){only}", kind)
        case 5 if kind.is_ordered:
            return f"{rng.choice(('arg_min', 'arg_max'))}(x.id, ({name}, x.id)){only}"
        case 6:
            return f"list({_told(name, kind)} ORDER BY x.id){only}"
        case _:
            order = rng.choice(("", " DESC"))
            return _told(
                f"{rng.choice(('first', 'last'))}({name} ORDER BY x.id{order}){only}", kind
            )


def _grouped(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    keys = rng.sample(columns, rng.choice((0, 1, 1, 1, 2)))
    shown = [_told(f"x.{each.name}", each.kind) for each in keys]
    aggregates = [_aggregate(rng, columns) for _ in range(rng.randint(1, 3))]
    group = ", ".join(f"x.{each.name}" for each in keys)
    if keys and rng.random() < 0.2:
        group = f"{rng.choice(('ROLLUP', 'CUBE'))} ({group})"
    group = f" GROUP BY {group}" if keys else ""
    having = " HAVING count(*) > 1" if keys and rng.random() < 0.2 else ""
    items = ", ".join((*shown, *aggregates))
    return f"SELECT {items} FROM a AS x{_where(rng, columns)}{group}{having}", False


def _by_expression(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    """Groups by what is computed of a column."""
    column = rng.choice([each for each in columns if each.kind.expressions])
    key = _expression(rng, column, "x")
    group = f" FROM a AS x{_where(rng, columns)} GROUP BY 1"
    return f"SELECT ({key})::VARCHAR, {_aggregate(rng, columns)}{group}", False


def _joined(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    column = rng.choice(columns)
    kind = rng.choice(
        ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
    )
    signs = ("=", "=", "=", "IS NOT DISTINCT FROM")
    sign = rng.choice(
        (*signs, "<", ">=") if column.kind.is_ordered and "FULL" not in kind else signs
    )
    on = f"x.{column.name} {sign} y.{column.name}"
    if rng.random() < 0.3:
        on += f" AND x.n {rng.choice(('=', '='))} y.n"
    other = (
        ""
        if kind in ("SEMI JOIN", "ANTI JOIN")
        else f", y.id, {_shown(rng, rng.choice(columns), 'y')}"
    )
    where = _where(rng, columns)
    return (
        f"SELECT x.id, {_shown(rng, column)}{other} FROM a AS x {kind} b AS y ON {on}{where}",
        False,
    )


def _star(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    """An aggregate over a join, grouped by a column of the other table."""
    column, key = rng.choice(columns), rng.choice(columns)
    items = f"{_told(f'y.{key.name}', key.kind)}, count(*), sum(x.n), {_aggregate(rng, columns)}"
    on = rng.choice((f"x.{column.name} = y.{column.name}", "x.n = y.id"))
    where = _where(rng, columns)
    return f"SELECT {items} FROM a AS x JOIN b AS y ON {on}{where} GROUP BY y.{key.name}", False


def _combined(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    chosen = rng.sample(columns, rng.randint(1, 2))
    names = ", ".join(f"x.{each.name}" for each in chosen)
    shown = ", ".join(_told(f"u.{each.name}", each.kind) for each in chosen)
    operator = rng.choice(
        ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
    )
    sides = (
        f"SELECT {names} FROM a AS x{_where(rng, columns)} {operator} SELECT {names} FROM b AS x"
    )
    return f"SELECT {shown} FROM ({sides}) AS u", False


def _windowed(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    column = rng.choice(columns)
    name = f"x.{column.name}"
    ordered = _ordered(columns)
    keys = [_sort(rng, f"x.{rng.choice(ordered).name}")] if ordered and rng.random() < 0.7 else []
    parts = f"PARTITION BY x.{rng.choice(columns).name} " if rng.random() < 0.6 else ""
    total = ", ".join([*keys, "x.id"])
    call = rng.choice(("rank()", "dense_rank()", "count(*)", "sum(x.n)", "row_number()"))
    order = (
        f"ORDER BY {', '.join(keys)}" if keys and call != "row_number()" else f"ORDER BY {total}"
    )
    items = [f"{call} OVER ({parts}{order})"]
    values = [f"{each}({name})" for each in ("lag", "lead", "first_value", "last_value")]
    if column.kind.is_ordered:
        values += [f"max({name})", f"min({name})"]
    frame = rng.choice(
        ("", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING")
    )
    items.append(_told(f"{rng.choice(values)} OVER ({parts}ORDER BY {total}{frame})", column.kind))
    return f"SELECT x.id, {', '.join(items)} FROM a AS x{_where(rng, columns)}", False


def _distinct(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    chosen = rng.sample(columns, rng.randint(1, 2))
    if rng.random() < 0.5:
        names = ", ".join(f"x.{each.name}" for each in chosen)
        shown = ", ".join(_told(f"u.{each.name}", each.kind) for each in chosen)
        return (
            f"SELECT {shown} FROM (SELECT DISTINCT {names} FROM a AS x{_where(rng, columns)}) AS u",
            False,
        )
    ordered = _ordered(columns)
    if not ordered:
        return _filtered(rng, columns)
    key = f"x.{rng.choice(ordered).name}"
    shown = _shown(rng, chosen[0])
    where = _where(rng, columns)
    return (
        f"SELECT DISTINCT ON ({key}) x.id, {shown} FROM a AS x{where} ORDER BY {key}, x.id",
        False,
    )


def _nested(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    """A query over a common table expression, perhaps correlated."""
    column = rng.choice(columns)
    name = column.name
    inner = f"WITH x AS (SELECT id, n, {', '.join(each.name for each in columns)} FROM a)"
    match rng.randrange(3):
        case 0:
            asked = f"EXISTS (SELECT 1 FROM b WHERE b.{name} = x.{name} AND b.n >= x.n)"
        case 1:
            asked = f"(SELECT count(*) FROM b WHERE b.{name} = x.{name}) > 0"
        case _:
            asked = f"x.{name} IN (SELECT b.{name} FROM b WHERE b.n = x.n)"
    if rng.random() < 0.5:
        return f"{inner} SELECT x.id, {asked} FROM x{_where(rng, columns)}", False
    return f"{inner} SELECT x.id, {_shown(rng, column)} FROM x WHERE {asked}", False


def _chosen(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    """CASE, coalesce, nullif, greatest and least."""
    column = rng.choice(columns)
    name, kind = f"x.{column.name}", column.kind
    other = constant(rng, kind)
    forms = [f"coalesce({name}, {other})", f"nullif({name}, {other})"]
    forms.append(f"CASE WHEN {_condition(rng, columns, 0)} THEN {name} ELSE {other} END")
    forms.append(f"CASE WHEN x.n > 1 THEN {name} END")
    # DuckDB (2.0.1) has least('10:00+15'::TIMETZ, '09:00+00') against its own `<`.
    if kind.is_ordered and kind.type != "TIMETZ":
        forms += [f"greatest({name}, {other})", f"least({other}, {name})"]
    return f"SELECT x.id, {_told(rng.choice(forms), kind)} FROM a AS x", False


def _unnested(rng: Random, columns: list[Column]) -> tuple[str, bool]:
    lists = [each for each in columns if each.kind.type.endswith("[]")]
    if not lists:
        return _filtered(rng, columns)
    column = rng.choice(lists)
    if rng.random() < 0.5:
        return f"SELECT x.id, unnest(x.{column.name}) FROM a AS x{_where(rng, columns)}", False
    return (
        f"SELECT x.id, u.e FROM a AS x, unnest(x.{column.name}) AS u(e){_where(rng, columns)}",
        False,
    )


FORMS: tuple[Callable[[Random, list[Column]], tuple[str, bool]], ...] = (
    *(_filtered, _filtered, _sorted, _grouped, _grouped, _by_expression, _joined, _joined, _star),
    *(_combined, _windowed, _windowed, _distinct, _nested, _chosen, _unnested),
)
