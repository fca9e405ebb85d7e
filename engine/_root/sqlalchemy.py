"""The SQLAlchemy dialect: `create_engine("raydb:///shop.raydb")`.

    raydb:///shop.raydb                     a path relative to the working directory
    raydb:////data/shop.raydb               an absolute one
    raydb://                                a database in memory
    raydb:///shop.raydb?read_only=true      the options of raydb.connect

An engine may have a pool of any size: its connections share the database, each with a transaction
of its own. A database in memory is that of one engine and lives as long.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import Sequence, types
from sqlalchemy.engine import default, reflection
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.sql import compiler, sqltypes
from sqlalchemy.sql.compiler import InsertmanyvaluesSentinelOpts

import raydb
from raydb.names import find_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from sqlalchemy.engine import URL, Connection
    from sqlalchemy.engine.interfaces import (
        ReflectedCheckConstraint,
        ReflectedColumn,
        ReflectedForeignKeyConstraint,
        ReflectedIndex,
        ReflectedPrimaryKeyConstraint,
        ReflectedTableComment,
        ReflectedUniqueConstraint,
    )

    from raydb.engine.api.connection import Connection as OwnConnection

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_TYPES: Mapping[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.SMALLINT,
    "SMALLINT": types.SMALLINT,
    "INTEGER": types.INTEGER,
    "BIGINT": types.BIGINT,
    "UTINYINT": types.SMALLINT,
    "USMALLINT": types.INTEGER,
    "UINTEGER": types.BIGINT,
    "UBIGINT": types.NUMERIC,
    "HUGEINT": types.NUMERIC,
    "REAL": types.REAL,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "BLOB": types.BLOB,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
    "INTERVAL": types.Interval,
}
_SWITCH = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


class _JSONPath(sqltypes.JSON.JSONPathType):
    """Keys and indices, which become '$."a"[0]'; one of them alone is a path as well."""

    def bind_processor(self, dialect: Any) -> Any:
        """Return what makes a path of a parameter."""

        def path(value: Any) -> str:
            steps = [value] if isinstance(value, str | int) else value
            return "$" + "".join(
                f"[{each}]" if isinstance(each, int) else f'."{each}"' for each in steps
            )

        return path


class _JSONIndex(_JSONPath, sqltypes.JSON.JSONIndexType):
    """One key or index."""


class RayCompiler(compiler.SQLCompiler):
    """Writes queries and changes of rows."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Return LIMIT and OFFSET, each of which may stand alone."""
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Return nothing: transactions do not wait for rows."""
        return ""

    def visit_empty_set_expr(self, element_types: Iterable[Any], **kw: Any) -> str:
        """Return a query without rows, for an IN without values."""
        columns = ", ".join("1" for _ in element_types) or "1"
        return f"SELECT {columns} WHERE 1 = 0"

    def visit_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return ILIKE."""
        return self._like(binary, "ILIKE", **kw)

    def visit_not_ilike_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return NOT ILIKE."""
        return self._like(binary, "NOT ILIKE", **kw)

    def _like(self, binary: Any, word: str, **kw: Any) -> str:
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        escape = binary.modifiers.get("escape")
        ending = "" if escape is None else f" ESCAPE {self.render_literal_value(escape, _TEXT)}"
        return f"{left} {word} {right}{ending}"

    def visit_json_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return `json -> path`, or its text in another type that is asked for."""
        json, path = self.process(binary.left, **kw), self.process(binary.right, **kw)
        if issubclass(binary.type._type_affinity, sqltypes.JSON):
            return f"({json} -> {path})"
        kind = self.dialect.type_compiler_instance.process(binary.type)
        return f"CAST({json} ->> {path} AS {kind})"

    def visit_json_path_getitem_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return the same of a path of several keys."""
        return self.visit_json_getitem_op_binary(binary, operator, **kw)

    def visit_sequence(self, sequence: Any, **kw: Any) -> str:
        """Return the call of nextval()."""
        name = self.preparer.format_sequence(sequence)
        return f"nextval({self.render_literal_value(name, _TEXT)})"


_TEXT = sqltypes.String()


class RayDDLCompiler(compiler.DDLCompiler):
    """Writes definitions."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        """Return a column; the integer primary key that has no default makes its own values."""
        text = super().get_column_specification(column, **kw)
        makes_keys = column is column.table._autoincrement_column
        if makes_keys and column.identity is None and not isinstance(column.default, Sequence):
            text += " GENERATED BY DEFAULT AS IDENTITY"
        return text


class RayTypeCompiler(compiler.GenericTypeCompiler):
    """Writes types; SQL's own names are right but for these."""

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        """Return TIMESTAMP, with a time zone where the type has one."""
        return self.visit_TIMESTAMP(type_, **kw)

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        """Return TIMESTAMP, with a time zone where the type has one."""
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        """Return DOUBLE, or REAL where 24 bits are enough."""
        return "REAL" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        """Return VARCHAR, which has no limit."""
        return "VARCHAR"

    visit_CLOB = visit_NCLOB = visit_NVARCHAR = visit_VARCHAR = visit_TEXT
    visit_CHAR = visit_NCHAR = visit_UUID = visit_JSON = visit_TEXT

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:
        """Return BLOB."""
        return "BLOB"

    visit_VARBINARY = visit_BINARY

    def visit_interval(self, type_: Any, **kw: Any) -> str:
        """Return INTERVAL."""
        return "INTERVAL"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        """Return the type of lists."""
        return self.process(type_.item_type, **kw) + "[]" * (type_.dimensions or 1)


class RayDialect(default.DefaultDialect):
    """RayDB for SQLAlchemy 2."""

    name = "raydb"
    driver = "raydb"
    default_paramstyle = "qmark"
    statement_compiler = RayCompiler
    ddl_compiler = RayDDLCompiler
    type_compiler_cls = RayTypeCompiler
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = True
    supports_default_values = True
    supports_identity_columns = True
    supports_sane_multi_rowcount = False
    colspecs = {  # noqa: RUF012  (SQLAlchemy's own is such a mapping)
        sqltypes.JSON.JSONIndexType: _JSONIndex,
        sqltypes.JSON.JSONPathType: _JSONPath,
    }
    supports_alter = True
    supports_sequences = True
    sequences_optional = False
    preexecute_autoincrement_sequences = False
    use_insertmanyvalues = True
    insertmanyvalues_implicit_sentinel = InsertmanyvaluesSentinelOpts.ANY_AUTOINCREMENT
    insert_returning = update_returning = delete_returning = True
    requires_name_normalize = False
    postfetch_lastrowid = False

    def __init__(self, **kw: Any) -> None:
        super().__init__(**kw)
        self._memory: OwnConnection | None = None
        self._making = threading.Lock()

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the module."""
        return raydb

    def create_connect_args(self, url: URL) -> tuple[list[str], dict[str, bool]]:
        """Return what raydb.connect takes. Raises ArgumentError for options that it lacks."""
        return [url.database or ":memory:"], _options(url)

    def connect(self, *names: Any, **options: Any) -> Any:
        """Return a connection; all those to a database in memory share that of the engine."""
        if names != (":memory:",) or options.get("read_only"):
            return raydb.connect(*names, **options)
        with self._making:
            if self._memory is None:
                self._memory = raydb.connect(*names, **options)
            return self._memory.duplicate()

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin; RayDB commits each statement otherwise."""
        dbapi_connection.begin()

    def _get_default_schema_name(self, connection: Connection) -> str:
        return "main"

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return tuple(int(part) for part in raydb.__version__.split("."))

    # -- reflection

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        """Return the one schema."""
        return ["main"]

    @reflection.cache
    def get_table_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the tables."""
        return _tables(connection, "BASE TABLE")

    @reflection.cache
    def get_view_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the views."""
        return _tables(connection, "VIEW")

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Tell whether there is a table or a view of a name."""
        return _made_name(connection, table_name) is not None

    @reflection.cache
    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """Return the query of a view."""
        query = (
            "SELECT view_definition FROM information_schema.views"
            " WHERE table_catalog = 'raydb' AND table_name = ?"
        )
        found = _ask_of(connection, query, view_name)
        if not found:
            raise NoSuchTableError(view_name)
        return str(found[0][0])

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        """Return the columns of a table or a view."""
        rows = _ask_of(
            connection,
            "SELECT column_name, data_type, is_nullable, column_default, identity_generation,"
            " identity_start, identity_increment FROM information_schema.columns"
            " WHERE table_catalog = 'raydb' AND table_name = ? ORDER BY ordinal_position",
            table_name,
        )
        if not rows:
            raise NoSuchTableError(table_name)
        return [_column(*row) for row in rows]

    @reflection.cache
    def get_sequence_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the sequences."""
        query = "SELECT sequence_name FROM information_schema.sequences ORDER BY 1"
        return [name for (name,) in _ask(connection, query)]

    def has_sequence(
        self, connection: Connection, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Tell whether there is a sequence of a name."""
        return sequence_name in self.get_sequence_names(connection)

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """Return the primary key."""
        for name, columns in _keys(connection, table_name, "PRIMARY KEY").items():
            return {"name": name, "constrained_columns": columns}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedUniqueConstraint]:
        """Return the UNIQUE constraints."""
        found = _keys(connection, table_name, "UNIQUE")
        return [{"name": name, "column_names": columns} for name, columns in found.items()]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """Return the foreign keys."""
        rows = _ask_of(
            connection,
            "SELECT k.constraint_name, k.column_name, u.table_name, u.column_name"
            " FROM information_schema.key_column_usage k"
            " JOIN information_schema.referential_constraints r"
            "  ON r.constraint_name = k.constraint_name"
            " JOIN information_schema.key_column_usage u"
            "  ON u.constraint_name = r.unique_constraint_name"
            "  AND u.ordinal_position = k.position_in_unique_constraint"
            " WHERE k.table_name = ? ORDER BY k.constraint_name, k.ordinal_position",
            table_name,
        )
        keys: dict[str, ReflectedForeignKeyConstraint] = {}
        for name, column, other_table, other_column in rows:
            key = keys.setdefault(
                name,
                {
                    "name": name,
                    "constrained_columns": [],
                    "referred_schema": None,
                    "referred_table": other_table,
                    "referred_columns": [],
                    "options": {},
                },
            )
            key["constrained_columns"].append(column)
            key["referred_columns"].append(other_column)
        return list(keys.values())

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedCheckConstraint]:
        """Return the CHECK constraints but those of NOT NULL."""
        rows = _ask_of(
            connection,
            "SELECT c.constraint_name, c.check_clause FROM information_schema.check_constraints c"
            " JOIN information_schema.table_constraints t"
            "  ON t.constraint_name = c.constraint_name WHERE t.table_name = ? ORDER BY 1",
            table_name,
        )
        names = {
            text: f"{table_name}_{text.removesuffix(' IS NOT NULL')}_not_null" for _, text in rows
        }
        return [{"name": name, "sqltext": text} for name, text in rows if name != names[text]]

    @reflection.cache
    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedIndex]:
        """Return the indexes."""
        rows = _ask_of(
            connection,
            "SELECT name, columns, is_unique FROM indexes() WHERE table_name = ? ORDER BY name",
            table_name,
        )
        return [
            {"name": name, "column_names": columns.split(", "), "unique": unique}
            for name, columns, unique in rows
        ]

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedTableComment:
        """Return no comment: tables have none."""
        return {"text": None}


def _options(url: URL) -> dict[str, bool]:
    options = {}
    for name, value in url.query.items():
        if name not in ("read_only", "external_access") or str(value).lower() not in _SWITCH:
            raise ArgumentError(
                f"'{name}={value}' is no option of a raydb URL: it takes read_only=true and"
                " external_access=false"
            )
        options[name] = _SWITCH[str(value).lower()]
    return options


def _ask(connection: Connection, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(query, parameters)]


def _ask_of(
    connection: Connection, query: str, table_name: str, *parameters: str
) -> list[tuple[Any, ...]]:
    """Return the rows about a table or a view, whose name is the first parameter."""
    made = _made_name(connection, table_name)
    return [] if made is None else _ask(connection, query, made, *parameters)


def _made_name(connection: Connection, name: str) -> str | None:
    """Return the name of a table or a view as it was made, found as SQL finds it."""
    query = "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'raydb'"
    known = _ask(connection, query)
    return find_object(name, [made for (made,) in known], "table")


def _tables(connection: Connection, kind: str) -> list[str]:
    query = (
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_catalog = 'raydb' AND table_type = ? ORDER BY 1"
    )
    return [name for (name,) in _ask(connection, query, kind)]


def _keys(connection: Connection, table_name: str, kind: str) -> dict[str, list[str]]:
    """Return the columns of a table's keys of a kind, by their names."""
    rows = _ask_of(
        connection,
        "SELECT t.constraint_name, k.column_name FROM information_schema.table_constraints t"
        " JOIN information_schema.key_column_usage k"
        "  ON k.constraint_name = t.constraint_name AND k.table_name = t.table_name"
        " WHERE t.table_name = ? AND t.constraint_type = ?"
        " ORDER BY t.constraint_name, k.ordinal_position",
        table_name,
        kind,
    )
    keys: dict[str, list[str]] = {}
    for name, column in rows:
        keys.setdefault(name, []).append(column)
    return keys


def _column(
    name: str, kind: str, nullable: str, default: str | None, *identity: str | None
) -> ReflectedColumn:
    column: ReflectedColumn = {
        "name": name,
        "type": _type(kind),
        "nullable": nullable == "YES",
        "default": default,
        "autoincrement": identity[0] is not None,
    }
    generation, start, increment = identity
    if generation is not None:
        assert start is not None
        assert increment is not None
        always = generation == "ALWAYS"
        found: Any = {"always": always, "start": int(start), "increment": int(increment)}
        column["identity"] = found
    return column


def _type(name: str) -> types.TypeEngine[Any]:
    """Return SQLAlchemy's type for one that SQL calls by a name."""
    if name.endswith("]"):
        return types.ARRAY(_type(name[: name.rindex("[")].replace("FLOAT", "REAL")))
    if (decimal := _DECIMAL.fullmatch(name)) is not None:
        return types.DECIMAL(int(decimal[1]), int(decimal[2]))
    if name == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    return _TYPES.get(name, sqltypes.NullType)()
