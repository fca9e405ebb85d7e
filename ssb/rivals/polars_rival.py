"""Polars: one frame of narrow columns, asked by lazy plans made before the clock starts."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any, Final

from raydb.ssb import rules
from raydb.ssb.rivals import THREADS, Ask, import_rival

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.ssb.flat import FlatTable
    from raydb.ssb.workload import Query, Workload

# Polars adds 32-bit integers up in 32 bits, and they wrap.
_SUM: Final = re.compile(r"\bSUM\(")
_RANGE: Final = re.compile(r"\b(\w+) BETWEEN '([^']*)' AND '([^']*)'")


class Polars:
    """The flat table as a frame; each query by the faster one of Polars' two engines."""

    def __init__(self, _: Workload) -> None:
        # Read once, when Polars is imported first.
        os.environ["POLARS_MAX_THREADS"] = str(THREADS)
        self._polars = import_rival("polars")
        self.version: str = self._polars.__version__
        self.build_s: float | None = None
        self._frame: Any = None
        self._kinds: dict[str, Any] = {}

    def load(self, flat: FlatTable, advance: Callable[[], None]) -> None:
        """Load the table into one frame without chunks."""
        polars = self._polars
        self._kinds = {column: polars.Enum(texts) for column, texts in rules.VALUES.items()}
        casts = [polars.col(column).cast(kind) for column, kind in self._kinds.items()]
        parts = [polars.from_arrow(batch).with_columns(*casts) for batch in flat.batches(advance)]
        self._frame = polars.concat(parts, rechunk=True)

    def prepare(self, query: Query) -> Ask:
        """Plan the flat text, widen its sums, and choose the engine by a trial."""
        polars = self._polars
        frame = self._frame.lazy()
        # Compared with a text, an Enum column would be turned into texts: 15 times slower.
        for column, low, high in _RANGE.findall(query.flat):
            kind = self._kinds[column]
            bounds = polars.lit(low, dtype=kind), polars.lit(high, dtype=kind)
            frame = frame.filter(polars.col(column).is_between(*bounds))
        text = _widen_sums(_RANGE.sub("TRUE", query.flat))
        plan = polars.SQLContext(lineorder_flat=frame).execute(text)

        def by(engine: str) -> Ask:
            return lambda: list(plan.collect(engine=engine).rows())

        return min((by("in-memory"), by("streaming")), key=_seconds)

    def close(self) -> None:
        """Drop the frame."""
        self._frame = None


def _seconds(ask: Ask) -> float:
    """Return how long the second one of two runs takes."""
    ask()
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start


def _widen_sums(text: str) -> str:
    """Put CAST(... AS BIGINT) around the argument of each SUM."""
    parts = _SUM.split(text)
    widened = parts[0]
    for part in parts[1:]:
        end = _closing(part)
        widened += f"SUM(CAST({part[:end]} AS BIGINT){part[end:]}"
    return widened


def _closing(text: str) -> int:
    """Return where the parenthesis closes that opened before the text."""
    depth = 1
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place
    raise AssertionError(text)
