"""SQL of SQLAlchemy's expressions, definitions and types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import Sequence
from sqlalchemy.dialects.postgresql.base import PGCompiler
from sqlalchemy.exc import CompileError
from sqlalchemy.sql import compiler, sqltypes

if TYPE_CHECKING:
    from collections.abc import Iterable


class RayCompiler(compiler.SQLCompiler):
    """Writes queries and changes of rows."""

    # INSERT ... ON CONFLICT is that of `sqlalchemy.dialects.postgresql.insert`.
    _on_conflict_target = PGCompiler._on_conflict_target
    visit_on_conflict_do_nothing = PGCompiler.visit_on_conflict_do_nothing
    visit_on_conflict_do_update = PGCompiler.visit_on_conflict_do_update

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

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return regexp_matches(), which looks for the pattern anywhere."""
        return self._regexp("regexp_matches", binary, **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return its opposite."""
        return f"NOT {self.visit_regexp_match_op_binary(binary, operator, **kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return regexp_replace(), which replaces all that fit."""
        return self._regexp("regexp_replace", binary, always="g", **kw)

    def _regexp(self, function: str, binary: Any, always: str = "", **kw: Any) -> str:
        given = [self.process(binary.left, **kw), self.process(binary.right, **kw)]
        if flags := always + (binary.modifiers["flags"] or ""):
            given.append(self.render_literal_value(flags, _TEXT))
        return f"{function}({', '.join(given)})"

    def visit_truediv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return `/` of DOUBLE, which integers have none of."""
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"{left} / CAST({right} AS DOUBLE)"

    def visit_bitwise_xor_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Return xor(): `^` is a power."""
        return f"xor({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        """Return DISTINCT, or DISTINCT ON with its expressions."""
        if not select._distinct_on:
            return "DISTINCT " if select._distinct else ""
        listed = ", ".join(self.process(each, **kw) for each in select._distinct_on)
        return f"DISTINCT ON ({listed}) "

    def update_from_clause(
        self, update_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        """Return the FROM of an UPDATE."""
        return f"FROM {self._tables(extra_froms, from_hints, **kw)}"

    def delete_extra_from_clause(
        self, delete_stmt: Any, from_table: Any, extra_froms: Any, from_hints: Any, **kw: Any
    ) -> str:
        """Return the USING of a DELETE."""
        return f"USING {self._tables(extra_froms, from_hints, **kw)}"

    def _tables(self, tables: Any, hints: Any, **kw: Any) -> str:
        kw["asfrom"] = True
        return ", ".join(each._compiler_dispatch(self, fromhints=hints, **kw) for each in tables)

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

    def visit_set_constraint_comment(self, create: Any, **kw: Any) -> str:
        """Raise CompileError: there are none on constraints."""
        raise CompileError("RayDB has no comments on constraints")

    def get_identity_options(self, identity_options: Any) -> str:
        """Return the options of a sequence; none is kept for values that are taken in advance."""
        return re.sub(r" ?CACHE \d+", "", super().get_identity_options(identity_options))


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
    visit_CHAR = visit_NCHAR = visit_JSON = visit_TEXT

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:
        """Return BLOB."""
        return "BLOB"

    visit_VARBINARY = visit_BINARY

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:
        """Return INTERVAL."""
        return "INTERVAL"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        """Return the type of lists."""
        return self.process(type_.item_type, **kw) + "[]" * (type_.dimensions or 1)
