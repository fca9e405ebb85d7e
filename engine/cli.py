"""The command `raydb`: run SQL and print the answers, or look into a FlatStor file.

    raydb shop.raydb -c "SELECT count(*) FROM sales"
    raydb --csv -c "SELECT * FROM 'sales.parquet' WHERE year = 1994"
    raydb flat inspect pets.flat

It uses the public API only.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import math
import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import MonthDayNano, types

import raydb
from raydb.engine.process import run_alone
from raydb.engine.python_values import interval_word
from raydb.engine.script import is_complete, split_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "REAL", "DOUBLE", "DECIMAL")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 after an error, which is one line on stderr."""
    if arguments is None:
        return run_alone(lambda: main(sys.argv[1:]))
    given = list(arguments)
    try:
        if given[:2] == ["flat", "inspect"]:
            parser = argparse.ArgumentParser(prog="raydb flat inspect")
            parser.add_argument("file", help="the FlatStor file to draw")
            sys.stdout.write(f"{raydb.flatstor.inspect(parser.parse_args(given[2:]).file)}\n")
            return 0
        if given == ["doctor"]:
            from raydb.engine.doctor import main as doctor  # noqa: PLC0415  (asked for seldom)

            return doctor()
        options = _parser().parse_args(given)
        with raydb.connect(options.database, read_only=options.readonly) as connection:
            return _run(connection, options)
    except raydb.Error as error:
        return _fail(str(error))
    except BrokenPipeError:
        # The reader of a pipe has left; what Python would flush at its exit has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="raydb",
        description="Run SQL statements and print their answers.",
        epilog="'raydb flat inspect FILE' draws a FlatStor file: its chunks, encodings and sizes. "
        "'raydb doctor' says which backends this machine has, and checks and times each.",
    )
    parser.add_argument("database", nargs="?", help="a database directory; in memory without one")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("-c", dest="sql", metavar="SQL", help="the statements to run")
    source.add_argument("-f", dest="file", metavar="FILE", help="a file of statements to run")
    parser.add_argument("--readonly", action="store_true", help="leave the database as it is")
    shape = parser.add_mutually_exclusive_group()
    for name in _SHAPES:
        words = f"print answers as {name}"
        shape.add_argument(f"--{name}", dest="shape", action="store_const", const=name, help=words)
    parser.set_defaults(shape="box")
    return parser


def _run(connection: Any, options: argparse.Namespace) -> int:
    show = _SHAPES[options.shape]
    text = options.sql
    if options.file is not None:
        try:
            text = Path(options.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            return _fail(f"file '{options.file}' cannot be read: {reason.lower()}")
    elif text is None:
        if sys.stdin.isatty():
            return _interact(connection, show)
        text = sys.stdin.read()
    for statement in split_statements(text):
        _execute(connection, statement, show)
    return 0


def _interact(connection: Any, show: Callable[[Any], None]) -> int:
    """Run each statement once its ';' is typed. Ctrl-C forgets the line, Ctrl-D ends."""
    text = ""
    while True:
        try:
            text += input("     > " if text else "raydb> ") + "\n"
            if not is_complete(text):
                continue
            for statement in split_statements(text):
                _execute(connection, statement, show)
        except EOFError:
            sys.stdout.write("\n")
            return 0
        except KeyboardInterrupt:
            sys.stdout.write("\n")
        except raydb.Error as error:
            _fail(str(error))
        text = ""


def _execute(connection: Any, statement: str, show: Callable[[Any], None]) -> None:
    cursor = connection.execute(statement)
    if cursor.description is not None:
        show(cursor)
        sys.stdout.flush()


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    return 1


# -- the shapes of an answer


def _show_box(cursor: Any) -> None:
    from rich import box  # noqa: PLC0415  (rich takes 12 ms)
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SQUARE)
    for name, kind, *_ in cursor.description:
        is_number = kind.startswith(_NUMBERS) and not kind.endswith("]")
        table.add_column(Text(_plain(name)), justify="right" if is_number else "left")
    for row in cursor:
        table.add_row(*(Text("NULL" if v is None else _plain(_word(v))) for v in row))
    # Without a terminal there is no width to fit in.
    console = Console(width=None if sys.stdout.isatty() else 1_000_000, highlight=False)
    console.print(table)


def _plain(text: str) -> str:
    """Return a text without characters that would move a terminal's cursor."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _word(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return f"\\x{value.hex()}"
        case Decimal():
            return format(value, "f")
        case dt.timedelta() | MonthDayNano():
            return interval_word(value)
        case list():
            return "[" + ", ".join("NULL" if v is None else _word(v) for v in value) + "]"
        case _:
            return str(value)


def _show_csv(cursor: Any) -> None:
    from pyarrow import csv as arrow_csv  # noqa: PLC0415  (the other shapes do without)

    sys.stdout.flush()
    table = cursor.to_arrow_table()
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind = column.type
        if types.is_nested(kind) or types.is_interval(kind) or types.is_binary(kind):
            words = [None if v is None else _word(v) for v in column.to_pylist()]
            table = table.set_column(place, name, [words])
    # Arrow would put every name in quotes.
    csv.writer(sys.stdout, lineterminator="\n").writerow(table.column_names)
    sys.stdout.flush()
    arrow_csv.write_csv(table, sys.stdout.buffer, arrow_csv.WriteOptions(include_header=False))


def _show_json(cursor: Any) -> None:
    names = [json.dumps(name) for name, *_ in cursor.description]
    lines = [
        "{" + ", ".join(f"{n}: {_json(v)}" for n, v in zip(names, row, strict=True)) + "}"
        for row in cursor
    ]
    sys.stdout.write("[" + ",\n ".join(lines) + "]\n")


def _json(value: Any) -> str:
    """Return a value as JSON; decimals keep all their digits, dates and bytes are strings."""
    match value:
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            return json.dumps(str(value))
        case None | bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "[" + ", ".join(map(_json, value)) + "]"
        case _:
            return json.dumps(_word(value))


_SHAPES = {"box": _show_box, "csv": _show_csv, "json": _show_json}
