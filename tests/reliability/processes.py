"""Processes that are killed, interrupted and watched, and a judge of what they saw.

    writer = Child(write, steps, 0, path, folder)
    for words in writer.lines(): ...          ["begun", "1", "74.2"], ["done", "1", "74.3"]
    writer.kill()

A child is a fork of this process, which has imported everything, so that it costs milliseconds.
What it says comes a line at a time through a socket, and stays there when it is killed.
"""

from __future__ import annotations

import faulthandler
import os
import re
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from bisect import bisect_right
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from workload import digest

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workload import Step

# Nothing takes longer than this, loops that are compiled first included, so who does stands still.
PATIENCE_S = 300

BUFFER_BYTES = 1 << 20


class FindingError(AssertionError):
    """What the harness is there to find."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder in memory where the system has one: what is tested is no disk's speed."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="raydb-", dir=memory if memory.is_dir() else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def end_threads() -> None:
    """Wait until nothing runs beside this thread, such as a BVH that is merged.

    A fork copies one thread, and the locks as the others held them; RayDB's workers wait for work.
    """
    end = time.monotonic() + PATIENCE_S
    while any(thread.name != "raydb worker" for thread in threading.enumerate()[1:]):
        if time.monotonic() > end:
            raise FindingError(f"threads do not end: {threading.enumerate()}")
        time.sleep(0.001)


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1


class Child:
    """A forked process that runs `function(say, *arguments)`; one that is held waits for `go`."""

    def __init__(self, function: Callable[..., None], *arguments: Any, held: bool = False) -> None:
        # A socket, because nothing else makes the call `sendto`, so that none of a database's is
        # mistaken for it.
        self._out, inner = socket.socketpair()
        inner.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._rest = b""
        self._stacks = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self.status: int | None = None
        end_threads()
        self.pid = os.fork()
        if self.pid == 0:
            self._out.close()
            _run_and_exit(function, arguments, inner, self._stacks)
        inner.close()
        self._out.setblocking(False)
        if not held:
            self.go()

    def go(self) -> None:
        """Let it begin, or go on where it waits."""
        self._out.send(b"!")

    def lines(self, wait_s: float = 0) -> list[list[str]]:
        """Return the words of each line that has come, after waiting for one at most so long."""
        if wait_s:
            select.select([self._out], [], [], wait_s)
        try:
            while part := self._out.recv(BUFFER_BYTES):
                self._rest += part
        except (BlockingIOError, ConnectionResetError):
            pass
        *whole, self._rest = self._rest.split(b"\n")
        lines = [line.decode() for line in whole]
        for line in lines:
            if line.startswith("failed "):
                raise FindingError(line.replace("\0", "\n"))
        return [line.split(" ") for line in lines]

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self.signal(signal.SIGKILL)
        self.join()

    def stacks(self) -> str:
        """Return where its threads are: in Python, and what the system makes them wait for."""
        self.signal(signal.SIGUSR1)
        time.sleep(1)
        told = os.pread(self._stacks.fileno(), BUFFER_BYTES, 0).decode(errors="replace")
        for task in sorted(Path(f"/proc/{self.pid}/task").iterdir()):
            with suppress(OSError):  # it has just ended, or may not be looked at
                status = (task / "status").read_text(encoding="utf-8")
                state = re.search(r"State:\s*(.*)", status)
                call = (task / "syscall").read_text(encoding="utf-8").strip()
                told += f"thread {task.name}: {state and state[1]}, call {call}\n"
        return told

    def ended(self) -> bool:
        """Tell whether it has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def join(self) -> int:
        """Wait for its end; return its status."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self) -> None:
        """Give everything back."""
        if self.status is None:
            self.kill()
        self._out.close()
        self._stacks.close()


class Say:
    """What a child uses to tell its parent something, a line at a time."""

    def __init__(self, to: socket.socket) -> None:
        self._to = to

    def __call__(self, *words: object) -> None:
        self._to.sendall((" ".join(map(str, words)) + "\n").encode())

    def wait(self) -> None:
        """Wait until the parent lets it go on."""
        self._to.recv(1)


def _run_and_exit(
    function: Callable[..., None], arguments: Any, to: socket.socket, stacks: IO[bytes]
) -> None:
    say = Say(to)
    status = 0
    try:
        faulthandler.register(signal.SIGUSR1, file=stacks)
        say.wait()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        function(say, *arguments)
    except BaseException:  # noqa: BLE001  (the parent tells)
        say("failed", traceback.format_exc().replace("\n", "\0"))
        status = 1
    finally:
        sys.stdout.flush()
        os._exit(status)


def write(say: Say, steps: Sequence[Step], first: int, path: Path, folder: Path) -> None:
    """Run the steps from the first on, telling when each is begun and done, by number from 1."""
    with raydb.connect(path) as con:
        say("open", time.monotonic())
        for number, step in enumerate(steps[first:], first + 1):
            say("begun", number, time.monotonic())
            step.run(con, folder)
            say("done", number, time.monotonic())


def watch(say: Say, path: Path) -> None:
    """Read again and again, telling what was seen between when and when."""
    with raydb.connect(path, read_only=True) as con:
        while True:
            start = time.monotonic()
            seen = digest(con)
            say("saw", start, time.monotonic(), seen)
            time.sleep(0.01)  # the writer is to have the processor, too


class History:
    """Which states a database may show at a moment, and which it has shown.

    states[k] is what it holds after k steps. A statement that was acknowledged is seen by whoever
    begins to read later, one that was not begun by nobody, and nobody goes back.
    """

    def __init__(self, states: Sequence[str]) -> None:
        self.states = states
        self.observations = 0
        self._begun: list[tuple[float, int]] = [(0.0, 0)]
        self._done: list[tuple[float, int]] = [(0.0, 0)]
        self._shown = 0

    @property
    def done(self) -> int:
        """How many steps are acknowledged."""
        return self._done[-1][1]

    @property
    def begun(self) -> int:
        """How many steps may have taken effect."""
        return self._begun[-1][1]

    def note(self, words: list[str]) -> None:
        """Take down what a writer says."""
        match words:
            case "begun", number, moment:
                self._begun.append((float(moment), int(number)))
            case "done", number, moment:
                self._done.append((float(moment), int(number)))

    def settle(self, seen: str) -> int:
        """Judge the state after a writer's end, and return how many steps are in it."""
        for number in (self.begun, self.done):
            if self.states[number] == seen:
                now = time.monotonic()
                self._begun.append((now, number))
                self._done.append((now, number))
                return number
        raise FindingError(
            f"{self.done} steps were acknowledged and {self.begun} begun, {self.describe(seen)}"
        )

    def observe(self, start: float, end: float, seen: str) -> None:
        """Judge what a reader saw between two moments."""
        self.observations += 1
        least = max(self._shown, self._done[bisect_right(self._done, (start, 1 << 60)) - 1][1])
        most = max(number for _, number in self._begun[: bisect_right(self._begun, (end, 1 << 60))])
        for number in range(least, most + 1):
            if self.states[number] == seen:
                self._shown = number
                return
        raise FindingError(f"a reader may see steps {least} to {most}, {self.describe(seen)}")

    def describe(self, seen: str) -> str:
        """Say which state it was."""
        known = [number for number, state in enumerate(self.states) if state == seen]
        return f"and the state is that after {known}" if known else "and the state is no known one"
