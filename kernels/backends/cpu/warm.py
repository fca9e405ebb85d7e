"""Gets the compiled loops ready in the background; until then their twins in NumPy answer.

Importing numba and loading what it keeps on disk takes half a second, and compiling anew, which
happens once on a machine, 7 seconds. A process that asks one question and ends waits for
neither: the work begins a moment after `start`, and stops between two loops when the process ends.
"""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import OperationalError
from raydb.kernels import code_cache
from raydb.kernels.backends.aggregates import BY_ROW, BY_RUN, STATES, WIDE
from raydb.kernels.backends.cpu import numpy_loops

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

# Importing numba holds up every other thread, so a first query gets this long to be answered.
DELAY_SECONDS = 0.5

_PAUSE_SECONDS = 0.02

# What most BVHs store. A loop over other types is compiled, or loaded, when it is first called.
CODE_TYPES = ("u1", "u2", "i4")
CODE_PAIRS = (("u1", "u1"), ("u1", "u2"), ("u2", "u2"), ("i4", "i4"))
VALUE_TYPES = ("i4", "i8", "f8")
SMALL_VALUE_TYPES = ("i1", "i2")


class _Warmup:
    """The state of the background work of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.stop = threading.Event()
        self.hurry = threading.Event()
        self.loops: ModuleType | None = None
        self.scan_loops: ModuleType | None = None
        self.star_loops: ModuleType | None = None
        self.error: Exception | None = None


_warmup = _Warmup()


def start() -> None:
    """Begin to get the loops ready, unless that is under way or done."""
    with _warmup.lock:
        # A process that was forked has the thread's object, but not the thread.
        if _warmup.scan_loops is None and _warmup.error is None and not is_under_way():
            _warmup.thread = threading.Thread(target=_run, name="raydb warm-up", daemon=True)
            _warmup.thread.start()


def loops() -> ModuleType:
    """Return the compiled loops where they are ready, else their twins.

    Raises OperationalError where the loops cannot be had on this machine.
    """
    if _warmup.loops is not None:
        return _warmup.loops
    if _warmup.error is not None:
        raise OperationalError(f"the compiled loops cannot be loaded: {_warmup.error}")
    start()
    return numpy_loops


def scan_loops() -> ModuleType | None:
    """Return the compiled scan, None while it is not ready.

    Raises OperationalError as `loops` does.
    """
    if _warmup.scan_loops is None:
        if _warmup.error is not None:
            raise OperationalError(f"the compiled loops cannot be loaded: {_warmup.error}")
        start()
    return _warmup.scan_loops


def star_loops() -> ModuleType | None:
    """Return the compiled loop of stars, None while it is not ready: there is a longer way.

    Raises OperationalError as `loops` does.
    """
    if _warmup.star_loops is None:
        loops()
    return _warmup.star_loops


def wait(seconds: float | None = None) -> None:
    """Wait until the loops are ready, or so long. Raises OperationalError as `loops` does."""
    _warmup.hurry.set()
    start()
    assert _warmup.thread is not None
    _warmup.thread.join(seconds)
    loops()


def wait_for_kept(seconds: float) -> bool:
    """Wait as `wait` does, but not for loops that are to be compiled; tell whether all are ready.

    These come when they are compiled, by this process or by others. Raises OperationalError as
    `loops` does.
    """
    _warmup.hurry.set()
    start()
    assert _warmup.thread is not None
    until = time.monotonic() + seconds
    while is_under_way() and not code_cache.lacks.is_set() and time.monotonic() < until:
        _warmup.thread.join(_PAUSE_SECONDS)
    loops()
    return not is_under_way()


def is_under_way() -> bool:
    """Tell whether loops are being loaded or compiled."""
    return _warmup.thread is not None and _warmup.thread.is_alive()


def _run() -> None:
    _warmup.hurry.wait(DELAY_SECONDS)
    if _warmup.stop.is_set():
        return
    try:
        from raydb.kernels.backends.cpu import numba_loops  # noqa: PLC0415  (numba takes 0.24 s)

        for name, arguments in _calls():
            if _warmup.stop.is_set():
                return
            getattr(numba_loops, name)(*arguments)
        _warmup.loops = numba_loops
        from raydb.kernels.bvh import star_loops  # noqa: PLC0415  (as above)

        star_loops.find_star_runs(*_star_of_no_rows())
        _warmup.star_loops = star_loops
        from raydb.kernels.backends.cpu.scans import scan_loops  # noqa: PLC0415  (as above)

        scan_loops.warm_up()
        _warmup.scan_loops = scan_loops
    except (OSError, MemoryError):
        # No descriptor or no memory was left, which passes: the next query begins again.
        return
    except Exception as error:  # noqa: BLE001  (the next query raises it)
        _warmup.error = error


def _calls() -> Iterator[tuple[str, list[Any]]]:
    """Yield a call over no rows for each loop and each combination of types, common ones first."""
    numbers, runs, lanes = np.empty(0, np.int64), np.empty((3, 0), np.int64), (1, 1, 1)
    yield "count_runs", [runs, numbers]
    yield "list_rows", [runs, numbers, numbers]
    yield "count_groups", [numbers, numbers]
    for value_type in (*VALUE_TYPES, *SMALL_VALUE_TYPES):
        # Few measures may overflow: their loops are compiled when they are first called.
        for kind in sorted({*BY_RUN, *BY_ROW} - {*WIDE}):
            if kind == "squares" and value_type == "f8":
                continue
            values, state = _column(value_type), _state(value_type, len(STATES[kind]))
            if kind in BY_RUN:
                yield f"{kind}_runs", [runs, values, state]
            if kind in BY_ROW:
                yield f"{kind}_places", [numbers, numbers, values, state]
    for code_type in CODE_TYPES:
        yield "refine_rows", [numbers, numbers, _column(code_type), numbers]
    for types in (*((code_type,) for code_type in CODE_TYPES), *CODE_PAIRS):
        listed, added = (
            tuple((_column(code_type), np.empty(0, parts)) for code_type in types)
            for parts in (np.int64, np.int32)
        )
        yield "list_by_code", [runs, listed, numbers, numbers]
        yield "count_by_code", [runs, added, lanes, numbers]
        for value_type in VALUE_TYPES:
            values, (sums,) = _column(value_type), _state(value_type, 1)
            yield "sum_by_code", [runs, added, values, lanes, numbers, sums]


def _star_of_no_rows() -> tuple[NDArray[Any], ...]:
    return (
        np.array([[0, 1, 0, 1, 1]], np.uint64),
        np.empty((0, 4), np.uint64),
        np.zeros((2, 1), np.uint32),
        np.empty(0, np.int32),
        np.empty((0, 6), np.int64),
        np.ones(1, np.int64),
        frozen(np.empty(0, np.int64)),
        frozen(np.zeros(2, np.int64)),
    )


def _column(column_type: str) -> NDArray[Any]:
    return frozen(np.empty(0, column_type))


def _state(value_type: str, word_count: int) -> NDArray[Any]:
    return np.empty((word_count, 0), "f8" if value_type == "f8" else "i8")


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written, or the array if it cannot.

    numba compiles a loop once for arrays that can be written and once for those that cannot, which
    a BVH's are where they are mapped from a file: so all of them are frozen.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def _end() -> None:
    """Let the thread finish its step: an interpreter that ends under it may crash."""
    _warmup.stop.set()
    _warmup.hurry.set()
    if _warmup.thread is not None:
        _warmup.thread.join()


atexit.register(_end)
