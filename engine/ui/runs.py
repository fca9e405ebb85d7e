"""A text of a tab as it runs: its statements one after the other, and what the page is told.

    statement   which part of the text runs now
    progress    the name of a step, and the share of it that is done
    columns     names and types of rows, of which the first are on their way
    rows        how many there are by now, and whether that is all
    done        the text has ended; or
    failed      a sentence, and the part of the text that it is about

Places in a text are counted as browsers do, in units of UTF-16.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from raydb import errors
from raydb.engine.session.python_values import sql_types
from raydb.engine.session.settings import TEMP_DIRECTORY
from raydb.engine.shell.error_display import place_of
from raydb.engine.shell.script import Piece, is_query, read_script
from raydb.engine.ui.rows_file import RowsFile
from raydb.engine.ui.windows import shown_columns
from raydb.errors import NotSupportedError, OperationalError
from raydb.keywords import Scanner
from raydb.names import fold
from raydb.planner.expressions.aggregates import AGGREGATES
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from raydb.engine.api.connection import Connection

    Tell = Callable[[Mapping[str, Any]], None]

# Rows that come with the names of their columns: what a page shows without asking again.
FIRST_ROWS = 50

# How often the page hears how far a statement is.
_TELL_S = 0.1

_WORD = re.compile(r"\w+|\"[^\"]*\"|[^\s\w]")
_CALL = re.compile(r"(\w+)(\s*\()?|[()]")
# A query with one of these has seen all its rows before it gives the first one.
_LATE = {"GROUP", "ORDER", "HAVING", "DISTINCT"}


class Result:
    """The rows of a query: id, names and SQL types, and the file that they are in.

    keys: names that SQL tells apart, for a query may give two columns one name.
    """

    def __init__(self, schema: pa.Schema, connection: Connection) -> None:
        self.id = secrets.token_urlsafe(12)
        self.names = list(schema.names)
        self.keys = _told_apart(self.names)
        self.types = list(sql_types(schema))
        self.rows = RowsFile(schema, temporary_folder(connection))
        self.is_whole = False


def _told_apart(names: Sequence[str]) -> list[str]:
    """Return names, numbered where they are those of earlier ones, whatever their letters' case."""
    found: dict[str, str] = {}
    for name in names:
        key, number = name, 1
        while fold(key) in found:
            key, number = f"{name}_{number}", number + 1
        found[fold(key)] = key
    return list(found.values())


def temporary_folder(connection: Connection) -> TemporaryFolder:
    """Return where a connection's temporary files go."""
    session = connection._open_session()  # noqa: SLF001
    return TemporaryFolder(session.settings[TEMP_DIRECTORY] or session._folder)  # noqa: SLF001


class Run:
    """A text that runs on a connection. keep: gets each result as soon as there is one."""

    def __init__(
        self, connection: Connection, text: str, tell: Tell, keep: Callable[[Result], None]
    ) -> None:
        self._connection = connection
        self._text = text
        self._tell = tell
        self._keep = keep
        self.is_over = False
        self._is_cancelled = False
        self._told = 0.0

    def cancel(self) -> None:
        """End the statement that runs, and let those after it be."""
        self._is_cancelled = True
        self._connection.interrupt()

    def run(self) -> None:
        """Run the text to its end or its first error; nothing is raised."""
        start = time.perf_counter()
        self._connection.progress = self._tell_progress
        place, piece = 0, Piece("", 1)
        written = None
        try:
            for piece in read_script(self._text):
                place = self._text.index(piece.text, place)
                end = place + len(piece.text)
                if self._is_cancelled:
                    raise OperationalError("the statement was interrupted")
                self._tell({"event": "statement", "start": self._unit(place)})
                written = self._run_statement(piece, start)
                place = end
            told: Mapping[str, Any] = {
                "event": "done",
                "time_ms": _since(start),
                "written": written,
            }
        except Exception as error:  # noqa: BLE001  (even our own mistake is shown, and ends no tab)
            told = self._failure(error, piece, place)
        self._connection.progress = None
        # Whoever hears of the end may begin the next run.
        self.is_over = True
        self._tell(told)

    def _run_statement(self, piece: Piece, start: float) -> int | None:
        """Run one statement; return how many rows it wrote, None where that says nothing."""
        if piece.is_command:
            word = piece.text.split()[0]
            raise NotSupportedError(f"'{word}' is a command of the shell; the page takes SQL alone")
        connection = self._connection
        about = {"sql": piece.text.rstrip(";"), "is_query": is_query(piece.text)}
        if is_query(piece.text) and not gives_rows_late(piece.text):
            reader = connection.stream(piece.text)
            self._take(reader.schema, reader, about, start)
            self._warn(connection.messages)
            return None
        if about["is_query"]:
            about["familiarity"] = connection._familiarity(piece.text)  # noqa: SLF001
        cursor = connection.execute(piece.text)
        self._warn(cursor.messages)
        if cursor.description is None:
            return cursor.rowcount if cursor.rowcount >= 0 else None
        table = cursor.to_arrow_table()
        self._take(table.schema, table.to_batches(), about, start)
        return None

    def _take(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        about: Mapping[str, Any],
        start: float,
    ) -> None:
        """Put the rows of a query where the page reads them. about: what it hears of the query."""
        result = Result(schema, self._connection)
        has_begun = False
        try:
            for batch in batches:
                for count in result.rows.write(batch):
                    if not has_begun:
                        has_begun = True
                        self._begin(result, about, start)
                    elif self._is_due():
                        self._tell_count(result, count)
                    if self._is_cancelled:
                        raise OperationalError("the statement was interrupted")
            if not has_begun:
                has_begun = True
                self._begin(result, about, start)
            result.is_whole = True
        finally:
            if has_begun:
                self._tell_count(result, result.rows.row_count)
            else:
                result.rows.close()

    def _tell_count(self, result: Result, count: int) -> None:
        told = {"event": "rows", "result": result.id, "count": count, "is_whole": result.is_whole}
        self._tell(told)

    def _begin(self, result: Result, about: Mapping[str, Any], start: float) -> None:
        self._keep(result)
        self._tell(
            {
                **about,
                "event": "columns",
                "result": result.id,
                "names": result.names,
                "keys": result.keys,
                "types": result.types,
                "first": shown_columns(result.rows.window(0, FIRST_ROWS)),
                "count": result.rows.row_count,
                "time_ms": _since(start),
            }
        )

    def _warn(self, messages: Iterable[tuple[object, errors.Warning]]) -> None:
        for _, warning in messages:
            self._tell({"event": "warning", "sentence": str(warning)})

    def _tell_progress(self, step: str, share: float) -> None:
        if self._is_due():
            self._tell({"event": "progress", "step": step, "share": share})

    def _is_due(self) -> bool:
        now = time.monotonic()
        is_due = now - self._told >= _TELL_S
        if is_due:
            self._told = now
        return is_due

    def _failure(self, error: Exception, piece: Piece, place: int) -> dict[str, Any]:
        """Return what is told of an error: the sentence, and the part of the text it is about."""
        told: dict[str, Any] = {"event": "failed", "sentence": sentence_of(error)}
        told["is_cancelled"] = self._is_cancelled
        found = None if piece.is_command else place_of(error)
        if found is not None:
            line, column = found
            lines = piece.text.split("\n")
            start = place + sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
            marked = _WORD.match(self._text, start)
            end = start + 1 if marked is None else marked.end()
            told |= {"start": self._unit(start), "end": self._unit(min(end, len(self._text)))}
        elif piece.text:
            told |= {"start": self._unit(place), "end": self._unit(place + len(piece.text))}
        return told

    def _unit(self, place: int) -> int:
        return len(self._text[:place].encode("utf-16-le", "surrogatepass")) // 2


def sentence_of(error: Exception) -> str:
    """Return an error as one sentence; what is none of RayDB's is its own mistake."""
    if isinstance(error, errors.Error):
        return " ".join(error.sentence.split())
    if isinstance(error, MemoryError):
        return "there is too little memory"
    return f"{type(error).__name__}: {error}; this is RayDB's own mistake, please report it"


def gives_rows_late(sql: str) -> bool:
    """Tell whether a query aggregates or sorts as a whole, so that nothing is won by a stream.

    Such a query is executed, as its plan is kept for the next time.

    >>> gives_rows_late("SELECT a, sum(b) FROM t GROUP BY a"), gives_rows_late("FROM t LIMIT 5")
    (True, False)
    """
    code = "".join(piece if kind == "code" else " x " for kind, piece in Scanner().scan(sql))
    depth = 0
    for found in _CALL.finditer(code):
        name, is_call = (found[1] or "").upper(), found[2] is not None
        if depth == 0 and (name in _LATE or (is_call and name.lower() in AGGREGATES)):
            return True
        depth += (found[0].endswith("(")) - (found[0] == ")")
    return False


def _since(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)
