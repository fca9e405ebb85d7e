"""Results in the order of the works, computed by threads that are a few works ahead."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.late import futures

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


def results_at_a_time() -> int:
    """Return how many results there are at a time at most, with the one that was yielded last."""
    return 2 * int(pa.cpu_count()) + 2


def in_order(
    compute: Callable[[_Work], _Result],
    works: Iterable[_Work],
    ahead: int | None = None,
    *,
    one_by_one: bool = False,
) -> Generator[_Result]:
    """Yield a function's results for each work in order; threads are a few works ahead.

    ahead: how many, twice the threads by default. No more than a few, so that results do not pile
    up: all pairs of a cross product would not fit. An interrupt is heard between two results.
    one_by_one: the works are done in their order too.
    """
    if one_by_one:
        for work in works:
            check_interrupt()
            yield compute(work)
        return
    count = pa.cpu_count()
    with futures.ThreadPoolExecutor(count) as executor:
        waiting: deque[futures.Future[_Result]] = deque()
        try:
            for work in works:
                check_interrupt()
                waiting.append(executor.submit(compute, work))
                if len(waiting) > (2 * count if ahead is None else ahead):
                    yield waiting.popleft().result()
            while waiting:
                check_interrupt()
                yield waiting.popleft().result()
        finally:
            # On an error, an interrupt included, what has not begun never will.
            for future in waiting:
                future.cancel()
