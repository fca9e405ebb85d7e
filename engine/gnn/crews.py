"""Where the workers of a training are: in this process, in others of this machine, in a cluster.

    crew.call(2, question)   a future of the answer about part 2; OSError where its worker is lost
    crew.replace(2)          part 2 has another worker, which knows nothing yet

A process is a program of its own, so that whoever trains need not be one that can be imported
again. Its standard input and output are pipes, which nobody else reaches; their end is its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Protocol

from raydb.errors import OperationalError
from raydb.kernels.backends.cpu.threads import machine_processors

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.cluster.dask_engine import DaskEngine

# How many bytes tell the length of a message.
_LENGTH_BYTES = 8

# How long workers of a cluster may take to forget their parts.
_GOODBYE_S = 1.0


class Crew(Protocol):
    """The workers of a training, one for each part."""

    said: str
    """What they are, in words."""

    threads: int
    """How many threads each may use; 0 for what its machine has."""

    may_unpickle: bool
    """Whether a model is sent to them, rather than the place of a function that makes it."""

    def call(self, part: int, question: bytes) -> Future[bytes]:
        """Ask the worker of a part; the future fails with OSError where it is lost."""

    def replace(self, part: int) -> bool:
        """Give a part another worker; tell whether it was not known that its own is lost.

        Raises OperationalError where there is none.
        """

    def close(self) -> None:
        """End all workers that belong to the training."""


class Inline:
    """Workers in this process, one after the other. make_worker: returns the `answer` of one."""

    said = "this process"
    threads = 0
    may_unpickle = False

    def __init__(self, parts: int, make_worker: Callable[[], Callable[[bytes], bytes]]) -> None:
        self._answers = [make_worker() for _ in range(parts)]
        self._pool = ThreadPoolExecutor(parts, "raydb training")

    def call(self, part: int, question: bytes) -> Future[bytes]:
        """Ask the worker of a part."""
        return self._pool.submit(self._answers[part], question)

    def replace(self, part: int) -> bool:
        """Raise AssertionError: a thread is never lost."""
        raise AssertionError(part)

    def close(self) -> None:
        """End the threads once they have nothing to do."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class LocalProcesses:
    """A process for each part. command: what comes before the program, such as a namespace's."""

    may_unpickle = True

    def __init__(self, parts: int, command: tuple[str, ...] = ()) -> None:
        self.said = f"{parts} processes of this machine"
        self.threads = max(machine_processors() // parts, 1)
        self._command = command
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._pool = ThreadPoolExecutor(parts, "raydb training")
        try:
            for part in range(parts):
                self._begin(part)
        except BaseException:
            self.close()
            raise

    @property
    def processes(self) -> list[int]:
        """The numbers of the processes, by part."""
        return [each.pid for each in self._processes.values()]

    def call(self, part: int, question: bytes) -> Future[bytes]:
        """Ask the process of a part."""
        return self._pool.submit(_asked, self._processes[part], question)

    def replace(self, part: int) -> bool:
        """Start the process of a part anew."""
        _end(self._processes[part])
        self._begin(part)
        return True

    def close(self) -> None:
        """End all processes."""
        for each in self._processes.values():
            _end(each)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, part: int) -> None:
        process = subprocess.Popen(  # noqa: S603  (a module of our own)
            # -P: no module of the folder that the program happens to run in.
            [*self._command, sys.executable, "-P", "-m", "raydb.engine.gnn.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the coordinator.
        )
        self._processes[part] = process
        assert process.stdin is not None
        with suppress(OSError):  # Who asks hears that it has ended.
            # The class of a model may be anywhere that this program imports from.
            write_message(process.stdin, json.dumps(sys.path).encode())


class DaskCrew:
    """Workers of a Dask cluster, parts in turns; each holds its parts until the training ends.

    patience: a worker that gives no sign of life for so many seconds is lost.
    """

    threads = 0
    may_unpickle = False

    def __init__(self, parts: int, engine: DaskEngine, patience: float) -> None:
        self._engine, self._training, self._patience = engine, uuid.uuid4().hex, patience
        self._lost: set[str] = set()
        workers = sorted(engine.workers(anew=True))
        if not workers:
            raise OperationalError("the cluster has no workers")
        self.said = f"{len(workers)} workers of a cluster"
        self._worker = {part: workers[part % len(workers)] for part in range(parts)}

    def call(self, part: int, question: bytes) -> Future[bytes]:
        """Ask the worker of a part."""
        return self._ask(part, question)

    def replace(self, part: int) -> bool:
        """Give a part to the worker with fewest, but for those that were lost."""
        lost = self._worker[part]
        is_news = lost not in self._lost
        self._lost.add(lost)
        left = [each for each in self._engine.workers(anew=True) if each not in self._lost]
        if not left:
            raise OperationalError(f"worker {lost} is lost, and the cluster has no other one")
        had = list(self._worker.values())
        self._worker[part] = min(left, key=had.count)
        return is_news

    def close(self) -> None:
        """Let the workers forget the parts, and leave the cluster."""
        left = [part for part, worker in self._worker.items() if worker not in self._lost]
        wait([self._ask(part, b"") for part in left], _GOODBYE_S)
        self._engine.close()

    def _ask(self, part: int, question: bytes) -> Future[bytes]:
        name = f"{self._training}/{part}"
        return self._engine.train(self._worker[part], name, question, self._patience)


def write_message(file: IO[bytes], data: bytes) -> None:
    """Write some bytes behind their number."""
    file.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
    file.write(data)
    file.flush()


def read_message(file: IO[bytes]) -> bytes:
    """Return the bytes of a message. Raises EOFError where the other end is gone."""
    length = file.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        raise EOFError
    size = int.from_bytes(length, "little")
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _asked(process: subprocess.Popen[bytes], question: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_message(process.stdin, question)
        return read_message(process.stdout)
    except (EOFError, ValueError) as error:  # ValueError: it was closed meanwhile.
        raise OSError(f"its process {process.pid} has ended") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for each in (process.stdin, process.stdout):
        if each is not None:
            with suppress(OSError, ValueError):
                each.close()


def make_crew(
    parts: int, cluster: Any, make_worker: Any, patience: float, *, allow_insecure: bool
) -> Crew:
    """Return the workers that `cluster` asks for; see `raydb.gnn.train` and `DaskCrew`."""
    if cluster is None:
        return Inline(parts, make_worker)
    if isinstance(cluster, str) and cluster == "local":
        return LocalProcesses(parts)
    from raydb.engine.cluster.dask_engine import connect_engine  # noqa: PLC0415  (seldom)

    engine = connect_engine(cluster, allow_insecure=allow_insecure)
    try:
        return DaskCrew(parts, engine, patience)
    except BaseException:
        engine.close()
        raise
