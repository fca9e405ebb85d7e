"""The settings of a cluster."""

from __future__ import annotations

from typing import Any

from raydb.engine.context.setting import Setting, parse_milliseconds, whole_number
from raydb.errors import ProgrammingError

# A segment of fewer rows takes longer to ask for than to scan.
_FEWEST_ROWS = 1000

_MOST_ROWS = 2**31

# Where two workers end at once, the other ones read the segments of both again.
_MOST_COPIES = 2


def _parse_segment_rows(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and _FEWEST_ROWS <= int(text) < _MOST_ROWS):
        raise ProgrammingError(f"{name} is a number from {_FEWEST_ROWS}, not '{text}'")
    return int(text)


SEGMENT_ROWS = Setting(
    "segment_rows",
    4_000_000,
    _parse_segment_rows,
    "a number from 1000",
    "how many rows a segment of a table has, which a worker of a cluster scans; see"
    " [cluster.md](../cluster.md)",
)
SEGMENT_COPIES = Setting(
    "segment_copies",
    1,
    whole_number(1, _MOST_COPIES),
    "1, 2",
    "how many workers hold what a query reads of a segment; a second one goes on at once where the"
    " first is lost",
)
WORKER_TIMEOUT = Setting(
    "worker_timeout",
    5000,
    parse_milliseconds,
    "milliseconds",
    "how long a worker of a cluster may give no sign of life before others do its part",
)

CLUSTER_SETTINGS: tuple[Setting[Any], ...] = (SEGMENT_ROWS, SEGMENT_COPIES, WORKER_TIMEOUT)
