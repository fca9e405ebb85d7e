"""Random stars as SQL text that RayDB and DuckDB both read: tables, rows, and BVHs over them.

    region <- city <- shop <---- fact ----> day   (twice: ordered, shipped)

A star is made from one `random.Random`, so a seed is enough to make it again. Domains are small and
skewed, so that predicates hit; every column has literals in and out of its domain.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

SEED = int(os.environ.get("RAYDB_FUZZ_SEED", "20250917"))
CASES = int(os.environ.get("RAYDB_FUZZ_CASES", "300"))

INTEGER_BOUNDS = {
    "TINYINT": (-(2**7) + 1, 2**7 - 1),
    "SMALLINT": (-(2**15) + 1, 2**15 - 1),
    "INTEGER": (-(2**31) + 1, 2**31 - 1),
    "BIGINT": (-(2**63) + 1, 2**63 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
}
STEMS = ("AS", "as", "MFGR#1", "a_", "50%", "é", "O'B", "")
EPOCH = dt.date(1992, 1, 1)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `kind` is integer, decimal, date, text, boolean or double.

    `literals` are the values that queries compare with: some of the domain's, some absent ones.
    `digits` is about the number of digits of a measure.
    """

    name: str
    type: str
    kind: str
    literals: tuple[Any, ...]
    nullable: bool
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that are drawn together from a pool of tuples: a hierarchy, or one column."""

    columns: tuple[Column, ...]
    pool: tuple[tuple[Any, ...], ...]
    null_share: float
    skew: float

    def draw(self, rng: Random) -> tuple[Any, ...]:
        values = self.pool[int(len(self.pool) * rng.random() ** self.skew)]
        return tuple(
            None if column.nullable and rng.random() < self.null_share else value
            for column, value in zip(self.columns, values, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of a table: its columns, and the dimension whose key they hold."""

    columns: tuple[Column, ...]
    table: Table
    null_share: float


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `key` is empty where it has none, `key_is_unique` says UNIQUE, not PRIMARY KEY."""

    name: str
    key: tuple[Column, ...]
    key_is_unique: bool
    groups: tuple[Group, ...]
    references: tuple[Reference, ...]

    @property
    def attributes(self) -> tuple[Column, ...]:
        """All columns: the key's, the foreign keys', the others."""
        foreign = tuple(c for reference in self.references for c in reference.columns)
        return self.key + foreign + tuple(c for group in self.groups for c in group.columns)

    @property
    def ddl(self) -> str:
        lines = [f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in self.attributes]
        if self.key:
            constraint = "UNIQUE" if self.key_is_unique else "PRIMARY KEY"
            lines.append(f"{constraint} ({name_list(self.key)})")
        lines += [
            f"FOREIGN KEY ({name_list(reference.columns)})"
            f" REFERENCES {reference.table.name} ({name_list(reference.table.key)})"
            for reference in self.references
        ]
        return f"CREATE TABLE {self.name} ({', '.join(lines)})"


@dataclass(frozen=True, slots=True)
class Role:
    """A table as the fact table sees it: over which foreign keys, and under which alias."""

    alias: str
    table: Table
    parent: Role | None
    reference: Reference | None

    @property
    def path(self) -> tuple[Role, ...]:
        """The roles from the fact table (not included) to this one."""
        return () if self.parent is None else (*self.parent.path, self)


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows for a table, as Python values; shrinking a case drops rows from it."""

    table: Table
    rows: tuple[tuple[Any, ...], ...]

    @property
    def sql(self) -> str:
        rows = ",\n  ".join(f"({', '.join(map(literal, row))})" for row in self.rows)
        return f"INSERT INTO {self.table.name} VALUES\n  {rows}"


@dataclass(slots=True)
class Star:
    """Tables in the order of their creation (the fact table last), roles, BVHs, keys in use."""

    tables: tuple[Table, ...]
    roles: tuple[Role, ...]
    bvhs: tuple[Bvh, ...] = ()
    keys: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    @property
    def fact(self) -> Table:
        return self.tables[-1]


@dataclass(frozen=True, slots=True)
class Bvh:
    """A CREATE BVH statement and the attributes that it covers."""

    sql: str
    attributes: tuple[tuple[Role, Column], ...]
    measures: tuple[str, ...]


def name_list(columns: tuple[Column, ...]) -> str:
    return ", ".join(column.name for column in columns)


def literal(value: Any) -> str:
    """Write a Python value as SQL.

    >>> literal(datetime.date(1992, 1, 1)), literal("O'B")
    ("DATE '1992-01-01'", "'O''B'")
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case float():
            return repr(value)
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case str():
            quoted = value.replace("'", "''")
            return f"'{quoted}'"
        case _:
            raise AssertionError(f"no literal for {value!r}")


# Columns


def random_column(rng: Random, name: str, kinds: str, size: int) -> tuple[Column, tuple[Any, ...]]:
    """Return a column of one of the kinds, and its domain of about `size` values."""
    nullable = rng.random() < 0.5
    kind = rng.choice(kinds.split())
    match kind:
        case "integer":
            type_ = rng.choice(list(INTEGER_BOUNDS))
            values, absent = integer_domain(rng, *INTEGER_BOUNDS[type_], size)
        case "decimal":
            precision = rng.choice((3, 4, 7, 9, 12, 18))
            scale = rng.randint(0, min(precision, 6))
            type_ = f"DECIMAL({precision}, {scale})"
            bound = 10**precision - 1
            values, absent = integer_domain(rng, -bound, bound, size)
            values, absent = (
                [Decimal(value).scaleb(-scale) for value in some] for some in (values, absent)
            )
        case "date":
            type_ = "DATE"
            step = rng.choice((1, 1, 30, 365))
            days = [EPOCH + dt.timedelta(days=step * i) for i in range(size + 2)]
            values, absent = days[1:-1], [days[0], days[-1], days[1] + dt.timedelta(days=1)]
            if rng.random() < 0.1:
                values += [dt.date(1, 1, 1), dt.date(9999, 12, 31)]
        case "text":
            type_ = "VARCHAR"
            stem = rng.choice(STEMS)
            values = [f"{stem}{i}" for i in range(size)]
            absent = [f"{stem}{size}", f"{stem}0x", "~", stem]
            if rng.random() < 0.2:
                values.append("")
        case "boolean":
            type_, values, absent = "BOOLEAN", [False, True], [True]
        case _:
            type_ = "DOUBLE"
            # Multiples of 1/4: sums and products of some thousands of them are exact.
            values = [rng.randint(-400, 400) / 4 for _ in range(size)]
            absent = [0.125, -1000.5, 1000.5]
    column = Column(
        name,
        type_,
        kind,
        literals=(*values, *values, *absent),
        nullable=nullable,
    )
    return column, tuple(values)


def integer_domain(rng: Random, least: int, most: int, size: int) -> tuple[list[int], list[int]]:
    """Return values within the bounds, and values near them that are not in the domain."""
    step = rng.choice((1, 1, 1, 2, 10, 1000))
    start = rng.choice((0, 0, 1, -3, 1990))
    values = [start + step * i for i in range(size)]
    values = [value for value in values if least <= value <= most] or [0]
    absent = [values[0] - 1, values[-1] + 1, values[-1] + 1000]
    if rng.random() < 0.15:
        values += [least, most]
    return values, [value for value in absent if value not in values and least <= value <= most]


def attribute_group(rng: Random, prefix: str) -> Group:
    """Return one attribute with a small domain."""
    column, values = random_column(
        rng, f"{prefix}_a", "integer integer text text decimal date boolean double", size(rng)
    )
    return Group((column,), tuple((v,) for v in values), rng.choice((0.1, 0.4)), rng.choice((1, 2)))


def size(rng: Random) -> int:
    """Return a domain's size, most often small."""
    return rng.choice((1, 2, 3, 5, 8, 25, 100, 2000))


def hierarchy_group(rng: Random, prefix: str) -> Group:
    """Return region > nation > city: each value of a level lies in one value of the level above."""
    levels = rng.choice((2, 3))
    counts = [rng.randint(1, 4)]
    while len(counts) < levels:
        counts.append(counts[-1] * rng.randint(1, 3))
    columns, domains = [], []
    for level, count in enumerate(counts):
        kind = "integer" if rng.random() < 0.3 else "text"
        column, _ = random_column(rng, f"{prefix}_l{level}", kind, 2)
        domain: list[Any] = list(range(10, 10 + count))
        if kind == "text":
            domain = [f"{prefix}{level}{i}" for i in range(count)]
        # Half of the hierarchies are not in the order of their names.
        if rng.random() < 0.5:
            rng.shuffle(domain)
        columns.append(
            Column(
                column.name,
                "SMALLINT" if kind == "integer" else "VARCHAR",
                kind,
                (*domain, *domain, 99 if kind == "integer" else "zz"),
                nullable=column.nullable and rng.random() < 0.3,
            )
        )
        domains.append(domain)
    pool = tuple(
        tuple(domain[leaf * len(domain) // counts[-1]] for domain in domains)
        for leaf in range(counts[-1])
    )
    return Group(tuple(columns), pool, 0.2, rng.choice((1, 2)))


def renamed(group: Group, suffix: str) -> Group:
    """Return the group with a number at the end of its columns' names, to keep them apart."""
    columns = tuple(
        Column(f"{c.name}{suffix}", c.type, c.kind, c.literals, c.nullable) for c in group.columns
    )
    return Group(columns, group.pool, group.null_share, group.skew)


def measure_groups(rng: Random) -> list[Group]:
    """Return the fact table's measures: columns with wide domains, signed, with NULLs."""
    groups = []
    for i in range(rng.randint(1, 4)):
        scale = 0
        shapes = ["small", "integer", "integer", "big", "decimal", "decimal", "double"]
        # A BVH takes no UBIGINT as a measure.
        match rng.choice([*shapes, "unsigned"] if groups else shapes):
            case "small":
                type_, kind, bound, digits = "SMALLINT", "integer", 1000, 3
            case "integer":
                # Products of two of them stay below 2**31.
                type_, kind, bound, digits = "INTEGER", "integer", rng.choice((5, 100, 30_000)), 4
            case "big":
                # A thousand of them stay below 2**63.
                type_, kind, bound, digits = "BIGINT", "integer", 4 * 10**15, 19
            case "unsigned":
                type_, kind, digits = "UBIGINT", "integer", 20
                bound = rng.choice((1000, 2**64 - 1))
            case "decimal":
                digits, scale = rng.choice(((4, 1), (9, 2), (12, 4), (15, 2)))
                type_, kind, bound = f"DECIMAL({digits}, {scale})", "decimal", 10**digits - 1
            case _:
                type_, kind, bound, digits = "DOUBLE", "double", 4000, 0
        integers = [rng.randint(-bound, bound) for _ in range(60)] + [bound, -bound]
        if type_ == "UBIGINT" or rng.random() < 0.3:
            integers = [abs(value) for value in integers]
        values: list[Any] = integers
        if kind == "decimal":
            values = [Decimal(value).scaleb(-scale) for value in integers]
        elif kind == "double":
            values = [value / 4 for value in integers]
        column = Column(f"f_m{i}", type_, kind, tuple(values[:10]), rng.random() < 0.4, digits)
        groups.append(Group((column,), tuple((v,) for v in values), 0.2, 1))
    return groups


# Tables


def random_dimension(rng: Random, name: str, parents: tuple[Table, ...]) -> Table:
    """Return a dimension of 1 to 6 attributes; `parents` are the dimensions that it refers to."""
    key = tuple(random_key(rng, f"{name}_k{i}") for i in range(2 if rng.random() < 0.1 else 1))
    groups = [renamed(attribute_group(rng, name), str(i)) for i in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        groups.append(hierarchy_group(rng, name))
    references = [random_reference(rng, f"{name}_r{i}", table) for i, table in enumerate(parents)]
    return Table(name, key, rng.random() < 0.1, tuple(groups), tuple(references))


def random_key(rng: Random, name: str) -> Column:
    """Return a column of a dimension's key, whose literals are some rows' keys."""
    type_ = rng.choice(("INTEGER", "BIGINT", "SMALLINT", "UBIGINT", "VARCHAR"))
    kind = "text" if type_ == "VARCHAR" else "integer"
    rows = (0, 1, 2, 3, 5, 40)
    return Column(name, type_, kind, tuple(key_value(kind, row) for row in rows), nullable=False)


def key_value(kind: str, row: int) -> Any:
    """Return the key of a row: not dense, not in the order of the rows."""
    number = (row * 37) % 101 + 101 * (row // 101)
    return number if kind == "integer" else f"key {number}"


def random_reference(rng: Random, name: str, table: Table) -> Reference:
    """Return a foreign key; half of them are NULL in some rows, or in all but a few."""
    null_share = rng.choice((0, 0, 0, 0.1, 0.3, 0.95))
    columns = tuple(
        Column(f"{name}{i}", key.type, key.kind, key.literals, nullable=null_share > 0)
        for i, key in enumerate(table.key)
    )
    return Reference(columns, table, null_share)


def random_star(rng: Random) -> Star:
    """Return a star of 1 to 3 dimensions, perhaps a snowflake, perhaps with two roles of one."""
    tables: list[Table] = []
    for i in range(rng.randint(1, 3)):
        parents = (tables[-1],) if tables and rng.random() < 0.3 else ()
        tables.append(random_dimension(rng, f"d{i}", parents))
    inner = {reference.table.name for table in tables for reference in table.references}
    referenced = [t for t in tables if t.name not in inner or rng.random() < 0.3]
    if rng.random() < 0.25:
        referenced.append(rng.choice(referenced))
    rng.shuffle(referenced)
    key = ()
    if rng.random() < 0.4:
        key = (Column("f_k", "INTEGER", "integer", (0, 37, 74, 1), nullable=False),)
    groups = [renamed(attribute_group(rng, "f"), str(i)) for i in range(rng.randint(0, 2))]
    fact = Table(
        "f",
        key,
        False,
        (*groups, *measure_groups(rng)),
        tuple(random_reference(rng, f"f_r{i}", table) for i, table in enumerate(referenced)),
    )
    star = Star((*tables, fact), tuple(roles_of(fact)))
    star.bvhs = tuple(random_bvh(rng, star, i) for i in range(rng.randint(1, 3)))
    return star


def roles_of(fact: Table) -> list[Role]:
    """Return the fact table's role and those of all dimensions that it reaches."""
    roles = [Role(fact.name, fact, None, None)]
    for role in roles:  # grows while it is walked: breadth first
        for reference in role.table.references:
            taken = sum(other.table is reference.table for other in roles)
            alias = f"{reference.table.name}_{taken}" if taken else reference.table.name
            roles.append(Role(alias, reference.table, role, reference))
    return roles


# Rows


def random_insert(rng: Random, star: Star, table: Table, row_count: int) -> Insert:
    """Return rows whose keys are new and whose foreign keys exist; `star.keys` learns the keys."""
    keys = star.keys.setdefault(table.name, [])
    rows = []
    for _ in range(row_count):
        key = tuple(key_value(column.kind, len(keys)) for column in table.key)
        keys.append(key)
        foreign: list[Any] = []
        for reference in table.references:
            known = star.keys[reference.table.name]
            if rng.random() < reference.null_share:
                foreign += [None] * len(reference.columns)
            else:
                foreign += rng.choice(known)
        others = [value for group in table.groups for value in group.draw(rng)]
        rows.append((*key, *foreign, *others))
    return Insert(table, tuple(rows))


def random_rows(rng: Random, star: Star) -> list[Insert]:
    """Return the first rows of all tables: 1 to 30 in a dimension, 0 to 400 in the fact table."""
    inserts = [random_insert(rng, star, table, rng.randint(1, 30)) for table in star.tables[:-1]]
    row_count = rng.randint(
        *rng.choice(((0, 1), (2, 40), (2, 40), (40, 400), (40, 400), (40, 400)))
    )
    if row_count:
        insert = random_insert(rng, star, star.fact, row_count)
        inserts.append(ordered(rng, insert) if rng.random() < 0.4 else insert)
    return inserts


def ordered(rng: Random, insert: Insert) -> Insert:
    """Return rows in the order of one column, so that zone maps say something."""
    place = rng.randrange(len(insert.table.attributes))
    known = [row for row in insert.rows if row[place] is not None]
    missing = [row for row in insert.rows if row[place] is None]
    return Insert(insert.table, (*sorted(known, key=lambda row: row[place]), *missing))


def more_rows(rng: Random, star: Star) -> list[Insert]:
    """Return rows to append between queries: to the fact table, before that to a dimension."""
    inserts = []
    if rng.random() < 0.4:
        inserts.append(random_insert(rng, star, rng.choice(star.tables[:-1]), rng.randint(1, 3)))
    return [*inserts, random_insert(rng, star, star.fact, rng.randint(1, 20))]


# BVHs


def random_bvh(rng: Random, star: Star, number: int) -> Bvh:
    """Return a BVH, perhaps sieved, over random attributes and measures of the fact table."""
    roles = [role for role in star.roles if has_name(star, role)]
    attributes = [(role, c) for role in roles for c in role.table.attributes]
    if rng.random() < 0.8:
        attributes = [(role, c) for role, c in attributes if not c.name.startswith("f_m")]
    scan = rng.sample(attributes, min(len(attributes), rng.randint(1, 4)))
    group_by = rng.sample(attributes, min(len(attributes), rng.randint(1, 3)))
    measures = random_measures(rng, star.fact, rng.randint(1, 3), most_bits=64)
    parts = [
        f"SCAN ({', '.join(bvh_name(star, *a) for a in scan)})",
        f"GROUP BY ({', '.join(bvh_name(star, *a) for a in group_by)})",
        f"AGGREGATE ({', '.join(measures)})",
    ]
    # Each part may be left out, but not all.
    parts = [part for part in parts if rng.random() < 0.85] or parts
    options = " WITH (sieve = true)" if rng.random() < 0.3 else ""
    sql = f"CREATE BVH b{number} ON {star.fact.name} ({', '.join(parts)}){options}"
    return Bvh(sql, tuple(dict.fromkeys(scan + group_by)), tuple(measures))


def bvh_name(star: Star, role: Role, column: Column) -> str:
    """Name an attribute in CREATE BVH: one of several roles by the fact table's foreign key."""
    if is_only_role(star, role):
        return column.name
    assert role.path[0].reference is not None
    return f"{role.path[0].reference.columns[0].name}.{column.name}"


def is_only_role(star: Star, role: Role) -> bool:
    return sum(other.table is role.table for other in star.roles) == 1


def has_name(star: Star, role: Role) -> bool:
    """Say whether CREATE BVH can name a role; a foreign key of two columns tells none apart."""
    first = role.path[0].reference if role.path else None
    return is_only_role(star, role) or (first is not None and len(first.columns) == 1)


def random_measures(rng: Random, fact: Table, count: int, most_bits: int = 128) -> list[str]:
    """Return expressions over the fact table's measures that stay within their type.

    `most_bits` is 64 for the measures of a BVH: a BIGINT with a decimal's scale may need more.
    """
    measures = [c for c in fact.attributes if c.name.startswith("f_m")]
    if most_bits == 64:
        measures = [c for c in measures if c.type != "UBIGINT"]
    expressions = []
    for _ in range(count):
        left, right = rng.choice(measures), rng.choice(measures)
        shape = rng.random()
        text = left.name
        # Doubles are exact with each other only; SMALLINTs and UBIGINTs may leave their type.
        if {"SMALLINT", "UBIGINT"} & {left.type, right.type} or (left.kind == "double") != (
            right.kind == "double"
        ):
            shape = 0
        if most_bits == 64 and left.type != right.type and "BIGINT" in {left.type, right.type}:
            shape = 0
        if 0.5 < shape < 0.75:
            text = f"{left.name} {rng.choice('+-')} {right.name}"
        # DuckDB multiplies decimals of up to 18 digits in 64 bits.
        elif shape >= 0.9 and left.kind == "decimal" and left.digits <= 8:
            text = f"{left.name} * (1 - {left.name})"
        elif shape >= 0.75 and left.digits + right.digits <= 18:
            text = f"{left.name} * {right.name}"
        expressions.append(text)
    return list(dict.fromkeys(expressions))
