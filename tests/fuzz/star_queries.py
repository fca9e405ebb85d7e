"""Random queries over a star, as SQL text that RayDB and DuckDB answer alike.

Left out on purpose, because the dialects differ: integer division (DuckDB's `/` is a division of
doubles), and sorting without NULLS FIRST or LAST.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stars import Column, Role, Star, literal, random_measures

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class Query:
    """A query; `ordered` says that its ORDER BY leaves no choice, so that the order is compared."""

    sql: str
    ordered: bool = False


def random_query(rng: Random, star: Star) -> Query:
    """Return a query: five in six are star queries, the others only look a little like one."""
    if rng.random() < 0.84:
        return star_query(rng, star)
    shapes = (
        plain_query,
        top_query,
        distinct_query,
        left_join_query,
        partners_query,
        attribute_join_query,
        union_query,
    )
    return rng.choice(shapes)(rng, star)


# Star queries


def star_query(rng: Random, star: Star) -> Query:
    """Return aggregates over the fact table joined with some of its dimensions on their keys."""
    roles = random_roles(rng, star)
    attributes = preferred_attributes(rng, star, roles)
    keys = rng.sample(attributes, min(len(attributes), rng.choice((0, 1, 1, 2, 2, 3))))
    names = [reference(rng, roles, *key) for key in keys]
    aggregates = random_aggregates(rng, star, roles)
    source, conditions = random_source(rng, roles, left_share=0.25)
    conditions += random_predicates(rng, roles, attributes)
    if rng.random() < 0.2:
        conditions.append(random_membership(rng, star, roles))
    if rng.random() < 0.15:
        conditions.append(random_scalar(rng, star, roles, attributes))
    if rng.random() < 0.15:
        conditions.append(random_values(rng, star, roles, attributes))
    if source.startswith("FROM f,"):
        rng.shuffle(conditions)
    items = [*names, *(f"{text} AS x{i}" for i, text in enumerate(aggregates))]
    if rng.random() < 0.2:
        rng.shuffle(items)
    sql = f"SELECT {', '.join(items)} {source}{where(conditions)}"
    sets = rng.choice(("ROLLUP", "CUBE")) if names and rng.random() < 0.12 else ""
    if names:
        sql += f" GROUP BY {sets}{' (' * bool(sets)}{', '.join(names)}{')' * bool(sets)}"
        if rng.random() < 0.2:
            sql += f" HAVING {random_having(rng, aggregates)}"
    if not names or sets or rng.random() < 0.6:
        return Query(sql)
    return Query(sql + random_order(rng, names, aggregates), ordered=True)


def random_roles(rng: Random, star: Star) -> list[Role]:
    """Return the fact table's role and some of the others, each with those on the way to it."""
    chosen = [role for role in star.roles[1:] if rng.random() < 0.5]
    roles = {role.alias: role for role in star.roles[:1]}
    for role in chosen:
        roles |= {step.alias: step for step in role.path}
    return list(roles.values())


def preferred_attributes(rng: Random, star: Star, roles: list[Role]) -> list[tuple[Role, Column]]:
    """Return attributes to filter and group by: two times in three only those of one BVH."""
    attributes = [(role, column) for role in roles for column in role.table.attributes]
    if rng.random() < 0.67:
        covered = [a for a in rng.choice(star.bvhs).attributes if a[0] in roles]
        return covered or attributes
    if rng.random() < 0.5:
        return [a for a in attributes if not a[1].name.startswith("f_m")]
    return attributes


def reference(rng: Random, roles: list[Role], role: Role, column: Column) -> str:
    """Name a column, with its table's alias where the bare name is ambiguous, or at random."""
    ambiguous = sum(other.table is role.table for other in roles) > 1
    return f"{role.alias}.{column.name}" if ambiguous or rng.random() < 0.3 else column.name


def random_source(rng: Random, roles: list[Role], left_share: float = 0.0) -> tuple[str, list[str]]:
    """Return FROM with a comma or JOIN ... ON, and the conditions that are left for WHERE.

    left_share: how often JOIN ... ON has left joins, some of them with other conditions.
    """
    if rng.random() < 0.5:
        tables = [table_text(role) for role in roles]
        if rng.random() < 0.5:
            rng.shuffle(tables)
        conditions = [condition for role in roles[1:] for condition in on_key(rng, role)]
        return f"FROM {', '.join(tables)}", conditions
    has_left = rng.random() < left_share * 2
    text = "FROM f"
    for number, role in enumerate(roles[1:], 2):
        conditions = on_key(rng, role)
        kind = rng.choice(("JOIN", "INNER JOIN"))
        if has_left and rng.random() < 0.7:
            kind = "LEFT JOIN"
            if rng.random() < 0.3:
                of = [(one, c) for one in (role, *role.path[:-1]) for c in one.table.attributes]
                conditions += random_predicates(rng, roles[:number], of)
        text += f" {kind} {table_text(role)} ON {' AND '.join(conditions)}"
    return text, []


def random_membership(rng: Random, star: Star, roles: list[Role]) -> str:
    """Return whether a key of the query is among those of some rows of its dimension."""
    role = rng.choice([one for one in star.roles[1:] if one.parent in roles])
    assert role.reference is not None
    inner = Role("i", role.table, role.parent, role.reference)
    of = [(inner, column) for column in role.table.attributes]
    conditions = random_predicates(rng, [inner], of)
    source = f"FROM {table_text(inner)}"
    below = [one for one in star.roles[1:] if one.parent is role]
    if below and rng.random() < 0.4:
        deep = rng.choice(below)
        nested = Role("j", deep.table, inner, deep.reference)
        source += f", {table_text(nested)}"
        conditions += on_key(rng, nested)
        conditions += random_predicates(
            rng, [inner, nested], [(nested, c) for c in deep.table.attributes]
        )
    kind = rng.choice(("EXISTS", "NOT EXISTS", "IN", "NOT IN"))
    if kind.endswith("IN") and len(role.table.key) == 1:
        assert role.parent is not None
        (foreign,) = role.reference.columns
        query = f"SELECT i.{role.table.key[0].name} {source}{where(conditions)}"
        text = f"{role.parent.alias}.{foreign.name} {kind} ({query})"
    else:
        kind = rng.choice(("EXISTS", "NOT EXISTS"))
        text = f"{kind} (SELECT 1 {source}{where([*on_key(rng, inner), *conditions])})"
    if rng.random() < 0.2:
        fact = [(roles[0], column) for column in roles[0].table.attributes]
        return f"({text} OR {comparison(rng, roles, *rng.choice(fact))})"
    return text


def random_scalar(
    rng: Random, star: Star, roles: list[Role], attributes: list[tuple[Role, Column]]
) -> str:
    """Return a comparison with the value of a subquery that reads no outer row."""
    role, column = rng.choice(attributes)
    inner = Role("s", rng.choice(star.roles).table, None, None)
    same = [c for c in inner.table.attributes if c.kind == column.kind != "boolean"]
    of = [(inner, c) for c in inner.table.attributes]
    rest = f"FROM {table_text(inner)}{where(random_predicates(rng, [inner], of))}"
    if not same or rng.random() < 0.15:
        own = comparison(rng, roles, role, column)
        return f"({own} {rng.choice(('OR', 'AND'))} EXISTS (SELECT 1 {rest}))"
    other = f"s.{rng.choice(same).name}"
    query = f"SELECT {rng.choice(('MIN', 'MAX'))}({other}) {rest}"
    if rng.random() < 0.2:
        query = f"SELECT {other} {rest} ORDER BY {other} NULLS LAST LIMIT 1"
    sides = reference(rng, roles, role, column), rng.choice(("=", "<", ">=", "<>")), f"({query})"
    return " ".join(sides)


def random_values(
    rng: Random, star: Star, roles: list[Role], attributes: list[tuple[Role, Column]]
) -> str:
    """Return whether a value is among those of any column of its type, keys or not."""
    role, column = rng.choice(attributes)
    pairs = [
        (one, other)
        for one in star.roles
        for other in one.table.attributes
        if other.type == column.type
    ]
    table, other = rng.choice(pairs)
    inner = Role("v", table.table, None, None)
    conditions = random_predicates(rng, [inner], [(inner, c) for c in inner.table.attributes])
    name = f"{role.alias}.{column.name}"
    negated = rng.choice(("", "", "NOT "))
    if rng.random() < 0.5:
        equal = f"v.{other.name} = {name}"
        source = f"FROM {table_text(inner)}{where([equal, *conditions])}"
        return f"{negated}EXISTS (SELECT 1 {source})"
    source = f"SELECT v.{other.name} FROM {table_text(inner)}{where(conditions)}"
    if rng.random() < 0.3:
        source += f" GROUP BY v.{other.name} HAVING COUNT(*) > 1"
    return f"{name} {negated}IN ({source})"


def table_text(role: Role) -> str:
    name = role.table.name
    return name if name == role.alias else f"{name} AS {role.alias}"


def on_key(rng: Random, role: Role) -> list[str]:
    """Return the conditions that join a dimension with its parent on the declared key."""
    assert role.parent is not None
    assert role.reference is not None
    conditions = []
    for foreign, key in zip(role.reference.columns, role.table.key, strict=True):
        sides = [f"{role.parent.alias}.{foreign.name}", f"{role.alias}.{key.name}"]
        if rng.random() < 0.4:
            sides.reverse()
        conditions.append(" = ".join(sides))
    return conditions


def where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def random_aggregates(rng: Random, star: Star, roles: list[Role]) -> list[str]:
    """Return 1 to 4 aggregates, mostly over a BVH's measures."""
    aggregates = []
    for _ in range(rng.randint(1, 4)):
        measures = list(rng.choice(star.bvhs).measures)
        if rng.random() < 0.3:
            measures = random_measures(rng, star.fact, 1)
        measure = rng.choice(measures)
        shape = rng.random()
        if shape < 0.2:
            aggregates.append("COUNT(*)")
        elif shape < 0.35:
            aggregates.append(random_statistic(rng, roles))
        elif shape < 0.8:
            function = rng.choice(("SUM", "SUM", "SUM", "COUNT", "AVG", "MIN", "MAX"))
            aggregates.append(f"{function}({measure})")
        else:
            role = rng.choice(roles)
            column = rng.choice([c for c in role.table.attributes if c.kind != "boolean"])
            shape = rng.choice(("MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})"))
            aggregates.append(shape.format(reference(rng, roles, role, column)))
        if rng.random() < 0.15:
            role = rng.choice(roles)
            condition = comparison(rng, roles, role, rng.choice(role.table.attributes))
            aggregates[-1] += f" FILTER (WHERE {condition})"
        elif rng.random() < 0.1:
            role = rng.choice(roles)
            condition = comparison(rng, roles, role, rng.choice(role.table.attributes))
            aggregates[-1] = f"SUM(CASE WHEN {condition} THEN {measure} ELSE 0 END)"
    return aggregates


def random_statistic(rng: Random, roles: list[Role]) -> str:
    """Return an aggregate that asks for squares, for values in order, or for every row."""
    role = rng.choice(roles)
    columns = [c for c in role.table.attributes if c.kind not in ("boolean", "double")]
    # DuckDB adds squares up in doubles.
    small = [c for c in columns if c.kind in ("integer", "decimal") and c.digits <= 6]
    integers = [c for c in columns if c.kind == "integer"]
    choices = [("QUANTILE_DISC({}, 0.3)", columns), ("ARG_MAX({0}, {0})", columns)]
    for key in roles[0].table.key:  # Of equal ones any row may be the one.
        choices += [(f"{name}({{}}, {key.name})", columns) for name in ("ARG_MIN", "ARG_MAX")]
    choices += [("COUNT(DISTINCT {})", columns), ("MEDIAN({})", integers)]
    choices += [
        (f"{name}({{}})", small) for name in ("VAR_POP", "STDDEV_SAMP", "VAR_SAMP", "STDDEV_POP")
    ]
    text, of = rng.choice([choice for choice in choices if choice[1]])
    if rng.random() < 0.2:
        one = rng.choice(role.table.attributes)
        return f"{rng.choice(('BOOL_AND', 'BOOL_OR'))}({comparison(rng, roles, role, one)})"
    return text.format(reference(rng, roles, role, rng.choice(of)))


def random_having(rng: Random, aggregates: list[str]) -> str:
    numeric = [a for a in aggregates if a.startswith(("COUNT", "SUM", "AVG"))] or ["COUNT(*)"]
    left = rng.choice(numeric)
    right = rng.choice(
        ("0", "1", "3", "100", "AVG(1)") if left == "COUNT(*)" else ("0", "1", "-50")
    )
    return f"{left} {rng.choice(('>', '>', '>=', '<', '<=', '<>'))} {right}"


def random_order(rng: Random, names: list[str], aggregates: list[str]) -> str:
    """Order by all group keys, perhaps an aggregate first, and perhaps cut the rows."""
    keys = list(names)
    rng.shuffle(keys)
    counts = [i for i, text in enumerate(aggregates) if text.startswith(("COUNT", "SUM", "M"))]
    if counts and rng.random() < 0.3:
        keys.insert(0, f"x{rng.choice(counts)}")
    terms = [
        f"{key}{rng.choice(('', ' ASC', ' DESC'))} NULLS {rng.choice(('FIRST', 'LAST', 'LAST'))}"
        for key in keys
    ]
    text = f" ORDER BY {', '.join(terms)}"
    if rng.random() < 0.4:
        text += f" LIMIT {rng.choice((0, 1, 3, 10))}"
        if rng.random() < 0.3:
            text += f" OFFSET {rng.choice((0, 1, 2))}"
    return text


# Predicates


def random_predicates(
    rng: Random, roles: list[Role], attributes: list[tuple[Role, Column]]
) -> list[str]:
    """Return 0 to 4 conjuncts: comparisons, and ORs and NOTs of some."""
    conjuncts = []
    for _ in range(rng.choice((0, 0, 1, 1, 1, 1, 2, 2, 3))):
        role, column = rng.choice(attributes)
        shape = rng.random()
        terms = [comparison(rng, roles, role, column)]
        if shape < 0.13:
            terms += [comparison(rng, roles, role, column) for _ in range(rng.randint(1, 2))]
        elif shape < 0.25:
            terms += [comparison(rng, roles, *rng.choice(attributes)) for _ in range(2)]
        if shape < 0.25:
            if rng.random() < 0.3:
                terms[:2] = [f"({terms[0]} AND {terms[1]})"]
            conjuncts.append(f"({' OR '.join(terms)})")
        elif shape < 0.31:
            conjuncts.append(f"NOT ({terms[0]})")
        elif shape < 0.35:
            conjuncts.append(between_columns(rng, roles, role, column))
        else:
            conjuncts.append(terms[0])
    return conjuncts


def comparison(rng: Random, roles: list[Role], role: Role, column: Column) -> str:
    """Return a comparison of a column with literals, in and out of its domain."""
    name = reference(rng, roles, role, column)

    def value() -> str:
        return literal(rng.choice(column.literals))

    if column.kind == "boolean":
        return rng.choice(
            (f"{name} = TRUE", f"{name} = FALSE", f"{name} <> TRUE", name, f"{name} IS NULL")
        )
    # A literal of another type than the column's, where the types are comparable.
    if column.kind == "integer" and rng.random() < 0.05:
        return f"{name} {rng.choice(('=', '<', '>='))} {rng.choice(('2.5', '3.0', '100000'))}"
    match rng.randrange(12):
        case 0 | 1:
            return f"{name} = {value()}"
        case 2:
            return f"{name} {rng.choice(('<>', '!='))} {value()}"
        case 3 | 4:
            return f"{name} {rng.choice(('<', '<=', '>', '>='))} {value()}"
        case 5:
            return f"{value()} {rng.choice(('=', '<', '<=', '>', '>='))} {name}"
        case 6 | 7:
            low, high = rng.choice(column.literals), rng.choice(column.literals)
            if rng.random() < 0.8:
                low, high = min(low, high), max(low, high)
            low, high = literal(low), literal(high)
            return f"{name} {rng.choice(('', '', 'NOT '))}BETWEEN {low} AND {high}"
        case 8 | 9:
            values = [value() for _ in range(rng.randint(1, 5))]
            if rng.random() < 0.08:
                values.append("NULL")
            return f"{name} {rng.choice(('', '', 'NOT '))}IN ({', '.join(values)})"
        case 10 if column.kind == "text":
            return f"{name} {rng.choice(('', '', 'NOT '))}LIKE {literal(pattern(rng, column))}"
        case _:
            return f"{name} IS {rng.choice(('', 'NOT '))}NULL"


def pattern(rng: Random, column: Column) -> str:
    """Return a LIKE pattern that is made from one of the column's literals."""
    text = rng.choice(column.literals)
    cut = rng.randint(0, len(text))
    return rng.choice((f"{text[:cut]}%", f"{text[:cut]}%", text, f"%{text[cut:]}", f"{text[:-1]}_"))


def between_columns(rng: Random, roles: list[Role], role: Role, column: Column) -> str:
    """Compare a column with another one of the same kind, perhaps with itself."""
    others = [
        (other, c) for other in roles for c in other.table.attributes if c.kind == column.kind
    ]
    operators = ("=", "<>", "<", "<=", ">", ">=")
    left = reference(rng, roles, role, column)
    right = reference(rng, roles, *rng.choice(others))
    if column.kind == "boolean":
        operators = ("=", "<>")
    return f"{left} {rng.choice(operators)} {right}"


# Queries that no BVH can answer


def plain_query(rng: Random, star: Star) -> Query:
    """Return the rows of a star join, not aggregated."""
    roles = random_roles(rng, star)
    attributes = [(role, column) for role in roles for column in role.table.attributes]
    source, conditions = random_source(rng, roles)
    conditions += random_predicates(rng, roles, attributes)
    items = [reference(rng, roles, *rng.choice(attributes)) for _ in range(rng.randint(1, 4))]
    items += random_measures(rng, star.fact, 1)
    items = [f"{text} AS x{i}" for i, text in enumerate(items)]
    return Query(f"SELECT {', '.join(items)} {source}{where(conditions)}")


def top_query(rng: Random, star: Star) -> Query:
    """Return the first rows of a star join; they are ordered by all that is selected."""
    roles = random_roles(rng, star)
    attributes = [(role, column) for role in roles for column in role.table.attributes]
    source, conditions = random_source(rng, roles, left_share=0.3)
    conditions += random_predicates(rng, roles, attributes)
    if rng.random() < 0.2:
        conditions.append(random_membership(rng, star, roles))
    items = [reference(rng, roles, *rng.choice(attributes)) for _ in range(rng.randint(1, 4))]
    items += random_measures(rng, star.fact, 1)
    rng.shuffle(items)
    items = [f"{text} AS x{i}" for i, text in enumerate(items)]
    order = random_order(rng, [f"x{i}" for i in range(len(items))], [])
    if "LIMIT" not in order:
        order += f" LIMIT {rng.choice((1, 2, 5))}"
    sql = f"SELECT {', '.join(items)} {source}{where(conditions)}{order}"
    return Query(sql, ordered=True)


def distinct_query(rng: Random, star: Star) -> Query:
    """Return the distinct tuples of some attributes."""
    roles = random_roles(rng, star)
    attributes = [(role, column) for role in roles for column in role.table.attributes]
    source, conditions = random_source(rng, roles)
    conditions += random_predicates(rng, roles, attributes)
    names = [reference(rng, roles, *rng.choice(attributes)) for _ in range(rng.randint(1, 3))]
    items = [f"{text} AS x{i}" for i, text in enumerate(names)]
    return Query(f"SELECT DISTINCT {', '.join(items)} {source}{where(conditions)}")


def left_join_query(rng: Random, star: Star) -> Query:
    """Return aggregates over a join that keeps the fact rows without a dimension's row."""
    role = rng.choice([role for role in star.roles if len(role.path) == 1])
    roles = [star.roles[0], role]
    kind = rng.choice(("LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL JOIN"))
    conditions = on_key(rng, role)
    if kind.startswith("LEFT") and rng.random() < 0.3:
        conditions += random_predicates(rng, roles[1:], [(role, c) for c in role.table.attributes])
    key = reference(rng, roles, role, rng.choice(role.table.attributes))
    measure = rng.choice(random_measures(rng, star.fact, 1))
    attributes = [(one, column) for one in roles for column in one.table.attributes]
    return Query(
        f"SELECT {key}, COUNT(*), COUNT({role.alias}.{role.table.key[0].name}), SUM({measure})"
        f" FROM f {kind} {table_text(role)} ON {' AND '.join(conditions)}"
        f"{where(random_predicates(rng, roles, attributes))} GROUP BY {key}"
    )


def partners_query(rng: Random, star: Star) -> Query:
    """Return aggregates over a dimension's rows, each with any number of the fact table's."""
    role = rng.choice([role for role in star.roles if len(role.path) == 1])
    roles = [star.roles[0], role]
    fact = [(roles[0], column) for column in star.fact.attributes]
    own = [(role, column) for column in role.table.attributes]
    on = [*on_key(rng, role), *random_predicates(rng, roles, rng.choice((fact, fact + own)))]
    names = [reference(rng, roles, *key) for key in rng.sample(own, min(len(own), 2))]
    names = rng.choice((names, names[:1], []))
    measure = rng.choice(random_measures(rng, star.fact, 1))
    ours, theirs = (
        reference(rng, roles, *rng.choice([each for each in some if each[1].kind != "boolean"]))
        for some in (own, fact)
    )
    calls = [
        f"SUM({measure})",
        f"AVG({measure})",
        f"COUNT({theirs})",
        f"MIN({theirs})",
        f"COUNT(DISTINCT {theirs})",
        f"MAX({ours})",
        f"COUNT(DISTINCT {ours})",
        f"COUNT(*) FILTER (WHERE {theirs} IS NOT NULL)",
        *(["COUNT(*)", f"SUM(coalesce({measure}, 0))"] if rng.random() < 0.2 else []),
    ]
    chosen = [f"{call} AS x{i}" for i, call in enumerate(rng.sample(calls, rng.randint(1, 4)))]
    group = f" GROUP BY {', '.join(names)}" if names else ""
    conditions = random_predicates(rng, [role], own)
    return Query(
        f"SELECT {', '.join([*names, *chosen])} FROM {table_text(role)} LEFT JOIN f"
        f" ON {' AND '.join(on)}{where(conditions)}{group}"
    )


def union_query(rng: Random, star: Star) -> Query:
    """Return aggregates over the fact table's rows twice, joined with a dimension or not."""
    fact = star.roles[0]
    role = rng.choice([role for role in star.roles if len(role.path) == 1])
    assert role.reference is not None
    attributes = [(fact, column) for column in star.fact.attributes]
    own = rng.choice(star.fact.attributes).name
    keys = ", ".join(c.name for c in role.reference.columns)
    measures = random_measures(rng, star.fact, 1)
    items = f"{keys}, {own} AS a, {rng.choice(measures)} AS m"
    branches = [
        f"SELECT {items} FROM f{where(random_predicates(rng, [fact], attributes))}"
        for _ in range(rng.choice((2, 2, 3)))
    ]
    source = f"FROM ({' UNION ALL '.join(branches)}) AS u"
    names, conditions = ["a"], []
    if rng.random() < 0.7:
        of = [(role, column) for column in role.table.attributes]
        names = [f"{role.alias}.{rng.choice(of)[1].name}", "a"][: rng.randint(1, 2)]
        pairs = zip(role.reference.columns, role.table.key, strict=True)
        conditions = [f"u.{one.name} = {role.alias}.{other.name}" for one, other in pairs]
        conditions += random_predicates(rng, [role], of)
        source += f", {table_text(role)}"
    names = rng.choice((names, names, []))
    calls = rng.choice(("SUM(m) AS x0, COUNT(*) AS x1", "AVG(m), MIN(m), COUNT(m)", "COUNT(a)"))
    if rng.random() < 0.3:
        calls = "SUM(m) FILTER (WHERE a IS NOT NULL) AS x0, MAX(a) AS x1"
    kind = next(column.kind for column in star.fact.attributes if column.name == own)
    if kind == "boolean":
        calls = calls.replace("MAX(a)", "COUNT(a)")
    group = f" GROUP BY {', '.join(names)}" if names else ""
    return Query(f"SELECT {', '.join([*names, calls])} {source}{where(conditions)}{group}")


def attribute_join_query(rng: Random, star: Star) -> Query:
    """Join the fact table with a dimension on columns that are no declared key."""
    role = rng.choice(star.roles[1:])
    roles = [star.roles[0], role]
    pairs: list[tuple[Any, Any]] = [
        (left, right)
        for left in star.fact.attributes
        for right in role.table.attributes
        if left.kind == right.kind
        and right not in role.table.key
        and not {left.kind, right.kind} & {"boolean", "double"}
    ]
    attributes = [(one, column) for one in roles for column in one.table.attributes]
    conditions = random_predicates(rng, roles, attributes)
    if pairs:
        left, right = rng.choice(pairs)
        conditions.append(f"f.{left.name} = {role.alias}.{right.name}")
    key = reference(rng, roles, *rng.choice(attributes))
    return Query(
        f"SELECT {key}, COUNT(*) AS x0, MIN({star.fact.attributes[-1].name}) AS x1"
        f" FROM f, {table_text(role)}{where(conditions)} GROUP BY {key}"
    )
