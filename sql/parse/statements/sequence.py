"""CREATE SEQUENCE, and the columns that have a sequence of their own: IDENTITY, SERIAL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.sql import ast
from raydb.sql.parse.nodes import require_only
from raydb.sql.types import data_type_of
from raydb.storage.tables.sequence import Identity, SequenceOptions
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from raydb.sql.parse.reader import TokenReader

_SERIALS = {
    exp.DType.SMALLSERIAL: exp.DType.SMALLINT,
    exp.DType.SERIAL: exp.DType.INT,
    exp.DType.BIGSERIAL: exp.DType.BIGINT,
}


# More digits are beyond all bounds, and int() takes no more than some thousand.
_WHOLE = re.compile(r"[0-9]{1,100}")
_OPTIONS = ("START", "INCREMENT", "MINVALUE", "MAXVALUE", "CACHE", "NO", "CYCLE")


def read_sequence(reader: TokenReader, replace: bool) -> ast.CreateSequence:
    """Read CREATE SEQUENCE, that word being read."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE SEQUENCE takes no IF NOT EXISTS")
    name = reader.relation("the name of a sequence")
    numbers: dict[str, int | None] = {}
    cycles: bool | None = False
    while reader.peek() is not None:
        cycles = _read_option(name, reader, numbers, cycles)
    options = SequenceOptions.of(
        name,
        numbers.get("START"),
        1 if (increment := numbers.get("INCREMENT")) is None else increment,
        numbers.get("MINVALUE"),
        numbers.get("MAXVALUE"),
        cycles=bool(cycles),
    )
    return ast.CreateSequence(name, options, if_not_exists, replace)


def read_alter_sequence(
    name: str, if_exists: bool, reader: TokenReader
) -> ast.AlterSequence | ast.RenameSequence:
    """Read what follows ALTER SEQUENCE name."""
    if reader.accept("RENAME", "TO"):
        return ast.RenameSequence(name, if_exists, str(reader.name("the new name")))
    if reader.accept("OWNED"):
        raise NotSupportedError("ALTER SEQUENCE ... OWNED BY is not supported")
    numbers: dict[str, int | None] = {}
    cycles: bool | None = None
    restarts, value = False, None
    while reader.peek() is not None or not (numbers or restarts or cycles is not None):
        if reader.at_any("RESTART"):
            restarts, value = True, read_restart(reader)
        else:
            cycles = _read_option(name, reader, numbers, cycles, "RESTART, RENAME, ")
    numbers.pop("CACHE", None)
    return ast.AlterSequence(name, if_exists, numbers, cycles, restarts, value)


def _read_option(
    name: str,
    reader: TokenReader,
    numbers: dict[str, int | None],
    cycles: bool | None,
    others: str = "",
) -> bool | None:
    """Read an option of a sequence into `numbers`; return whether it cycles now."""
    word = reader.accept_any(*_OPTIONS)
    if word == "CYCLE":
        return True
    if word == "NO":
        word = reader.accept_any("MINVALUE", "MAXVALUE", "CYCLE")
        if word == "CYCLE":
            return False
        value = None
    elif word is not None:
        reader.accept_any("WITH", "BY", "=")
        value = _whole(reader)
    if word is None:
        raise reader.error(f"{others}START, INCREMENT, MINVALUE, MAXVALUE or CYCLE")
    if word in numbers:
        raise ProgrammingError(f"sequence '{name}' has {word} twice")
    numbers[word] = value
    return cycles


def read_restart(reader: TokenReader) -> int | None:
    """Read RESTART [WITH value]; None is where the sequence began."""
    reader.expect("RESTART")
    if not reader.accept("WITH") and (reader.peek() is None or reader.at_any(",", *_OPTIONS)):
        return None
    return _whole(reader)


def _whole(reader: TokenReader) -> int:
    sign = -1 if reader.accept("-") else 1
    token = reader.peek()
    if token is None or not _WHOLE.fullmatch(token.text):
        raise reader.error("a whole number")
    return sign * int(reader.take().text)


def column_type(kind: exp.DataType) -> pa.DataType:
    """Return the type of a column; that of SERIAL is INTEGER."""
    stored = _SERIALS.get(kind.this)
    return data_type_of(kind if stored is None else exp.DataType(this=stored))


def is_serial(kind: exp.DataType) -> bool:
    """Say whether a type is SERIAL, BIGSERIAL or SMALLSERIAL."""
    return kind.this in _SERIALS


def identity(kind: exp.Expr, field: pa.Field) -> Identity:
    """Return what GENERATED ... AS IDENTITY or AUTOINCREMENT says of a column.

    Raises ProgrammingError for a column that holds no integers.
    """
    if not pa.types.is_integer(field.type):
        name = sql_type_name(field.type)
        raise ProgrammingError(f"column '{field.name}' is {name}, but an identity is an integer")
    most = 2 ** (field.type.bit_width - 1) - 1
    if not isinstance(kind, exp.GeneratedAsIdentityColumnConstraint):
        return Identity(field.name, False, SequenceOptions.of(field.name, most=most))
    require_only(kind, "this", "start", "increment", "minvalue", "maxvalue", "cycle")
    if kind.args.get("on_null"):
        raise NotSupportedError("BY DEFAULT ON NULL AS IDENTITY is not supported")
    start, increment, low, high = (
        _number(kind.args.get(part)) for part in ("start", "increment", "minvalue", "maxvalue")
    )
    options = SequenceOptions.of(
        field.name,
        start,
        1 if increment is None else increment,
        low,
        high,
        cycles=bool(kind.args.get("cycle")),
        most=most,
    )
    return Identity(field.name, bool(kind.this), options)


def _number(node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    if isinstance(node, exp.Neg) and (value := _number(node.this)) is not None:
        return -value
    if not isinstance(node, exp.Literal) or not _WHOLE.fullmatch(node.name):
        raise ProgrammingError("the numbers of an identity are whole numbers")
    return int(node.name)
