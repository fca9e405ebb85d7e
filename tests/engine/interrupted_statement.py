"""A process whose statement is interrupted: prints how much memory it has left a while later.

python interrupted_statement.py "SELECT ..." raydb.engine.operators.sort row_order

The interrupt comes when that function has computed, and it returns once the statement has ended:
what it is a step of goes on alone, with its rows. Prints whether it still does at the end, the
bytes that the process took at the interrupt beyond those before the statement, and those at last.
"""

from __future__ import annotations

import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import raydb

LATEST_S = 60.0


def anonymous_bytes() -> int:
    """Return the bytes of this process that are not those of files."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def main(sql: str, module_name: str, function_name: str) -> None:
    connection = raydb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT range AS id, range * 7919 % 1000 AS k,"
        " (range * 31 % 1000003)::DOUBLE AS x FROM range(8000000)"
    )
    module = import_module(module_name)
    compute = getattr(module, function_name)
    has_ended = threading.Event()
    taken = []

    def interrupted(*arguments: object) -> object:
        found = compute(*arguments)
        if not taken:
            taken.append(anonymous_bytes() - before)
            connection.interrupt()
            has_ended.wait(LATEST_S)
        return found

    setattr(module, function_name, interrupted)
    before = anonymous_bytes()
    try:
        connection.execute(sql)
        print("it was done before")
    except raydb.OperationalError:
        others = [thread for thread in threading.enumerate() if thread.name == "raydb work"]
        has_ended.set()
        end = time.monotonic() + LATEST_S
        for thread in others:
            thread.join(end - time.monotonic())
        print(any(thread.is_alive() for thread in others), *taken, anonymous_bytes() - before)


main(*sys.argv[1:])
