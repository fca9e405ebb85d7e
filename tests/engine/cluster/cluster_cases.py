"""What tests of a cluster ask of it."""

from __future__ import annotations

import threading
import time

STAR = "SELECT name, count(*), sum(v) AS s FROM f JOIN d USING (k) GROUP BY name ORDER BY s, name"


def wait_for_workers(con, count):
    engine = con._session.queries.cluster.engine
    until = time.monotonic() + 60
    while len(engine.workers(anew=True)) < count:
        assert time.monotonic() < until
        time.sleep(0.05)


def explained(con, query):
    return "\n".join(line for (line,) in con.execute(f"EXPLAIN {query}").fetchall())


def in_a_thread(run):
    found = []

    def go():
        try:
            found.append(run())
        except BaseException as error:  # noqa: BLE001
            found.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    return thread, found
