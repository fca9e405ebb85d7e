"""The statement that runs on this thread, as the layers below the engine may ask about it.

    with Running(interrupts, listener) as running:      a statement begins ... and ends
        moment()                                        what now() is
        check_interrupt()                               see `raydb.interrupts`

The engine hands its own context down to whatever works for a statement. This is for code that no
context reaches: a loop deep in storage or kernels, which asks whether it is to end; a backend,
whose copies of columns belong to the whole process; now() in an expression; numba, which compiles a
loop wherever it is first called. It is one variable of the thread; threads that work for a
statement get it with a copy of the thread's variables.
"""

from __future__ import annotations

import datetime as dt
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from raydb.errors import (
    Error,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from raydb.late_interrupt import LateInterrupt
from raydb.memory_release import at_work, drop_rows, give_back
from raydb.remote import Traffic
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextvars import Token
    from types import TracebackType

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.remote import Access

    # Is told the name of a step and the share of it that is done, from 0 to 1.
    Listener: TypeAlias = Callable[[str, float], None]

# What ran longer may have held much memory; what took less holds little, and is worth its time.
_LONG_S = 0.1

# The rest of a device's memory is for results, for what a build sorts and for other programs.
BUDGET_SHARE = 0.8


class Interrupt(BaseException):
    """Ends the statement that asked; no `except Exception` takes it for an error of its own."""


class Interrupts:
    """Tells the statements of one connection that they are to end."""

    def __init__(self) -> None:
        # One value, which is replaced as a whole, needs no lock.
        self.moment = object()

    def interrupt(self) -> None:
        """End what runs; it hears that when it asks."""
        self.moment = object()


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What may be held on each device: bytes, or a share (0 to 1) of what is free or held."""

    size_bytes: int | None = None
    share: float = BUDGET_SHARE

    def budget(self, available_bytes: int) -> int:
        """Return the bytes that may be held where so many are free or held already."""
        if self.size_bytes is not None:
            return min(self.size_bytes, available_bytes)
        return int(self.share * available_bytes)


SHARED = DeviceMemory()


@dataclass(frozen=True, slots=True)
class Reject:
    """A record of a file that was left out. column: its place from 1, None for the whole record."""

    file_path: str
    line: int
    column_idx: int | None
    column_name: str | None
    error_type: str
    csv_line: str
    error_message: str


@dataclass(slots=True)
class Remarks:
    """What a text has to say beside its answer.

    rejects: the records of files that its last statement left out, by file and line, None where
    none may be.
    """

    warnings: list[str] = field(default_factory=list)
    rejects: dict[tuple[str, int], Reject] | None = None


class Sequences(Protocol):
    """The sequences that a statement may take values of, by name; see `SequenceValues`."""

    def take(self, name: str, count: int) -> NDArray[np.int64]:
        """Return the next values."""

    def last(self, name: str) -> int:
        """Return the value that was taken last."""

    def restart(self, name: str, value: int, *, is_taken: bool) -> None:
        """Go on behind a value, or with it."""


class Running:
    """A running statement. Used as a context manager, it is that of this thread.

    interrupts: end it, those from now on; None for none. listener: is told how far long work has
    come. memory_limit: returns the bytes that the statement may take, None for any number; itself
    None where nothing has begun. temp_folder: for temporary files, None for the system's.
    time_zone: as SET says it. cuts_nanoseconds: whether what is finer than a TIMESTAMP is cut off.
    keep_rows: moves rows that wait to a file where they would fill the memory, None where they
    stay. sequences: those that nextval() knows. types: those of CREATE TYPE. variables: those of
    SET VARIABLE. place: the current database and schema. setting: what SHOW says of a name.
    null_order: see `null_order()`. collation: see `default_collation()`. access: how object stores
    are reached. traffic: what was asked of them.
    At the end an Interrupt becomes an OperationalError.
    """

    __slots__ = (
        "_before",
        "_began",
        "_heard",
        "_is_limited",
        "_late",
        "_start",
        "_too_late",
        "access",
        "collation",
        "cuts_nanoseconds",
        "device_memory",
        "is_over",
        "keep_rows",
        "listener",
        "memory_limit",
        "null_order",
        "place",
        "remarks",
        "sequences",
        "setting",
        "temp_folder",
        "time_zone",
        "traffic",
        "types",
        "variables",
    )

    def __init__(
        self,
        interrupts: Interrupts | None = None,
        listener: Listener | None = None,
        device_memory: DeviceMemory = SHARED,
    ) -> None:
        self.is_over = _never
        if interrupts is not None:
            begun = interrupts.moment
            self.is_over = lambda: interrupts.moment is not begun
        self._heard = self.is_over
        self._is_limited = False
        self._too_late = ""
        self.listener = listener
        self.device_memory = device_memory
        self.memory_limit: Callable[[], int | None] | None = None
        self.remarks = Remarks()
        self.temp_folder: str | None = None
        self.time_zone = "UTC"
        self.cuts_nanoseconds = False
        self.keep_rows: Callable[[pa.Table, bool], pa.Table] | None = None
        self.sequences: Sequences | None = None
        self.types: Mapping[str, pa.DataType] = {}
        self.variables: Mapping[str, pa.Scalar] = {}
        self.place: tuple[str, str] | None = None
        self.null_order: tuple[bool, bool] | None = None
        self.collation = ""
        self.setting: Callable[[str], str] | None = None
        self.access: Access | None = None
        self.traffic = Traffic()
        self._began: dt.datetime | None = None
        self._before: Token[Running | None] | None = None
        self._late: LateInterrupt | None = None
        self._start = 0.0

    def begin(
        self,
        device_memory: DeviceMemory,
        memory_limit: Callable[[], int | None] | None = None,
        time_zone: str = "UTC",
        *,
        cuts_nanoseconds: bool = False,
        temp_folder: str | None = None,
        most_ms: int = 0,
    ) -> None:
        """Go on with the next statement of a text, which has a moment of its own.

        most_ms: how long it may run, 0 for as long as it wants.
        """
        self._release_interrupt(at_once=True)
        self.device_memory, self.memory_limit = device_memory, memory_limit
        self.time_zone, self.cuts_nanoseconds = time_zone, cuts_nanoseconds
        self.temp_folder = temp_folder
        self._began = None
        if most_ms or self._is_limited:
            self._is_limited, self._too_late, self.is_over = bool(most_ms), "", self._heard
        if most_ms:
            self._end_within(most_ms)

    def _end_within(self, most_ms: int) -> None:
        heard, last = self._heard, time.monotonic() + most_ms / 1000

        def is_over() -> bool:
            if not self._too_late and time.monotonic() > last:
                self._too_late = f"the statement ran longer than max_execution_time, {most_ms} ms"
            return bool(self._too_late) or heard()

        self.is_over = is_over

    def moment(self) -> dt.datetime:
        """Return what now() is, however often it is asked: when it was first asked, in UTC.

        A statement may be several plans, such as those of INSERT ... ON CONFLICT, and a plan may
        hold queries that are optimized one by one.
        """
        if self._began is None:
            self._began = dt.datetime.now(dt.UTC)
        return self._began

    def go_on(self, moment: dt.datetime) -> None:
        """Take the moment of the transaction for that of the statement."""
        self._began = moment

    def hold_interrupt(self) -> None:
        """Let Ctrl-C wait for the end of the statement, which is about to become durable."""
        if self._late is None:
            self._late = LateInterrupt.of_this_thread()
            if self._late is not None:
                self._late.hold()

    def _release_interrupt(self, *, at_once: bool) -> None:
        if self._late is not None:
            late, self._late = self._late, None
            late.release(at_once=at_once)

    def on_a_thread(self, is_over: Callable[[], bool]) -> Running:
        """Return the statement as a thread has it that may be told to end on its own."""
        running = Running(None, self.listener, self.device_memory)
        running.is_over, running._began = is_over, self.moment()
        running.memory_limit, running.keep_rows = self.memory_limit, self.keep_rows
        running.remarks, running.temp_folder = self.remarks, self.temp_folder
        running.time_zone, running.cuts_nanoseconds = self.time_zone, self.cuts_nanoseconds
        running.sequences, running.types = self.sequences, self.types
        running.place, running.setting = self.place, self.setting
        running.variables = self.variables
        running.access, running.traffic = self.access, self.traffic
        return running

    def __enter__(self) -> Self:
        self._before = current.set(self)
        self._start = time.perf_counter()
        at_work.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._before is not None
        current.reset(self._before)
        at_work.discard(self)
        self._release_interrupt(at_once=False)
        if time.perf_counter() - self._start > _LONG_S:
            is_known = isinstance(error, Interrupt | KeyboardInterrupt | Error)
            drop_rows(error, is_ours=not is_known or isinstance(error, InternalError))
            del trace, error
            give_back()
        if kind is Interrupt:
            raise OperationalError(self._too_late or "the statement was interrupted") from None


def _never() -> bool:
    return False


current: ContextVar[Running | None] = ContextVar("raydb statement", default=None)


def moment() -> dt.datetime:
    """Return the moment of the statement that runs on this thread, in UTC."""
    running = current.get()
    return dt.datetime.now(dt.UTC) if running is None else running.moment()


def time_zone() -> str:
    """Return the time zone of the statement that runs on this thread, as SET says it."""
    running = current.get()
    return "UTC" if running is None else running.time_zone


@contextmanager
def in_zone(name: str) -> Iterator[None]:
    """Let the statement that runs on this thread have another time zone for a while."""
    running = current.get()
    before = time_zone()
    if running is not None:
        running.time_zone = name
    try:
        yield
    finally:
        if running is not None:
            running.time_zone = before


def cuts_nanoseconds() -> bool:
    """Tell whether that statement cuts off what is finer than a TIMESTAMP."""
    running = current.get()
    return running is not None and running.cuts_nanoseconds


def sequences() -> Sequences:
    """Return the sequences that the statement which runs on this thread sees."""
    running = current.get()
    if running is None or running.sequences is None:
        raise NotSupportedError("a sequence has values within a statement only")
    return running.sequences


def current_place() -> tuple[str, str] | None:
    """Return the current database and schema of that statement, None outside of one."""
    running = current.get()
    return None if running is None else running.place


def variable(name: str) -> pa.Scalar | None:
    """Return what SET VARIABLE has set in the connection of that statement, None for nothing.

    Raises ProgrammingError within `without_variables`.
    """
    running = current.get()
    return None if running is None else running.variables.get(name)


@contextmanager
def without_variables(what: str) -> Iterator[None]:
    """Refuse what reads variables for a while: `what` is kept, and others have other variables.

    Texts of no collation are compared letter by letter, see `letter_by_letter`.
    """
    running = current.get()
    if running is None:
        yield
        return
    before = running.variables
    running.variables = _NoVariables(what)
    try:
        with letter_by_letter():
            yield
    finally:
        running.variables = before


class _NoVariables(dict[str, "pa.Scalar"]):
    """Variables that nobody may read."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002  (as of a dict)
        raise ProgrammingError(
            f"{self._what} cannot read variable '{name}': other connections have other variables"
        )


def setting(name: str) -> str:
    """Return what SHOW says of a setting in that statement."""
    running = current.get()
    if running is None or running.setting is None:
        raise NotSupportedError("a setting has a value within a statement only")
    return running.setting(name)


def null_order() -> tuple[bool, bool] | None:
    """Return whether NULLs come first in ascending and in descending order, None for the default.

    The default has them last and first: they are greater than any value.
    """
    running = current.get()
    return None if running is None else running.null_order


def default_collation() -> str:
    """Return the collation of texts that have none in that statement, '' for letter by letter."""
    running = current.get()
    return "" if running is None else running.collation


@contextmanager
def letter_by_letter() -> Iterator[None]:
    """Compare texts of no collation letter by letter for a while, whatever the connection says."""
    running = current.get()
    if running is None:
        yield
        return
    before, running.collation = running.collation, ""
    try:
        yield
    finally:
        running.collation = before


def user_types() -> Mapping[str, pa.DataType]:
    """Return the types of CREATE TYPE that that statement sees, by name."""
    running = current.get()
    return {} if running is None else running.types


@contextmanager
def knowing_types(types: Mapping[str, pa.DataType]) -> Iterator[None]:
    """Let what runs on this thread see some types, where no statement has begun too."""
    running = current.get() or Running()
    before, running.types = running.types, types
    token = current.set(running)
    try:
        yield
    finally:
        current.reset(token)
        running.types = before


def device_memory() -> DeviceMemory:
    """Return what the statement that runs on this thread may hold on each device."""
    running = current.get()
    return SHARED if running is None else running.device_memory
