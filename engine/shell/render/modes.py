"""The shapes of an answer, by name. Each is written as its rows become text, never held whole."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from pyarrow import MonthDayNano

from raydb.engine.session.python_values import python_values
from raydb.engine.shell.render.box import write_box, write_table
from raydb.engine.shell.render.delimited import write_delimited
from raydb.engine.shell.render.words import padded, plain, width, word, words_of
from raydb.errors import ProgrammingError
from raydb.late import html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.engine.shell.render.answer import Answer, Layout

    Write = Callable[[str], object]


# -- for programs: every value as it is


def write_json(answer: Answer, layout: Layout, write: Write) -> None:
    """Write a list of objects."""
    before = "["
    for line in _json_objects(answer):
        write(f"{before}{line}")
        before = ",\n "
    write("[]\n" if before == "[" else "]\n")


def write_json_lines(answer: Answer, layout: Layout, write: Write) -> None:
    """Write an object a line."""
    for line in _json_objects(answer):
        write(f"{line}\n")


def _json_objects(answer: Answer) -> Iterator[str]:
    names = [json.dumps(name, ensure_ascii=False) for name in answer.names]
    for batch in answer.batches():
        for row in zip(*map(python_values, batch.columns), strict=True):
            pairs = (f"{name}: {_json(value)}" for name, value in zip(names, row, strict=True))
            yield "{" + ", ".join(pairs) + "}"


def _json(value: Any) -> str:
    """Return a value as JSON; decimals keep all their digits, dates and bytes are strings."""
    match value:
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            return json.dumps(str(value))
        case None | bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple() if not isinstance(value, MonthDayNano):
            return "[" + ", ".join(map(_json, value)) + "]"
        case dict():
            pairs = (f"{json.dumps(str(key))}: {_json(each)}" for key, each in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return json.dumps(word(value))


# -- for readers: no value moves the cursor


def write_markdown(answer: Answer, layout: Layout, write: Write) -> None:
    """Write a Markdown table; its columns are as wide as the first rows need."""
    names = [_markdown_cell(name) for name in answer.names]
    right = answer.is_number
    batches = _cells(answer, layout, _markdown_cell)
    none: list[list[str]] = [[] for _ in names]
    first = next(batches, none)
    widths = [
        max(3, width(name), *map(width, column)) for name, column in zip(names, first, strict=True)
    ]
    write(_markdown_row(tuple(names), widths, right))
    rules = (
        "-" * (columns - is_right) + ":" * is_right
        for columns, is_right in zip(widths, right, strict=True)
    )
    write(f"| {' | '.join(rules)} |\n")
    for cells in chain([first], batches):
        for row in zip(*cells, strict=True):
            write(_markdown_row(row, widths, right))


def _markdown_row(row: tuple[str, ...], widths: list[int], right: tuple[bool, ...]) -> str:
    cells = (
        padded(text, columns, right=is_right)
        for text, columns, is_right in zip(row, widths, right, strict=True)
    )
    return f"| {' | '.join(cells)} |\n"


def _markdown_cell(text: str) -> str:
    return plain(text).replace("|", "\\|")


def write_line(answer: Answer, layout: Layout, write: Write) -> None:
    """Write a line a value, with an empty line between two rows."""
    names = [plain(name) for name in answer.names]
    widest = max(map(width, names))
    before = ""
    for row in _rows(answer, layout, plain):
        write(before)
        for name, text in zip(names, row, strict=True):
            write(f"{padded(name, widest, right=True)} = {text}\n")
        before = "\n"


def write_list(answer: Answer, layout: Layout, write: Write) -> None:
    """Write a line a row, with bars between the values, or what is chosen."""
    between = "|" if layout.separator is None else layout.separator
    if layout.has_headers:
        write(between.join(map(plain, answer.names)) + "\n")
    for row in _rows(answer, layout, plain):
        write(between.join(row) + "\n")


def write_csv(answer: Answer, layout: Layout, write: Write) -> None:
    """Write CSV, with commas or the character that is chosen."""
    delimiter = "," if layout.separator is None else layout.separator
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ProgrammingError(f"CSV is separated by one character, not by {delimiter!r}")
    write_delimited(answer, layout, write, delimiter)


def write_html(answer: Answer, layout: Layout, write: Write) -> None:
    """Write an HTML table."""
    write("<table>\n")
    if layout.has_headers:
        heads = "".join(f"<th>{_html_cell(name)}</th>" for name in answer.names)
        write(f"<thead><tr>{heads}</tr></thead>\n")
    write("<tbody>\n")
    for row in _rows(answer, layout, _html_cell):
        write(f"<tr>{''.join(f'<td>{text}</td>' for text in row)}</tr>\n")
    write("</tbody>\n</table>\n")


def _html_cell(text: str) -> str:
    return html.escape(plain(text))


def _cells(answer: Answer, layout: Layout, cell: Callable[[str], str]) -> Iterator[list[list[str]]]:
    """Yield the rows as text, some at a time, by column."""
    null = cell(layout.null)
    for batch in answer.batches():
        yield [
            [null if text is None else cell(text) for text in column] for column in words_of(batch)
        ]


def _rows(answer: Answer, layout: Layout, cell: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    for cells in _cells(answer, layout, cell):
        yield from zip(*cells, strict=True)


MODES: dict[str, Callable[[Answer, Layout, Write], None]] = {
    "box": write_box,
    "table": write_table,
    "markdown": write_markdown,
    "csv": write_csv,
    "tsv": partial(write_delimited, delimiter="\t"),
    "json": write_json,
    "jsonlines": write_json_lines,
    "line": write_line,
    "list": write_list,
    "html": write_html,
}
# Names that other shells have for the same shapes.
OTHER_NAMES = {"jsonl": "jsonlines", "ndjson": "jsonlines", "lines": "line", "tabs": "tsv"}
