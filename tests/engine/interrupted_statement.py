"""A process whose statement is interrupted: prints how much memory it has left a while later.

python interrupted_statement.py "SELECT ..."
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import raydb

INTERRUPTED_S = 0.5
LATEST_S = 60.0


def anonymous_bytes() -> int:
    """Return the bytes of this process that are not those of files."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


connection = raydb.connect()
connection.execute(
    "CREATE TABLE t AS SELECT range AS id, range * 7919 % 1000 AS k,"
    " (range * 31 % 1000003)::DOUBLE AS x FROM range(4000000)"
)
before = anonymous_bytes()
threading.Timer(INTERRUPTED_S, connection.interrupt).start()
try:
    connection.execute(sys.argv[1])
    print("it was done before")
except raydb.OperationalError:
    others = [thread for thread in threading.enumerate() if thread.name == "raydb work"]
    end = time.monotonic() + LATEST_S
    for thread in others:
        thread.join(end - time.monotonic())
    print(any(thread.is_alive() for thread in others), anonymous_bytes() - before)
