"""A worker of RayDB inside of a worker of Dask: some handlers beside Dask's own.

They take and give bytes, run on threads of their own, and are no tasks: the scheduler does not
hear of them. Dask sends the plugin to each worker there is and to each that comes.
"""

from __future__ import annotations

import asyncio
import gc
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from distributed import WorkerPlugin
from distributed.comm.addressing import get_address_host

from raydb.engine.cluster.lines import Listener
from raydb.engine.cluster.worker import Worker
from raydb.engine.gnn.held import HeldParts
from raydb.errors import NotSupportedError, OperationalError
from raydb.kernels.backends.cpu import warm

# Coordinators whose calls run at once; others wait.
_MOST_CALLS = 16

# How long a worker that begins waits for its loops to be loaded.
_LOOPS_S = 20.0

# Workers within a process, and those of other protocols, have no lines: they would open a port.
_LISTENING = ("tcp://", "tls://")

_HANDLERS = ("raydb_line", "raydb_call", "raydb_end", "raydb_about", "raydb_train")


def dask_setup(_worker: Any = None) -> bool:
    """Get the loops ready before anybody knows the worker; Dask calls it for --preload.

    They would take the processor from its first questions, which NumPy answers meanwhile. So it
    does where loops are to be compiled, half a minute's work, once on a machine: nobody waits for
    that. Returns whether the loops are ready.
    """
    is_ready = False
    with suppress(OperationalError):  # A question raises it.
        is_ready = warm.wait_for_kept(_LOOPS_S)
    # What is there now stays. To look through it takes 0.12 s, and what an interrupt leaves does.
    gc.collect()
    gc.freeze()
    return is_ready


class RayDBPlugin(WorkerPlugin):
    """Adds the handlers."""

    name = "raydb"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Begin to answer."""
        warm.start()
        self._worker = Worker()
        self._parts = HeldParts()
        keys = worker.security.get_listen_args("worker")["ssl_context"]
        address = worker.listener.listen_address
        self._listener: Listener | None = None
        if address.startswith(_LISTENING):
            self._listener = Listener(get_address_host(address), keys, self._worker.answer)
        self._threads = ThreadPoolExecutor(_MOST_CALLS, "raydb")
        # An epoch may take long, and questions of SQL are not to wait for it.
        self._training_threads = ThreadPoolExecutor(_MOST_CALLS, "raydb training")
        handlers = (self._line, self._call, self._end, self._about, self._train)
        worker.handlers |= dict(zip(_HANDLERS, handlers, strict=True))

    def teardown(self, worker: Any) -> None:
        """End what runs."""
        for name in _HANDLERS:
            worker.handlers.pop(name, None)
        if self._listener is not None:
            self._listener.close()
        self._worker.close()
        self._threads.shutdown(wait=False)
        self._training_threads.shutdown(wait=False)

    async def _line(self) -> bytes:
        if self._listener is None:
            raise NotSupportedError("this worker listens nowhere")
        return self._listener.place()

    async def _call(self, question: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._worker.answer, question)

    async def _end(self, call: str) -> bytes:
        self._worker.end(call)
        return b""

    async def _about(self) -> bytes:
        state = "compiling" if warm.is_under_way() else "ready"
        return json.dumps({"state": state, **self._worker.about()}).encode()

    async def _train(self, part: str, question: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._training_threads, self._parts.answer, part, question
        )
