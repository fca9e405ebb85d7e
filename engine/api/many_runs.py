"""executemany(): a statement with many sets of parameters, all of them or none.

    INSERT INTO t VALUES (?, ?)     (1, "a")  (2, "b")  (3, None)  ...

The sets become columns, and the statement runs once over all of them. Where that cannot be, or
fails, halves of them run, down to one set alone: what it answers is the answer, and its error names
it.

Outside of a transaction it is one statement: where others were faster it runs once more, on what
they have committed, while nobody else commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.session.result import Result
from raydb.errors import (
    ConflictError,
    DataError,
    Error,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
)
from raydb.interrupts import check_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.engine.session.databases import Databases
    from raydb.engine.session.session import Session
    from raydb.running import Running

    Parameters = Sequence[object] | Mapping[str, object]

# So many sets are held at a time.
BLOCK_SETS = 65_536
# A generator may take its time for each.
_SETS_A_CHECK = 1024
# The runs of fewer take no longer.
_FEW_SETS = 3
# The savepoint behind which they write in a transaction that was begun already.
_SAVED = "executemany()"
# What the parameters of some set may bring about.
_OF_A_SET = (DataError, IntegrityError, ProgrammingError, NotSupportedError)


def run_many(
    session: Session, text: str, parameters: Iterable[Parameters], running: Running
) -> Result:
    """Run a statement once for each set of parameters; return the sum of the rows written.

    The rows of RETURNING are those of all runs, in order. Raises ProgrammingError for a query and
    for parameters that are no series of sets; an error of a run names its set.
    """
    if isinstance(parameters, str | bytes | Mapping) or not isinstance(parameters, Iterable):
        raise ProgrammingError(
            f"executemany() takes a series of sets of parameters, not a {type(parameters).__name__}"
        )
    databases = session.databases

    def run() -> Result:
        runs = _Runs(session, text, running)
        for block in _blocks(parameters):
            runs.run(block)
        return runs.result()

    if databases.in_transaction:
        with _all_or_none(databases):
            return run()
    try:
        return _committed(databases, run)
    except _CommitError as error:
        # It was right on its own snapshot. A generator gives its sets once alone.
        if not isinstance(parameters, list | tuple):
            raise error.reason from None
    with databases.alone():
        try:
            return _committed(databases, run)
        except _CommitError as error:
            raise error.reason from None


class _CommitError(Exception):
    """What others have committed does not let the runs be committed."""

    def __init__(self, reason: Error) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _committed(databases: Databases, run: Callable[[], Result]) -> Result:
    """Make what runs write one transaction."""
    databases.begin()
    try:
        result = run()
    except BaseException:
        if databases.in_transaction:
            databases.rollback()
        raise
    try:
        databases.commit()
    except (ConflictError, IntegrityError, DataError, NotSupportedError) as error:
        raise _CommitError(error) from error
    return result


class _Runs:
    """The runs of a statement, one after the other."""

    def __init__(self, session: Session, text: str, running: Running) -> None:
        self._session, self._text, self._running = session, text, running
        self._count = 0
        self._results: list[Result] = []
        self._at_once = True

    def run(self, sets: Sequence[Parameters]) -> None:
        """Run the next sets of parameters."""
        if self._at_once and len(sets) > _FEW_SETS:
            try:
                result = self._session.execute_runs(self._text, sets, self._running)
            except _OF_A_SET:
                middle = len(sets) // 2
                self.run(sets[:middle])
                self.run(sets[middle:])
                return
            if result is not None:
                self._add(result, len(sets))
                return
            self._at_once = False
        for each in sets:
            self._add(self._run_one(each), 1)

    def _run_one(self, each: Parameters) -> Result:
        try:
            return self._session.execute(self._text, each, self._running)
        except (ProgrammingError, NotSupportedError) as error:
            if not self._count:  # More likely it is about the statement.
                raise
            raise _of_set(error, self._count + 1) from error
        except Error as error:
            raise _of_set(error, self._count + 1) from error

    def _add(self, result: Result, sets: int) -> None:
        if result.has_rows and not result.is_written:
            raise ProgrammingError("executemany() is for statements that write rows, not a query")
        self._count += sets
        self._results.append(result)

    def result(self) -> Result:
        """Return what all runs have written, and the rows of RETURNING."""
        counts = [each.row_count for each in self._results if each.row_count >= 0]
        count = sum(counts) if counts or not self._results else -1
        tables = [each.rows for each in self._results if each.rows is not None]
        if not tables:
            return Result(None, (), count)
        return Result(pa.concat_tables(tables), self._results[0].names, count)


def _of_set(error: Error, number: int) -> Error:
    """Return an error that tells of which set of parameters it is."""
    named = type(error)(f"parameter set {number}: {error.sentence}")
    named.position = error.position
    return named


def _blocks(parameters: Iterable[Parameters]) -> Iterator[list[Parameters]]:
    sets = iter(parameters)
    while True:
        block: list[Parameters] = []
        while len(block) < BLOCK_SETS:
            check_interrupt()
            some = list(islice(sets, _SETS_A_CHECK))
            if not some:
                break
            block += some
        if not block:
            return
        yield block


@contextmanager
def _all_or_none(databases: Databases) -> Iterator[None]:
    """Let what is written be a part of the transaction that was begun, as a whole."""
    databases.savepoint(_SAVED)
    try:
        yield
        databases.release_savepoint(_SAVED)
    except BaseException:
        if databases.in_transaction:
            databases.rollback_to(_SAVED)
            databases.release_savepoint(_SAVED)
        raise
