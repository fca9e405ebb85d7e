"""CREATE TABLE ... WITH (chunk_rows = 1000, image.chunk_rows = 100, caption.encoding = fsst)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.names import fold, known_name
from raydb.sql.parse.reader import name_in
from raydb.storage.tables.table import FileLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTIONS = ("chunk_rows", "encoding", "offset_index")
_SWITCH = {"on": True, "true": True, "off": False, "false": False}


def file_layout(table: str, properties: exp.Expr | None, fields: Sequence[pa.Field]) -> FileLayout:
    """Return the layout that the options of CREATE TABLE ... WITH ask for.

    An option without a column goes for every column (offset_index: for those of text and bytes);
    one with a column goes before it. Raises ProgrammingError for unknown options and columns and
    for bad values.
    """
    chunk_rows: dict[str, int] = {}
    encodings: dict[str, str] = {}
    offset_index: dict[str, bool] = {}
    options = [] if properties is None else [_option(entry) for entry in properties.expressions]
    names = [field.name for field in fields]
    for written, option, value in sorted(options, key=lambda entry: entry[0] is not None):
        column = written and known_name(written, names, "column", f" in '{table}'")
        match option:
            case "chunk_rows":
                rows = _count(value)
                chunk_rows.update(dict.fromkeys(names if column is None else [column], rows))
            case "encoding" if column is not None:
                encodings[column] = value
            case "encoding":
                raise ProgrammingError("encoding is an option of a column: write column.encoding")
            case "offset_index":
                texts = [field.name for field in fields if _is_text(field.type)]
                switch = _switch(value)
                offset_index.update(dict.fromkeys(texts if column is None else [column], switch))
            case _:
                near = did_you_mean(option, _OPTIONS)
                raise ProgrammingError(f"option '{option}' of a table does not exist{near}")
    return FileLayout(
        tuple(chunk_rows.items()), tuple(encodings.items()), tuple(offset_index.items())
    )


def _option(entry: exp.Expr) -> tuple[str | None, str, str]:
    """Return (column or None, option, value as text) of `option = value`."""
    if not isinstance(entry, exp.Property):
        raise NotSupportedError(f"{entry.key.upper()} in CREATE TABLE is not supported")
    name, value = entry.this, entry.args["value"]
    text = str(value.this).lower() if isinstance(value, exp.Literal | exp.Var) else value.sql()
    if isinstance(name, exp.Dot):
        return name_in(name.this), fold(name.expression.name), text.lower()
    return None, fold(str(name.this)), text.lower()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _count(value: str) -> int:
    if not value.isdigit() or int(value) == 0:
        raise ProgrammingError(f"chunk_rows is a number above 0, not '{value}'")
    return int(value)


def _switch(value: str) -> bool:
    if value not in _SWITCH:
        raise ProgrammingError(f"offset_index is 'on' or 'off', not '{value}'")
    return _SWITCH[value]
