"""A result as an HTML table, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.dbapi import NUMBER
from raydb.engine.session.python_values import python_values
from raydb.late import html
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

# A notebook keeps what it shows; from so many rows on it shows the first ones.
SHOWN_ROWS = 100

# A longer text is cut: a cell of a table is no place to read it.
_SHOWN_LETTERS = 200


def html_table(names: Sequence[str], rows: pa.Table) -> str:
    """Return the first rows of a result, with the columns' names and types above them."""
    shown = rows.slice(0, SHOWN_ROWS)
    numeric = [sql_type_name(kind) == NUMBER for kind in rows.schema.types]
    heads = [
        f"<th{_align(right)}>{html.escape(name)}<br><small>{html.escape(sql_type_name(kind))}</small></th>"
        for name, kind, right in zip(names, rows.schema.types, numeric, strict=True)
    ]
    columns = [
        [value for chunk in column.chunks for value in python_values(chunk)]
        for column in shown.columns
    ]
    body = [
        "<tr>"
        + "".join(
            f"<td{_align(right)}>{_cell(value)}</td>"
            for value, right in zip(row, numeric, strict=True)
        )
        + "</tr>"
        for row in zip(*columns, strict=True)
    ]
    count = f"{rows.num_rows:,} row{'' if rows.num_rows == 1 else 's'}"
    if rows.num_rows > shown.num_rows:
        count += f", the first {shown.num_rows} of which are shown"
    return (
        f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        f"<small>{count}</small>"
    )


def html_plan(lines: Sequence[str]) -> str:
    """Return a plan for a notebook: the page of EXPLAIN (FORMAT HTML) in a frame, or its lines."""
    text = "\n".join(lines)
    if text.lstrip().lower().startswith("<!doctype html"):
        return (
            f'<iframe srcdoc="{html.escape(text)}" sandbox="allow-scripts"'
            ' style="width: 100%; height: 600px; border: 0"></iframe>'
        )
    return f"<pre>{html.escape(text)}</pre>"


def _align(right: bool) -> str:
    return f' style="text-align: {"right" if right else "left"}"'


def _cell(value: Any) -> str:
    if value is None:
        return "<i>NULL</i>"
    text = str(value)
    if len(text) > _SHOWN_LETTERS:
        text = f"{text[:_SHOWN_LETTERS]}…"
    return html.escape(text)
