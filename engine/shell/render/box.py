"""Boxes: an answer as a table with lines around it, no wider and no longer than asked.

    ┌─────────┬─────────┐
    │      id │ name    │
    │ INTEGER │ VARCHAR │
    ├─────────┼─────────┤
    │       1 │ Rex     │
    └─────────┴─────────┘

Where the columns do not fit, text is cut first, then columns in the middle are left out; where the
rows are too many, those in the middle are. A line below says what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyarrow import concat_tables

from raydb.engine.shell.render.colors import BOLD, DIM, colored
from raydb.engine.shell.render.words import clipped, padded, plain, width, words_of
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa

    from raydb.engine.shell.render.answer import Answer, Layout

# Text is not cut to fewer columns than this to make room for other columns.
MIN_TEXT = 16


@dataclass(frozen=True, slots=True)
class Lines:
    """What a box is drawn with: the corners and crossings of its three lines, and the two lines."""

    top: str
    middle: str
    bottom: str
    across: str
    down: str


UNICODE = Lines("┌┬┐", "├┼┤", "└┴┘", "─", "│")
ASCII = Lines("+++", "+++", "+++", "-", "|")


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which columns are shown and how wide they are; None stands for those left out."""

    columns: tuple[int | None, ...]
    widths: tuple[int, ...]


def write_box(answer: Answer, layout: Layout, write: Callable[[str], object]) -> None:
    """Write an answer as a box with the types of the columns under their names."""
    _Box(answer, layout, write, ASCII if layout.is_ascii else UNICODE, has_types=True).write()


def write_table(answer: Answer, layout: Layout, write: Callable[[str], object]) -> None:
    """Write an answer as a box of ASCII characters, without types."""
    _Box(answer, layout, write, ASCII, has_types=False).write()


class _Box:
    def __init__(
        self,
        answer: Answer,
        layout: Layout,
        write: Callable[[str], object],
        lines: Lines,
        *,
        has_types: bool,
    ) -> None:
        self._answer = answer
        self._layout = layout
        self._write = write
        self._lines = lines
        self._heads = [[self._cell(name) for name in answer.names]] if layout.has_headers else []
        if layout.has_headers and has_types:
            self._heads.append([self._cell(kind) for kind in answer.types])
        self._ellipsis = "..." if layout.is_ascii else "…"

    def write(self) -> None:
        table, most = self._answer.table, self._layout.max_rows
        if most and table is not None and table.num_rows > most:
            plan = self._write_some(table, most)
        else:
            plan = self._write_all()
        self._line(plan, self._lines.bottom)
        self._notice(plan)

    def _write_some(self, table: pa.Table, most: int) -> _Plan:
        """Write the first and the last rows."""
        top, bottom = most - most // 2, most // 2
        parts = [table.slice(0, top), table.slice(table.num_rows - bottom)]
        (rows,) = concat_tables(parts).combine_chunks().to_batches()
        cells = self._cells(rows)
        plan = self._plan(self._natural(cells))
        self._open(plan)
        self._rows(plan, cells, 0, top)
        self._row(plan, [self._ellipsis] * len(cells), DIM)
        self._rows(plan, cells, top, most)
        return plan

    def _write_all(self) -> _Plan:
        """Write all rows; where later ones need wider columns, another box begins."""
        plan: _Plan | None = None
        natural = self._natural([[] for _ in self._answer.names])
        for rows in self._answer.batches():
            cells = self._cells(rows)
            natural = list(map(max, natural, self._natural(cells)))
            wider = self._plan(natural)
            if wider != plan:
                if plan is not None:
                    self._line(plan, self._lines.bottom)
                plan = wider
                self._open(plan)
            self._rows(plan, cells, 0, rows.num_rows)
        if plan is None:
            plan = self._plan(natural)
            self._open(plan)
        return plan

    # -- cells and widths

    def _cell(self, text: str) -> str:
        # Of a text of megabytes no more is looked at than can be shown.
        return plain(text[: self._layout.width + 1] if self._layout.width else text)

    def _cells(self, rows: pa.RecordBatch) -> list[list[str | None]]:
        return [
            [None if text is None else self._cell(text) for text in column]
            for column in words_of(rows)
        ]

    def _natural(self, cells: Sequence[Sequence[str | None]]) -> list[int]:
        """Return how wide each column would like to be."""
        null = width(self._layout.null)
        widths = []
        for place, column in enumerate(cells):
            heads = [width(head[place]) for head in self._heads] or [1]
            texts = [null if text is None else width(text) for text in column]
            widths.append(max([*heads, *texts]))
        chosen = self._layout.widths[: len(widths)]
        given = [abs(w) or n for w, n in zip(chosen, widths, strict=False)]
        return [*given, *widths[len(chosen) :]]

    def _plan(self, natural: Sequence[int]) -> _Plan:
        """Fit columns into the width: text gives way first, then columns in the middle."""
        limit = self._layout.width
        everything = tuple(range(len(natural)))
        if not limit or _box_width(natural) <= limit:
            return _Plan(everything, tuple(natural))
        is_number = self._answer.is_number
        least = [w if is_number[n] else min(w, MIN_TEXT) for n, w in enumerate(natural)]
        columns: tuple[int | None, ...] = everything
        if _box_width(least) > limit:
            columns = self._outer(least, limit)
        widths = [len(self._ellipsis) if c is None else least[c] for c in columns]
        wanted = [len(self._ellipsis) if c is None else natural[c] for c in columns]
        _widen(widths, wanted, limit - _box_width(widths))
        if _box_width(widths) > limit:
            # One column (with the mark of those left out) is wider than the terminal.
            widths[0] = max(widths[0] - (_box_width(widths) - limit), 1)
        return _Plan(columns, tuple(widths))

    def _outer(self, widths: Sequence[int], limit: int) -> tuple[int | None, ...]:
        """Return the columns that fit, from both sides inwards, None between them."""
        if len(widths) == 1:
            return (0,)
        left, right = [0], list[int]()
        used = [widths[0], len(self._ellipsis)]
        inner = list(range(1, len(widths)))
        while len(inner) > 1:
            take_last = len(right) < len(left)
            column = inner[-1] if take_last else inner[0]
            if _box_width([*used, widths[column]]) > limit:
                break
            used.append(widths[column])
            inner.remove(column)
            (right if take_last else left).append(column)
        return (*left, None, *reversed(right))

    # -- drawing

    def _open(self, plan: _Plan) -> None:
        self._line(plan, self._lines.top)
        for number, head in enumerate(self._heads):
            self._row(plan, head, DIM if number else BOLD)
        if self._heads:
            self._line(plan, self._lines.middle)

    def _line(self, plan: _Plan, corners: str) -> None:
        left, between, right = tuple(corners)
        parts = (self._lines.across * (columns + 2) for columns in plan.widths)
        self._write(f"{left}{between.join(parts)}{right}\n")

    def _row(self, plan: _Plan, cells: Sequence[str], style: str) -> None:
        self._write(
            self._joined(
                colored(self._fitted(cells, column, columns), style, self._layout.is_colored)
                for column, columns in zip(plan.columns, plan.widths, strict=True)
            )
        )

    def _fitted(self, cells: Sequence[str], column: int | None, columns: int) -> str:
        if column is None:
            return self._ellipsis
        return padded(clipped(cells[column], columns), columns, right=self._is_right(column))

    def _rows(
        self, plan: _Plan, cells: Sequence[Sequence[str | None]], first: int, end: int
    ) -> None:
        """Write some of the rows whose cells are given by column."""
        drawn = [
            [self._ellipsis] * (end - first)
            if column is None
            else self._drawn(cells[column][first:end], columns, right=self._is_right(column))
            for column, columns in zip(plan.columns, plan.widths, strict=True)
        ]
        for row in zip(*drawn, strict=True):
            self._write(self._joined(row))

    def _drawn(self, cells: Sequence[str | None], columns: int, *, right: bool) -> list[str]:
        null = colored(
            padded(clipped(self._layout.null, columns), columns, right=right),
            DIM,
            self._layout.is_colored,
        )
        return [
            null if text is None else padded(clipped(text, columns), columns, right=right)
            for text in cells
        ]

    def _joined(self, cells: Iterable[str]) -> str:
        down = self._lines.down
        return f"{down} {f' {down} '.join(cells)} {down}\n"

    def _is_right(self, column: int) -> bool:
        chosen = self._layout.widths
        return self._answer.is_number[column] or (column < len(chosen) and chosen[column] < 0)

    def _notice(self, plan: _Plan) -> None:
        """Say what is missing from the box, if anything is."""
        parts = []
        total, most = self._answer.row_count, self._layout.max_rows
        if most and total > most:
            parts.append(f"{total:,} rows ({most:,} shown)")
        if None in plan.columns:
            shown = len(plan.columns) - 1
            parts.append(f"{len(self._answer.names):,} columns ({shown:,} shown)")
        if parts:
            self._write(colored(", ".join(parts), DIM, self._layout.is_colored) + "\n")


def _box_width(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) + 1


def _widen(widths: list[int], wanted: Sequence[int], spare: int) -> None:
    """Give columns to those that want more, the narrowest first."""
    while spare > 0:
        hungry = [n for n, has in enumerate(widths) if has < wanted[n]]
        if not hungry:
            return
        least = min(hungry, key=widths.__getitem__)
        widths[least] += 1
        spare -= 1
