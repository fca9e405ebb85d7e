"""An object store with faults, and writers of a database in it that are processes of their own.

    with Store() as store:
        writer = Writer(write, store.url)
        store.server.hook = lambda request: writer.kill()

A process that has made requests may not be forked, as their threads are not, and connections of a
process share a database. So a writer comes from a server of forks, which has imported everything.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[1]))
from processes import PATIENCE_S, FindingError
from store_server import StoreServer

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Time-outs of requests, so that a fault that lasts takes seconds, not minutes.
CONFIG = {"object_timeout": 3000}


class Store:
    """A server with an empty bucket, and the URL of a database there that nobody has made yet."""

    def __init__(self) -> None:
        self.server = StoreServer()
        self.bucket = f"bucket-{uuid.uuid4().hex}"
        self.server.make_bucket(self.bucket)
        self._cache = tempfile.TemporaryDirectory(prefix="raydb-", ignore_cleanup_errors=True)
        self.environment = {**self.server.environment, "XDG_CACHE_HOME": self._cache.name}
        os.environ.update(self.environment)
        self.url = f"s3://{self.bucket}/shop.raydb"

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.hook = None
        self.server.close()
        self._cache.cleanup()

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what a reader finds that knows nothing."""
        with raydb.connect(self.url, read_only=True, config=CONFIG | {"cache_size": 0}) as con:
            return con.execute(sql).fetchall()


class Writer:
    """A process that runs `function(say, *arguments)`, where `say(*words)` tells this one."""

    def __init__(
        self, function: Callable[..., None], environment: Mapping[str, str], *arguments: Any
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["raydb", "obstore", "workload"])
        self._told, telling = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_run, args=(function, dict(environment), telling, arguments), daemon=True
        )
        self.process.start()
        telling.close()

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self.process.kill()
        self.process.join()

    def words(self) -> list[tuple[Any, ...]]:
        """Wait for its end; return what it has said."""
        found: list[tuple[Any, ...]] = []
        end = time.monotonic() + PATIENCE_S
        try:
            while self._told.poll(max(0.0, end - time.monotonic())):
                found.append(self._told.recv())
        except EOFError:
            self.process.join()
        else:
            self.kill()
            raise FindingError(f"a writer stands still after {found[-1:]}")
        for words in found:
            if words[0] == "failed":
                raise FindingError(words[1])
        return found


def _run(function: Any, environment: Any, telling: Any, arguments: Any) -> None:
    os.environ.update(environment)
    try:
        function(lambda *words: telling.send(words), *arguments)
    except Exception:  # noqa: BLE001  (the parent tells)
        telling.send(("failed", traceback.format_exc()))
