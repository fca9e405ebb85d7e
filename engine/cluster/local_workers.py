"""The cluster 'local': a scheduler in this process, and workers that are processes of it.

A worker is a program of its own, so that whoever connects need not be one that can be imported
again. Its standard input is a pipe: it says where the scheduler is, and its end is the end of the
connection, however that came. All of it is on the loopback interface and behind TLS, whose keys
are made for it: other users of the machine are no part of it.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any

from raydb.engine.shell.process import run_alone
from raydb.errors import OperationalError
from raydb.kernels.backends.cpu.threads import machine_processors

# After so long a program is told what it waits for.
_QUIET_S = 2.0

# How long workers may take to come.
_START_S = 120.0

# How long the others have the processors to themselves before one that has ended is started anew:
# they do its part of a query, and what it imports takes seconds of a processor.
_REST_S = 1.0

_KEYS = ("tls_ca_file", "tls_worker_cert", "tls_worker_key")

# What Dask does for tasks and a dashboard, which nobody has here: by default a scheduler and two
# workers that rest take 85 ms of a processor each second, and scans wait for each of these turns.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
}


class LocalWorkers:
    """As many workers as processors; one that ends is started anew.

    client: that of the scheduler.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = count or machine_processors()
        self._process = os.getpid()
        self._folder = tempfile.mkdtemp(prefix="raydb-cluster-")
        self._is_closed = threading.Event()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._watcher = threading.Thread(target=self._watch, name="raydb workers", daemon=True)
        # What takes longest is what they import, so they begin with it, and hear the rest later.
        for number in range(self._count):
            self._begin(number)
        try:
            self._make_scheduler()
            for number in range(self._count):
                self._tell(number)
            # This process imports while they do, what it needs for the plugin.
            import raydb.engine.cluster.dask_plugin  # noqa: F401, PLC0415

            self._watcher.start()
            self._wait()
        except BaseException:
            self.close()
            raise

    def _make_scheduler(self) -> None:
        import dask  # noqa: PLC0415  (an extra)
        import distributed  # noqa: PLC0415  (an extra)

        security = distributed.Security.temporary()
        with dask.config.set({"distributed.scheduler.http.routes": [], **_QUIET}):
            self._cluster = distributed.LocalCluster(
                n_workers=0,
                processes=False,
                host="127.0.0.1",
                protocol="tls://",
                security=security,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.ERROR,  # It warns of workers that end while they connect.
            )
        # Before Dask ends what it knows of when the program ends.
        atexit.register(self.close)
        self._told = json.dumps(
            {
                "scheduler": self._cluster.scheduler_address,
                "folder": self._folder,
                "keys": {name: getattr(security, name) for name in _KEYS},
            }
        ).encode()
        self.client = distributed.Client(self._cluster, set_as_default=False)

    def _wait(self) -> None:
        with suppress(TimeoutError):
            self.client.wait_for_workers(self._count, timeout=_QUIET_S)
            return
        logging.getLogger("raydb").info(
            "waiting for the %d workers of cluster='local', which import raydb and load its loops",
            self._count,
        )
        try:
            self.client.wait_for_workers(self._count, timeout=_START_S)
        except TimeoutError as error:
            raise OperationalError(
                f"the {self._count} workers of cluster='local' did not come within {_START_S:g} s"
            ) from error

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes that run."""
        return [each.pid for each in self._processes.values() if each.poll() is None]

    def close(self) -> None:
        """End all workers, and the scheduler; those of a parent process stay."""
        atexit.unregister(self.close)
        if os.getpid() != self._process:
            # Dask would wait 10 s for a thread that no fork has.
            self._cluster.shutdown_on_close = False
            return
        self._is_closed.set()
        if self._watcher.is_alive():
            self._watcher.join()
        with suppress(AttributeError):  # where they did not come so far
            self.client.close()
        for each in self._processes.values():
            each.kill()
            each.wait()
            if each.stdin is not None:
                with suppress(OSError):
                    each.stdin.close()
        with suppress(AttributeError):
            self._cluster.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, number: int) -> None:
        self._processes[number] = subprocess.Popen(  # noqa: S603  (a module of our own)
            # -P: no module of the folder that the program happens to run in.
            [sys.executable, "-P", "-m", "raydb.engine.cluster.local_workers", str(number)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the coordinator.
        )

    def _tell(self, number: int) -> None:
        process = self._processes[number]
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(self._told + b"\n")
            process.stdin.flush()

    def _watch(self) -> None:
        """Start workers anew that have ended: after a rest, or at once where no other one runs."""
        ended: dict[int, float] = {}
        while not self._is_closed.wait(0.1):
            now, others = time.monotonic(), self.processes
            for number, process in list(self._processes.items()):
                if process.poll() is None or self._is_closed.is_set():
                    continue
                if not others or now - ended.setdefault(number, now) > _REST_S:
                    ended.pop(number, None)
                    if process.stdin is not None:
                        with suppress(OSError):  # It has not read what it was told.
                            process.stdin.close()
                    self._begin(number)
                    self._tell(number)


async def _work(number: str, told: dict[str, Any]) -> None:
    import dask  # noqa: PLC0415  (an extra)
    from distributed import Security, Worker  # noqa: PLC0415  (an extra)

    logging.getLogger("distributed").setLevel(logging.ERROR)
    # Where the program is killed, each of its workers removes the folder of all.
    logging.getLogger("distributed.diskutils").setLevel(logging.CRITICAL)
    dask.config.set({"distributed.worker.http.routes": [], **_QUIET})
    worker: Any = Worker(
        told["scheduler"],
        name=number,
        nthreads=1,
        memory_limit=0,
        local_directory=told["folder"],
        security=Security(require_encryption=True, **told["keys"]),
        dashboard=False,
        host="127.0.0.1",
    )
    async with worker:
        await worker.finished()


def _yield_to_others() -> None:
    """Have what wakes this process keep its processor: it has others to wake, too.

    A coordinator that asks one worker would else wait behind its scan to ask the next one.
    """
    if hasattr(os, "sched_setscheduler"):  # Linux alone has it.
        with suppress(OSError):  # A sandbox refuses it, and the worker takes turns as before.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _compile_beside() -> None:
    """Have a process that compiles what is missing, and then ends.

    Workers end with the connection, and what they compile just then would be lost: a program of
    some seconds would find as little at its next start. They wait for what another one compiles.
    """
    subprocess.Popen(
        [sys.executable, "-P", "-m", "raydb.engine.cluster.local_loops"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _end_with_parent(folder: str) -> None:
    # Not by sys.stdin, whose lock would be held when the process ends otherwise.
    while os.read(0, 1):
        pass
    # It was killed, or it would have ended this process and removed it.
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main() -> None:
    """Be a worker, until the standard input ends."""
    run_alone(_run)


def _run() -> int:
    _yield_to_others()
    import distributed  # noqa: F401, PLC0415  (an extra)

    from raydb.engine.cluster.dask_plugin import dask_setup  # noqa: PLC0415  (as above)

    if not dask_setup() and sys.argv[1] == "0":
        _compile_beside()
    line = sys.stdin.buffer.readline()
    if not line:  # The program has ended before it had a scheduler.
        os._exit(0)
    told = json.loads(line)
    threading.Thread(target=_end_with_parent, args=[told["folder"]], daemon=True).start()
    asyncio.run(_work(sys.argv[1], told))
    os._exit(0)


if __name__ == "__main__":
    main()
