"""A result as text, for the prompt of Python."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from raydb.late import shutil

if TYPE_CHECKING:
    import pyarrow as pa

# Of more rows the first and the last are shown.
SHOWN_ROWS = 20


def text_table(rows: pa.Table, max_rows: int) -> str:
    """Return rows in a box as wide as the terminal at most; a plan line by line.

    max_rows: how many rows are shown, 0 for all.
    """
    # Only a reader at a prompt needs them.
    from raydb.engine.shell.render.answer import Answer, Layout  # noqa: PLC0415
    from raydb.engine.shell.render.box import write_box  # noqa: PLC0415

    if rows.column_names == ["explain"]:
        return "\n".join(rows.column(0).to_pylist())
    text = io.StringIO()
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    layout = Layout(
        max_rows=max_rows,
        width=shutil.get_terminal_size().columns,
        is_ascii=not encoding.lower().startswith("utf"),
    )
    write_box(Answer(rows.schema, rows.to_batches(), rows), layout, text.write)
    return text.getvalue().rstrip("\n")
