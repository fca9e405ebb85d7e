"""What a database holds, as SQLAlchemy's inspector asks for it.

A schema of SQLAlchemy is one of the database, or an attached database. Without one a name is that
of a temporary table or of the current schema.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import types
from sqlalchemy.engine import default, reflection
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.sql import sqltypes

from raydb.names import find_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection
    from sqlalchemy.engine.interfaces import (
        ReflectedCheckConstraint,
        ReflectedColumn,
        ReflectedForeignKeyConstraint,
        ReflectedIndex,
        ReflectedPrimaryKeyConstraint,
        ReflectedTableComment,
        ReflectedUniqueConstraint,
    )

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
    "UHUGEINT": types.NUMERIC,
    "REAL": types.REAL,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "BLOB": types.BLOB,
    "DATE": types.DATE,
    "TIME": types.TIME,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), types.TIMESTAMP),
    "INTERVAL": types.Interval,
    "UUID": types.UUID,
}

_OWN, _TEMP, _MAIN = "raydb", "temp", "main"


class _Place(NamedTuple):
    """A table or a view; all of it is written as it was made."""

    database: str
    schema: str
    name: str


class Reflection(default.DefaultDialect):
    """The half of the dialect that reads the catalog."""

    def _get_default_schema_name(self, connection: Connection) -> str:
        return str(_ask(connection, "SELECT current_schema()")[0][0])

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        """Return the schemas, and the databases that are attached."""
        rows = _ask(
            connection,
            "SELECT CASE database_name WHEN 'raydb' THEN schema_name ELSE database_name END AS name"
            " FROM duckdb_schemas() WHERE schema_name <> 'information_schema'"
            " AND database_name <> 'temp' GROUP BY name ORDER BY name",
        )
        return [name for (name,) in rows]

    @reflection.cache
    def get_table_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the tables."""
        return self._relations(connection, schema, "BASE TABLE")

    @reflection.cache
    def get_view_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the views."""
        return self._relations(connection, schema, "VIEW")

    @reflection.cache
    def get_temp_table_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the temporary tables."""
        return self._relations(connection, _TEMP, "LOCAL TEMPORARY")

    @reflection.cache
    def get_temp_view_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the temporary views."""
        return self._relations(connection, _TEMP, "VIEW")

    def _relations(self, connection: Connection, schema: str | None, kind: str) -> list[str]:
        query = (
            "SELECT table_catalog, table_schema, table_name FROM information_schema.tables"
            " WHERE table_type = ? ORDER BY 3"
        )
        places = self._places(schema)
        if schema is None:
            places.remove((_TEMP, _MAIN))
        found = (_Place(*row) for row in _ask(connection, query, kind))
        return [each.name for each in found if (each.database, each.schema) in places]

    def _places(self, schema: str | None) -> list[tuple[str, str]]:
        """Return the databases and schemas that tables of a schema may be in."""
        if schema is None:
            return [(_TEMP, _MAIN), (_OWN, str(self.default_schema_name))]
        return [(_OWN, schema), (schema, _MAIN)]

    @reflection.cache
    def _find(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> _Place:
        """Return where a table or a view is, found as SQL finds it; or raise NoSuchTableError."""
        query = "SELECT table_catalog, table_schema, table_name FROM information_schema.tables"
        known = [_Place(*row) for row in _ask(connection, query)]
        for place in self._places(schema):
            names = [each.name for each in known if (each.database, each.schema) == place]
            found = find_object(table_name, names, "table")
            if found is not None:
                return _Place(*place, found)
        raise NoSuchTableError(table_name if schema is None else f"{schema}.{table_name}")

    @reflection.cache
    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Tell whether there is a table or a view of a name."""
        try:
            self._find(connection, table_name, schema, **kw)
        except NoSuchTableError:
            return False
        return True

    @reflection.cache
    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """Return the query of a view."""
        rows = _ask(
            connection,
            "SELECT view_definition FROM information_schema.views"
            " WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
            *self._find(connection, view_name, schema, **kw),
        )
        if not rows:
            raise NoSuchTableError(view_name)
        return str(rows[0][0])

    @reflection.cache
    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedTableComment:
        """Return the comment on a table or a view."""
        rows = _ask(
            connection,
            "SELECT table_comment FROM information_schema.tables"
            " WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
            *self._find(connection, table_name, schema, **kw),
        )
        return {"text": rows[0][0]}

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedColumn]:
        """Return the columns of a table or a view."""
        rows = _ask(
            connection,
            "SELECT column_name, data_type, is_nullable, column_default, identity_generation,"
            " identity_start, identity_increment, identity_minimum, identity_maximum,"
            " identity_cycle, generation_expression, column_comment"
            " FROM information_schema.columns"
            " WHERE table_catalog = ? AND table_schema = ? AND table_name = ?"
            " ORDER BY ordinal_position",
            *self._find(connection, table_name, schema, **kw),
        )
        return [_column(*row) for row in rows]

    @reflection.cache
    def get_sequence_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Return the names of the sequences."""
        rows = _ask(
            connection,
            "SELECT sequence_catalog, sequence_schema, sequence_name"
            " FROM information_schema.sequences ORDER BY 3",
        )
        places = self._places(schema)
        return [name for *place, name in rows if tuple(place) in places]

    @reflection.cache
    def has_sequence(
        self, connection: Connection, sequence_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Tell whether there is a sequence of a name."""
        return sequence_name in self.get_sequence_names(connection, schema, **kw)

    def _constraints(
        self, connection: Connection, table_name: str, schema: str | None, kind: str, **kw: Any
    ) -> list[tuple[Any, ...]]:
        """Return the names and what else is known of a table's constraints of a kind."""
        return _ask(
            connection,
            "SELECT constraint_name, constraint_column_names, expression, referenced_schema,"
            " referenced_table, referenced_column_names, delete_rule, update_rule"
            " FROM duckdb_constraints()"
            " WHERE database_name = ? AND schema_name = ? AND table_name = ?"
            " AND constraint_type = ? ORDER BY constraint_name",
            *self._find(connection, table_name, schema, **kw),
            kind,
        )

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """Return the primary key."""
        rows = self._constraints(connection, table_name, schema, "PRIMARY KEY", **kw)
        for name, columns, *_ in rows:
            return {"name": name, "constrained_columns": columns}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedUniqueConstraint]:
        """Return the UNIQUE constraints."""
        rows = self._constraints(connection, table_name, schema, "UNIQUE", **kw)
        return [{"name": name, "column_names": columns} for name, columns, *_ in rows]

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedForeignKeyConstraint]:
        """Return the foreign keys."""
        rows = self._constraints(connection, table_name, schema, "FOREIGN KEY", **kw)
        place = self._find(connection, table_name, schema, **kw)
        return [
            {
                "name": name,
                "constrained_columns": columns,
                "referred_schema": schema if other_schema == place.schema else other_schema,
                "referred_table": other,
                "referred_columns": others,
                "options": {
                    event: rule
                    for event, rule in zip(("ondelete", "onupdate"), rules, strict=True)
                    if rule != "NO ACTION"
                },
            }
            for name, columns, _, other_schema, other, others, *rules in rows
        ]

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedCheckConstraint]:
        """Return the CHECK constraints."""
        rows = self._constraints(connection, table_name, schema, "CHECK", **kw)
        return [{"name": name, "sqltext": text} for name, _, text, *_ in rows]

    @reflection.cache
    def get_indexes(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[ReflectedIndex]:
        """Return the indexes."""
        rows = _ask(
            connection,
            "SELECT index_name, is_unique, column_names, descending FROM duckdb_indexes()"
            " WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY 1",
            *self._find(connection, table_name, schema, **kw),
        )
        indexes: list[ReflectedIndex] = []
        for name, is_unique, columns, descending in rows:
            index: ReflectedIndex = {"name": name, "column_names": columns, "unique": is_unique}
            if any(descending):
                pairs = zip(columns, descending, strict=True)
                index["column_sorting"] = {column: ("desc",) for column, down in pairs if down}
            indexes.append(index)
        return indexes


def _ask(connection: Connection, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(query, parameters)]


def _column(
    name: str, kind: str, nullable: str, default: str | None, *more: str | None
) -> ReflectedColumn:
    column: ReflectedColumn = {
        "name": name,
        "type": _type(kind),
        "nullable": nullable == "YES",
        "default": default,
        "autoincrement": more[0] is not None,
    }
    generation, *numbers, cycles, computed, comment = more
    column["comment"] = comment
    if computed is not None:
        column["computed"] = {"sqltext": computed}
    if generation is not None:
        start, increment, least, most = (int(each or 0) for each in numbers)
        found: Any = {
            "always": generation == "ALWAYS",
            "start": start,
            "increment": increment,
            "minvalue": least,
            "maxvalue": most,
            "nominvalue": False,
            "nomaxvalue": False,
            "cycle": cycles == "YES",
            "cache": 1,
        }
        column["identity"] = found
    return column


def _type(name: str) -> types.TypeEngine[Any]:
    """Return SQLAlchemy's type for one that SQL calls by a name."""
    if name.endswith("]"):
        return types.ARRAY(_type(name[: name.rindex("[")].replace("FLOAT", "REAL")))
    if (decimal := _DECIMAL.fullmatch(name)) is not None:
        return types.DECIMAL(int(decimal[1]), int(decimal[2]))
    if name == "TIME WITH TIME ZONE":
        return types.TIME(timezone=True)
    if name == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    if name.startswith("ENUM("):
        values = re.findall(r"'((?:[^']|'')*)'", name)
        return types.Enum(*(each.replace("''", "'") for each in values))
    return _TYPES.get(name, sqltypes.NullType)()
