"""A worker of RayDB inside of a worker of Dask: three handlers beside Dask's own.

They take and give bytes, run on threads of their own, and are no tasks: the scheduler does not
hear of them. Dask sends the plugin to each worker there is and to each that comes.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from distributed import WorkerPlugin

from raydb.engine.cluster.worker import Worker

# Coordinators whose calls run at once; others wait.
_MOST_CALLS = 16


class RayDBPlugin(WorkerPlugin):
    """Adds the handlers."""

    name = "raydb"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Begin to answer."""
        self._worker = Worker()
        self._threads = ThreadPoolExecutor(_MOST_CALLS, "raydb")
        worker.handlers |= {
            "raydb_call": self._call,
            "raydb_end": self._end,
            "raydb_about": self._about,
        }

    def teardown(self, worker: Any) -> None:
        """End what runs."""
        for name in ("raydb_call", "raydb_end", "raydb_about"):
            worker.handlers.pop(name, None)
        self._worker.close()
        self._threads.shutdown(wait=False)

    async def _call(self, question: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._worker.answer, question)

    async def _end(self, call: str) -> bytes:
        self._worker.end(call)
        return b""

    async def _about(self) -> bytes:
        return json.dumps(self._worker.about()).encode()
