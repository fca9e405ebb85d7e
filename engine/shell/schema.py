"""The schema of a database, read with SQL as any user could, and the statements that make it."""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from raydb.errors import ProgrammingError, did_you_mean
from raydb.keywords import quoted
from raydb.names import find_object, fold
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# A table with its schema, as messages name it.
_TABLE = "CASE table_schema WHEN 'main' THEN '' ELSE table_schema || '.' END || table_name"
_COLUMNS = f"""
SELECT {_TABLE}, column_name,
    declared_type || coalesce(' COLLATE ' || collation_name, ''), is_nullable = 'YES', coalesce(
    'DEFAULT ' || column_default,
    'GENERATED ALWAYS AS (' || generation_expression || ')',
    'GENERATED ' || identity_generation || ' AS IDENTITY (START WITH ' || identity_start
        || ' INCREMENT BY ' || identity_increment || ' MINVALUE ' || identity_minimum
        || ' MAXVALUE ' || identity_maximum
        || CASE identity_cycle WHEN 'YES' THEN ' CYCLE)' ELSE ')' END)
FROM information_schema.columns WHERE table_catalog = 'raydb'
ORDER BY 1, ordinal_position
"""  # noqa: S608  (no value of a user)
_RELATIONS = f"""
SELECT {_TABLE}
FROM information_schema.tables WHERE table_catalog = 'raydb'
"""  # noqa: S608  (no value of a user)
_SCHEMAS = """
SELECT schema_name FROM information_schema.schemata
WHERE catalog_name = 'raydb' AND schema_name NOT IN ('main', 'information_schema')
"""
_CONSTRAINTS = """
WITH known AS (
    SELECT *, CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END AS place,
        CASE referenced_schema WHEN 'main' THEN '' ELSE referenced_schema || '.' END AS there
    FROM duckdb_constraints() WHERE database_name = 'raydb' AND constraint_type <> 'NOT NULL')
SELECT place || table_name, table_name, constraint_name, constraint_type, expression,
    constraint_column_names, there || referenced_table, place <> '' AND there = '',
    referenced_column_names, delete_rule, update_rule
FROM known
"""
_TEXT_INDEXES = "SELECT name, 'fts', concat('stemmer = ''', stemmer, '''') FROM text_indexes()"
_INDEXES = """
WITH known AS (
    SELECT *, CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END AS place
    FROM duckdb_indexes() WHERE database_name = 'raydb')
SELECT place || index_name, index_name, place || table_name, is_unique, column_names, descending
FROM known
"""
_SEQUENCES = """
SELECT CASE sequence_schema WHEN 'main' THEN '' ELSE sequence_schema || '.' END || sequence_name,
    ' START ' || start_value || ' INCREMENT ' || increment || ' MINVALUE ' || minimum_value
    || ' MAXVALUE ' || maximum_value
    || CASE cycle_option WHEN 'YES' THEN ' CYCLE' ELSE '' END
FROM information_schema.sequences
"""
_TYPES = """
SELECT user_defined_type_name, data_type FROM information_schema.user_defined_types
"""
_RESTARTS = """
SELECT CASE WHEN table_name IS NULL THEN 'ALTER SEQUENCE ' ELSE 'ALTER TABLE ' END,
    coalesce(table_name, name), column_name, ' RESTART WITH ' || next_value || ';'
FROM sequences() WHERE next_value <> start_value
"""
_VIEWS = f"""
SELECT {_TABLE}, view_definition FROM information_schema.views WHERE table_catalog = 'raydb'
"""  # noqa: S608  (no value of a user)
_MACROS = """
SELECT CASE routine_schema WHEN 'main' THEN '' ELSE routine_schema || '.' END || routine_name,
    routine_definition
FROM information_schema.routines WHERE routine_catalog = 'raydb'
"""
_ATTACHED = """
SELECT table_catalog, table_name FROM information_schema.tables
WHERE table_catalog <> 'raydb' ORDER BY 1, 2
"""
_COMMENTS = "SELECT upper(kind), name, column_name, quote_nullable(comment) FROM comments()"
_IDENTITIES = "SELECT table_name, column_name, name FROM sequences() WHERE table_name IS NOT NULL"
_OPTIONS = f"""
SELECT {_TABLE}, column_name, option_name, option_value
FROM information_schema.column_options
"""  # noqa: S608  (no value of a user)

_LINE = ",\n    "


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column of a table or a view; default is DEFAULT or GENERATED, None where there is none."""

    name: str
    type: str
    is_nullable: bool
    default: str | None

    @property
    def is_computed(self) -> bool:
        """Whether the column is generated of others, so that no statement gives it values."""
        return (self.default or "").startswith("GENERATED ALWAYS AS (")


@dataclass(frozen=True, slots=True)
class _Constraint:
    """A constraint of a table, as SQL writes it; `target` is the table it refers to."""

    text: str
    target: str | None = None


def relation_names(connection: Any, pattern: str | None = None) -> list[str]:
    """Return the tables and views: all, or those whose names match, as in `lo_%` or `lo_*`."""
    rows = connection.execute(_RELATIONS).fetchall()
    return [name for (name,) in rows if pattern is None or _matches(name, pattern)]


def attached_names(connection: Any) -> dict[str, list[str]]:
    """Return the tables and views of each attached database."""
    names = connection.execute("SHOW DATABASES").fetchall()
    found: dict[str, list[str]] = {name: [] for (name,) in names if name != "raydb"}
    for database, name in connection.execute(_ATTACHED) if found else ():
        found[database].append(name)
    return found


def schema_names(connection: Any) -> list[str]:
    """Return the schemas beside main."""
    return [name for (name,) in connection.execute(_SCHEMAS).fetchall()]


def quoted_in(name: str, schemas: Iterable[str]) -> str:
    """Return a name as SQL has to write it, of something in one of some schemas or in main.

    >>> quoted_in("sales.Odd name", ["sales"]), quoted_in("t", ["sales"])
    ('sales."Odd name"', 't')
    """
    for schema in schemas:
        if name.startswith(f"{schema}."):
            return f"{quoted(schema)}.{quoted(name[len(schema) + 1 :])}"
    return quoted(name)


def columns_by_relation(connection: Any) -> dict[str, list[ColumnInfo]]:
    """Return the columns of every table and view."""
    found: dict[str, list[ColumnInfo]] = {name: [] for name in relation_names(connection)}
    for name, *rest in connection.execute(_COLUMNS):
        found[name].append(ColumnInfo(*rest))
    return found


@dataclass(frozen=True, slots=True)
class SchemaParts:
    """The statements that make a schema: types, sequences, tables by name, indexes, views, RayDB's.

    Macros are made before the views that may call them.

    own: indexes of vectors and BVHs. references: the foreign keys that wait for rows or for
    another table. restarts: lets sequences go on where they stand.
    """

    types: list[str]
    sequences: list[str]
    tables: list[tuple[str, str]]
    references: list[str]
    indexes: list[str]
    views: list[str]
    own: list[str]
    restarts: list[str]
    comments: list[str]


def schema_statements(connection: Any, pattern: str | None = None) -> Iterator[str]:
    """Yield the statements that make types, sequences, tables, indexes, BVHs and views, in order.

    Raises ProgrammingError where no table or view has the name or matches the pattern.
    """
    parts = schema_parts(connection, pattern)
    yield from (*parts.types, *parts.sequences)
    yield from (statement for _, statement in parts.tables)
    yield from (*parts.references, *parts.indexes, *parts.own, *parts.views, *parts.comments)


def schema_parts(
    connection: Any, pattern: str | None = None, *, self_later: bool = False
) -> SchemaParts:
    """Return the statements that make tables and views as they are; errors as they have.

    self_later: whether foreign keys of a table to itself wait for its rows.
    """
    names = relation_names(connection, pattern)
    if pattern is not None and not names:
        near = did_you_mean(pattern, relation_names(connection))
        raise ProgrammingError(f"there is no table or view '{pattern}'{near}")
    schemas = schema_names(connection)
    written = partial(quoted_in, schemas=schemas)
    views = dict(connection.execute(_VIEWS))
    known = connection.execute("SELECT name, method, options FROM vector_indexes()").fetchall()
    known += connection.execute(_TEXT_INDEXES).fetchall()
    options = {name: (method, given) for name, method, given in known}
    indexes, own = [], []
    for whole, name, table, is_unique, *listed in connection.execute(_INDEXES):
        keys = [
            quoted(column) + (" DESC" if descends else "")
            for column, descends in zip(*listed, strict=True)
        ]
        kind, where = "UNIQUE INDEX" if is_unique else "INDEX", written(table)
        if table in names and whole in options:
            method, given = options[whole]
            where = f"{where} USING {method} ({keys[0]}) WITH ({given})"
            own.append(f"CREATE INDEX {quoted(name)} ON {where};")
        elif table in names:
            indexes.append(f"CREATE {kind} {quoted(name)} ON {where} ({', '.join(keys)});")
    sequences = [] if pattern is not None else connection.execute(_SEQUENCES).fetchall()
    tables, references = _tables(
        connection, [name for name in names if name not in views], self_later, written
    )
    columns = columns_by_relation(connection)
    made = {name: columns[name] for name, _ in tables}
    return SchemaParts(
        [
            *(f"CREATE SCHEMA {quoted(each)};" for each in _used(schemas, names, pattern)),
            *_types(connection, names),
        ],
        [f"CREATE SEQUENCE {written(name)}{options};" for name, options in sequences],
        tables,
        [*_renames(connection, made, {name for name, _ in sequences}, written), *references],
        indexes,
        [
            *(
                f"CREATE MACRO {written(name)}{text};"
                for name, text in (() if pattern is not None else connection.execute(_MACROS))
            ),
            *(f"CREATE VIEW {written(name)} AS {views[name]};" for name in names if name in views),
        ],
        [*own, *_bvhs(connection, names)],
        list(_restarts(connection, None if pattern is None else names, written)),
        list(_comments(connection, names, pattern, written)),
    )


def _comments(
    connection: Any, names: list[str], pattern: str | None, written: Callable[[str], str]
) -> Iterator[str]:
    """Yield the comments: on some tables, views and columns, or all that there are."""
    for kind, name, column, text in connection.execute(_COMMENTS):
        if pattern is None or (kind in ("TABLE", "VIEW", "COLUMN") and name in names):
            word = "MACRO TABLE" if kind == "TABLE MACRO" else kind
            place = written(name) + (f".{quoted(column)}" if column else "")
            yield f"COMMENT ON {word} {place} IS {text};"


def _used(schemas: list[str], names: list[str], pattern: str | None) -> list[str]:
    """Return the schemas of some tables and views; all of them where there is no pattern."""
    return [
        each
        for each in schemas
        if pattern is None or any(name.startswith(f"{each}.") for name in names)
    ]


def _types(connection: Any, tables: list[str]) -> Iterator[str]:
    """Yield CREATE TYPE for the types of some tables; for all types where these are all tables."""
    columns = columns_by_relation(connection)
    used = " ".join(each.type for name in tables for each in columns[name])
    is_whole = len(tables) == len(columns)
    for name, written in connection.execute(_TYPES):
        if is_whole or re.search(rf"(?<!\w){re.escape(quoted(name))}(?!\w)", used):
            yield f"CREATE TYPE {quoted(name)} AS {written};"


def _restarts(
    connection: Any, tables: list[str] | None, written: Callable[[str], str]
) -> Iterator[str]:
    """Yield the statements for sequences: of the columns of some tables, or for all."""
    for begin, name, column, end in connection.execute(_RESTARTS):
        if tables is None or (column is not None and name in tables):
            altered = "" if column is None else f" ALTER {quoted(column)}"
            yield f"{begin}{written(name)}{altered}{end}"


def _renames(
    connection: Any,
    tables: dict[str, list[ColumnInfo]],
    others: set[str],
    written: Callable[[str], str],
) -> Iterator[str]:
    """Yield what gives identities' sequences their names, where CREATE TABLE makes other ones.

    So it does where a table or a column has had another name. tables: in the order in which they
    are made. others: the names of sequences that are there before.
    """
    wanted = {(table, column): name for table, column, name in connection.execute(_IDENTITIES)}
    taken, pending = set(others), {}
    for table, columns in tables.items():
        for column in columns:
            if (table, column.name) not in wanted:
                continue
            stem = f"{table}_{column.name}_seq"
            numbered = (f"{stem}{number or ''}" for number in count())
            name = next(each for each in numbered if each not in taken)
            taken.add(name)
            pending[name] = wanted[table, column.name]
    pending = {name: to for name, to in pending.items() if name != to}
    while pending:
        name = next((name for name, to in pending.items() if to not in taken), "")
        if name:
            to = pending.pop(name)
        else:  # Each waits for another one, so the first goes aside.
            name, final = pending.popitem()
            to = next(each for each in (f"{name}{n}" for n in count()) if each not in taken)
            pending[to] = final
        taken = {*taken, to} - {name}
        yield f"ALTER SEQUENCE {written(name)} RENAME TO {_bare(to, written)};"


def _bare(name: str, written: Callable[[str], str]) -> str:
    """Return a name without its schema, as SQL has to write it."""
    if written(name) == quoted(name):
        return quoted(name)
    return quoted(name.partition(".")[2])


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(fold(name), fold(pattern).replace("%", "*"))


def _tables(
    connection: Any, names: list[str], self_later: bool, written: Callable[[str], str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return some tables and their CREATE TABLE, those that others refer to before these.

    Then the statements for foreign keys that make a circle, or refer to their own table, and for
    defaults that need another table.
    """
    columns = columns_by_relation(connection)
    constraints = _constraints(connection, written)
    options = defaultdict[str, list[str]](list)
    for table, column, option, value in connection.execute(_OPTIONS):
        options[table].append(f"{quoted(column)}.{option} = {value}")
    identities = {each: table for table, _, each in connection.execute(_IDENTITIES)}
    left = list(names)
    tables, references, defaults = [], [], []
    while left:
        waits = {
            name: any(c.target in left and c.target != name for c in constraints[name])
            for name in left
        }
        name = next((name for name in left if not waits[name]), left[0])
        left.remove(name)
        lines = []
        for column in columns[name]:
            if _takes_of_another(column, name, identities):
                altered = f"ALTER TABLE {written(name)} ALTER {quoted(column.name)}"
                defaults.append(f"{altered} SET {column.default};")
                lines.append(_column(replace(column, default=None)))
            else:
                lines.append(_column(column))
        for constraint in constraints[name]:
            if constraint.target in left or (self_later and constraint.target == name):
                references.append(f"ALTER TABLE {written(name)} ADD {constraint.text};")
            else:
                lines.append(constraint.text)
        text = f"{_LINE.join(lines)}\n){_with(options[name])};"
        tables.append((name, f"CREATE TABLE {written(name)} (\n    {text}"))
    return tables, [*references, *defaults]


def _takes_of_another(column: ColumnInfo, table: str, identities: dict[str, str]) -> bool:
    """Tell whether a default takes values of the sequence of another table's identity."""
    default = column.default or ""
    return default.startswith("DEFAULT") and any(
        _as_text(name) in fold(default) for name, owner in identities.items() if owner != table
    )


def _as_text(name: str) -> str:
    return fold("'" + name.replace("'", "''") + "'")


def _with(options: list[str]) -> str:
    return f" WITH (\n    {_LINE.join(options)}\n)" if options else ""


def _column(column: ColumnInfo) -> str:
    not_null = "" if column.is_nullable else " NOT NULL"
    default = "" if column.default is None else f" {column.default}"
    return f"{quoted(column.name)} {column.type}{not_null}{default}"


def _constraints(connection: Any, written: Callable[[str], str]) -> dict[str, list[_Constraint]]:
    found = defaultdict[str, list[_Constraint]](list)
    for table, bare, name, kind, check, columns, *reference in connection.execute(_CONSTRAINTS):
        target = None
        match kind:
            case "CHECK":
                text = f"CHECK ({check})"
            case "FOREIGN KEY":
                target, is_elsewhere, others, *rules = reference
                there = f"main.{written(target)}" if is_elsewhere else written(target)
                text = f"FOREIGN KEY {_listed(columns)} REFERENCES {there} {_listed(others)}"
                for event, rule in zip(("DELETE", "UPDATE"), rules, strict=True):
                    text += "" if rule == "NO ACTION" else f" ON {event} {rule}"
            case _:
                text = f"{kind} {_listed(columns)}"
        # A name that the table would give it as well is left out.
        if not re.fullmatch(rf"{re.escape(bare)}_(.*_)?(pkey|key|fkey|check)\d*", name):
            text = f"CONSTRAINT {quoted(name)} {text}"
        found[table].append(_Constraint(text, target))
    return found


def _listed(columns: Iterable[str]) -> str:
    return f"({', '.join(map(quoted, columns))})"


def _bvhs(connection: Any, tables: list[str]) -> Iterator[str]:
    query = "SELECT name, table_name, sieve, scan, group_by, aggregate FROM bvhs()"
    for name, table, has_sieve, scan, group_by, aggregate in connection.execute(query):
        if table in tables:
            parts = (("SCAN", scan), ("GROUP BY", group_by), ("AGGREGATE", aggregate))
            listed = ",\n".join(f"    {part} ({items})" for part, items in parts if items)
            options = " WITH (sieve = true)" if has_sieve else ""
            yield f"CREATE BVH {quoted(name)} ON {quoted(table)} (\n{listed}\n){options};"


def import_statement(
    connection: Any, file: str, table: str, file_format: str | None, skipped_lines: int
) -> str:
    """Return COPY for a table that exists, else CREATE TABLE AS.

    file_format: None where the extension tells it.

    >>> import_statement(connection, "pets.txt", "pet", "csv", 1)
    "CREATE TABLE pet AS SELECT * FROM read_csv('pets.txt', skip => 1)"
    """
    known = find_object(table, relation_names(connection), "table")
    name = quoted(known or table)
    path = "'" + file.replace("'", "''") + "'"
    if known is not None:
        options = [] if file_format is None else [f"FORMAT {file_format}"]
        options += [f"SKIP {skipped_lines}"] if skipped_lines else []
        listed = f" ({', '.join(options)})" if options else ""
        return f"COPY {name} FROM {path}{listed}"
    if file_format is None and not skipped_lines:
        return f"CREATE TABLE {name} AS SELECT * FROM {path}"  # noqa: S608  (a literal)
    skip = f", skip => {skipped_lines}" if skipped_lines else ""
    return f"CREATE TABLE {name} AS SELECT * FROM read_csv({path}{skip})"  # noqa: S608  (as above)


def has_external_access(connection: Any) -> bool:
    """Say whether statements, and so dot commands, may read and write files."""
    return bool(connection.execute("SHOW external_access").fetchone() == ("on",))
