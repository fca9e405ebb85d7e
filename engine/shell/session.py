"""A session of the shell: it runs statements, dot commands and scripts, and shows their answers.

    shell = Shell(connection, Settings(), is_interactive=False)
    shell.run_text("SELECT 1; .tables")
    shell.failed                                  whether anything went wrong

Answers go to the output, errors to standard error. Without `.bail on` a script goes on after an
error.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raydb
from raydb.engine.shell.endings import BailError, QuitError
from raydb.engine.shell.error_display import caution, complaint
from raydb.engine.shell.render.answer import Answer, Layout
from raydb.engine.shell.render.colors import DIM, colored, shows_colors
from raydb.engine.shell.render.modes import MODES
from raydb.engine.shell.render.output import Output, default_pager, terminal_columns
from raydb.engine.shell.render.progress import showing_progress
from raydb.engine.shell.render.words import plain
from raydb.engine.shell.script import ScriptReader, is_query, read_script
from raydb.errors import DataError, OperationalError
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from raydb.engine.shell.script import Piece

# How many rows a box shows on a terminal.
SCREEN_ROWS = 40

# A script that reads itself should not go on for ever.
MAX_NESTED_SCRIPTS = 20

# The shapes in which the lines of a plan are written as they are.
_FOR_READERS = {"box", "table", "line", "list"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the dot commands change.

    max_rows: rows of a box, 0 for all, None for SCREEN_ROWS on a terminal without a pager and all
    elsewhere. separator: what stands between the values of a list, or of CSV; None for what is
    usual. widths: the width of each column of a box, 0 for what it needs.
    timer: whether the rows and the time of each statement are told.
    """

    mode: str = "box"
    has_headers: bool = True
    null: str = "NULL"
    max_rows: int | None = None
    timer: bool = False
    bail: bool = False
    separator: str | None = None
    widths: tuple[int, ...] = ()


class Shell:
    """A connection with the settings of the dot commands.

    is_interactive: whether somebody at a terminal gives the statements: then Ctrl-C ends the
    statement and not the shell.
    """

    def __init__(self, connection: Any, settings: Settings, *, is_interactive: bool) -> None:
        self.connection = connection
        self.is_interactive = is_interactive
        self.settings = settings
        pager = default_pager() if is_interactive else ""
        self.output: Output = Output(pager, self._has_external_access)
        self.failed = False
        self.last_query: str | None = None
        self.last_statement: str | None = None
        self._depth = 0

    def change(self, **settings: Any) -> None:
        """Change some of the settings."""
        self.settings = replace(self.settings, **settings)

    def use(self, connection: Any) -> None:
        """Go on with another connection; the one before is closed."""
        self._close_connection()
        self.connection = connection

    # -- scripts

    def run_text(self, text: str) -> None:
        """Run the statements and dot commands of a text. Raises QuitError and BailError."""
        for piece in read_script(text):
            self._run_piece(piece, None)

    def run_lines(self, lines: Iterable[str], source: str) -> None:
        """Run a script, each statement when its last line is read; errors name the source."""
        reader = ScriptReader()
        for line in lines:
            for piece in reader.feed(line):
                self._run_piece(piece, source)
        for piece in reader.finish():
            self._run_piece(piece, source)

    def run_file(self, path: str) -> None:
        """Run a script in a file. Raises OperationalError or DataError if it cannot be read."""
        if self._depth == MAX_NESTED_SCRIPTS:
            raise OperationalError(
                f"file '{path}' is not read: scripts call each other {self._depth} deep"
            )
        self._depth += 1
        try:
            self.run_lines(_lines_of(path), path)
        finally:
            self._depth -= 1

    def _has_external_access(self) -> bool:
        from raydb.engine.shell.schema import has_external_access  # noqa: PLC0415  (few texts)

        return has_external_access(self.connection)

    def _run_piece(self, piece: Piece, source: str | None) -> None:
        try:
            if piece.is_command:
                from raydb.engine.shell.commands import run_command  # noqa: PLC0415  (few texts)

                run_command(self, piece.text)
            else:
                self.run_statement(piece.text)
        except (QuitError, BailError, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            if not self.is_interactive:
                raise
            self.failed = True
            sys.stderr.write("\ninterrupted\n")
            if source is not None:
                raise BailError from None
        except Exception as error:
            # Even our own mistake does not end a session: it is shown as one.
            self.complain(error, piece, source)
            if self.settings.bail:
                raise BailError from error

    def complain(
        self, error: Exception, piece: Piece | None = None, source: str | None = None
    ) -> None:
        """Tell an error on standard error."""
        self.failed = True
        _tell_aside(partial(complaint, error, piece, source))

    # -- statements and answers

    def run_statement(self, sql: str, *, is_plan: bool = False) -> None:
        """Run a statement and show its answer; `.explain` explains it unless it is a plan itself.

        Raises raydb.Error.
        """
        start = time.perf_counter()
        self.last_statement = f"{sql};\n"
        with showing_progress(self.connection):
            answer, row_count, teller = self._ask(sql)
        time_ms = (time.perf_counter() - start) * 1000
        if answer is not None:
            self.last_query = self.last_query if is_plan else sql
            self.show(answer)
            if answer.table is None:
                # Most of a stream is computed while it is written.
                row_count, time_ms = answer.row_count, (time.perf_counter() - start) * 1000
        for _, warning in teller.messages:
            _tell_aside(partial(caution, warning))
        self._tell_outcome(row_count, time_ms, is_query=answer is not None)

    def _ask(self, sql: str) -> tuple[Answer | None, int, Any]:
        """Run a statement; return its answer, if it has one, and how many rows it gave or wrote.

        What comes last has the `messages` of the statement, once the answer was read.
        Answers that nobody looks at are streams, unless a box shows only some of their rows.
        """
        is_cut = self.settings.mode in {"box", "table"} and self._layout().max_rows
        if not self.output.is_terminal and not is_cut and is_query(sql):
            return Answer.streamed(self.connection.stream(sql)), -1, self.connection
        cursor = self.connection.execute(sql)
        answer = None if cursor.description is None else Answer.of(cursor)
        return answer, cursor.rowcount, cursor

    def show(self, answer: Answer) -> None:
        """Write an answer in the shape that is chosen."""
        write_mode = MODES[self.settings.mode]
        with self.output.writing() as write:
            if answer.names == ("explain",) and self.settings.mode in _FOR_READERS:
                # A plan may be a page of HTML, which a file gets as it is.
                shown = plain if self.output.is_terminal else str
                for rows in answer.batches():
                    for text in rows.column(0).to_pylist():
                        write("".join(f"{shown(line)}\n" for line in text.split("\n")))
            else:
                write_mode(answer, self._layout(), write)

    def write(self, text: str) -> None:
        """Write text where answers go."""
        with self.output.writing() as write:
            write(text)

    def tell(self, text: str) -> None:
        """Tell the user about something, beside the answers."""
        stream = sys.stdout if self.is_interactive else sys.stderr
        stream.write(f"{text}\n")
        stream.flush()

    def _layout(self) -> Layout:
        on_terminal = self.output.is_terminal
        most = self.settings.max_rows
        if most is None or self.output.is_file:
            most = SCREEN_ROWS if on_terminal and not self.output.has_pager else 0
        return Layout(
            has_headers=self.settings.has_headers,
            null=self.settings.null,
            separator=self.settings.separator,
            widths=self.settings.widths,
            max_rows=most,
            width=terminal_columns() if on_terminal else 0,
            is_colored=on_terminal and shows_colors(sys.stdout),
            is_ascii=not (self.output.is_file or _can_draw(sys.stdout.encoding)),
        )

    def _tell_outcome(self, row_count: int, time_ms: float, *, is_query: bool) -> None:
        """Say how many rows a statement gave or wrote, and how long it took."""
        parts = []
        if row_count >= 0 and (self.settings.timer or not is_query):
            parts.append(f"{row_count:,} row{'' if row_count == 1 else 's'}")
        if self.settings.timer:
            parts.append(_time_text(time_ms))
        if parts and (self.is_interactive or self.settings.timer):
            is_colored = self.is_interactive and shows_colors(sys.stdout)
            self.tell(colored(", ".join(parts), DIM, is_colored))

    def close(self) -> None:
        """Close the file of `.output`, and the connection; say so if a transaction is undone."""
        try:
            self.output.choose_standard()
        except raydb.Error as error:
            self.complain(error)
        self._close_connection()

    def _close_connection(self) -> None:
        if self.connection.in_transaction:
            sys.stdout.flush()
            sys.stderr.write("the transaction was open and is rolled back\n")
        self.connection.close()


def _tell_aside(lines: Callable[..., str]) -> None:
    """Write to standard error, in its width and colours, after what was written before."""
    sys.stdout.flush()
    columns = terminal_columns() if sys.stderr.isatty() else 0
    sys.stderr.write(lines(is_colored=shows_colors(sys.stderr), columns=columns))
    sys.stderr.flush()


def _lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a file as they are, without a byte order mark."""
    try:
        # Line ends are kept: a string may hold one.
        with Path(path).expanduser().open(encoding="utf-8-sig", newline="\n") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise DataError(f"file '{path}' cannot be read: it is not UTF-8") from error
    except (OSError, ValueError, RuntimeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise OperationalError(f"file '{path}' cannot be read: {reason}") from error


def _can_draw(encoding: str) -> bool:
    """Say whether the lines of a box can be written in an encoding."""
    try:
        "┌─│…".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _time_text(time_ms: float) -> str:
    """Return a time for a reader.

    >>> _time_text(0.42), _time_text(61_500)
    ('0.42 ms', '61.50 s')
    """
    if time_ms < 1000:
        return f"{time_ms:.3g} ms" if time_ms < 100 else f"{time_ms:.0f} ms"
    return f"{time_ms / 1000:.2f} s"
