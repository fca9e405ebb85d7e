"""Runs cases that may do anything in a process beside this one, and tells which went wrong.

    report = run_cases("flat_cases:read_forged", range(1000), memory_mb=700)
    assert not report.failures

A case is a call `read_forged(seed, folder)` of a module on this process's path, in a folder of its
own that is empty. It may return, or raise an error of PEP 249 that is no InternalError. What else
it does is a failure: another exception, a signal, more than `seconds` of a processor (or five times
as many without one), more resident memory than `memory_mb` at any moment (of the whole process,
with the code of Python and libraries; without pages of temporary files, which the system takes back
when it needs them). A worker runs case after case; after a signal or a hang another takes over.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# A worker that imports and compiles may take this long until its first case has ended.
START_S = 300

# So much longer a case may take than it runs: others use the machine, too.
IDLE_FACTOR = 5

SIZE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)

# A worker that grows beyond its bound by this much is ended at once, for the machine's sake.
RUNAWAY_MB = 4000


@dataclass(frozen=True)
class Failure:
    """A case that went wrong: what happened, and the end of what the worker had to say."""

    seed: int
    what: str
    detail: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.what}\n{self.detail}".rstrip()


@dataclass
class Report:
    """What became of some cases; `refused` counts the errors of PEP 249 by class."""

    cases: int = 0
    answered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    peak_mb: float = 0.0
    slowest_s: float = 0.0

    def __str__(self) -> str:
        refused = ", ".join(f"{count} {name}" for name, count in self.refused.most_common())
        return (
            f"{self.cases} cases, {len(self.failures)} failures, {self.answered} answered, "
            f"refused: {refused or 'none'}; "
            f"at most {self.peak_mb:.0f} MB and {self.slowest_s:.1f} s"
        )


class Worker:
    """A process that runs cases one at a time, each when it is told its seed."""

    def __init__(self, task: str, folder: str) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self.process = subprocess.Popen(
            [sys.executable, __file__, task, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.process.stdin.write(b"start\n")
        self.process.stdin.flush()
        self.is_new, self.libraries_mb = True, 0.0
        assert isinstance(self.answer(START_S, sys.maxsize), dict), self.said()

    def run(self, seed: int, seconds: float, memory_mb: float) -> dict[str, Any] | str:
        """Return how a case ended, or what became of the worker. The first one may compile."""
        if self.is_new:
            self.is_new, seconds = False, max(seconds, START_S)
        self.process.stdin.write(b"%d\n" % seed)
        self.process.stdin.flush()
        return self.answer(seconds, memory_mb)

    def answer(self, seconds: float, memory_mb: float) -> dict[str, Any] | str:
        deadline = time.monotonic() + IDLE_FACTOR * seconds
        most = processor_s(self.process.pid) + seconds
        private_mb = temporary_mb = 0.0
        while not select.select([self.process.stdout], [], [], 0.01)[0]:
            held = memory_of(self.process.pid)
            private_mb = max(private_mb, held.private_mb)
            temporary_mb = max(temporary_mb, held.mapped_mb - self.libraries_mb)
            if time.monotonic() > deadline or processor_s(self.process.pid) > most:
                # Its threads' stacks are in the detail.
                self.process.send_signal(signal.SIGABRT)
                self.process.wait()
                return f"no end after {seconds:g} s"
            if private_mb > memory_mb + RUNAWAY_MB:
                self.process.kill()
                return f"ended at {memory_mb + RUNAWAY_MB:.0f} MB"
        line = self.process.stdout.readline()
        if line:
            ending = json.loads(line)
            self.libraries_mb = ending["mapped_mb"]
            sampled = private_mb + self.libraries_mb
            ending["peak_mb"] = max(ending["peak_mb"] - temporary_mb, sampled)
            return ending
        code = self.process.wait()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def said(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if "Extension modules" not in line)[-2000:]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()


def run_cases(task: str, seeds: Iterable[int], *, memory_mb: float, seconds: float = 10) -> Report:
    """Run a case for each seed; `task` is "module:function"."""
    report, worker = Report(), None
    folder = tempfile.mkdtemp(prefix="raydb-case-")
    try:
        for seed in seeds:
            worker = worker or Worker(task, folder)
            was_new, ending = worker.is_new, worker.run(seed, seconds, memory_mb)
            if not was_new and takes_more(ending, memory_mb):
                # What earlier cases have left counts against none.
                worker.close()
                worker = Worker(task, folder)
                ending = worker.run(seed, seconds, memory_mb)
            report.cases += 1
            if isinstance(ending, str):
                report.failures.append(Failure(seed, ending, worker.said()))
                worker.close()
                worker = None
                continue
            report.peak_mb = max(report.peak_mb, ending["peak_mb"])
            report.slowest_s = max(report.slowest_s, ending["seconds"])
            if ending["unclean"]:
                report.failures.append(Failure(seed, ending["unclean"], ending["detail"]))
            elif takes_more(ending, memory_mb):
                what = f"{ending['peak_mb']:.0f} MB of memory"
                report.failures.append(Failure(seed, what))
            elif ending["refused"]:
                report.refused[ending["refused"]] += 1
            else:
                report.answered += 1
    finally:
        if worker is not None:
            worker.close()
        shutil.rmtree(folder)
    return report


def takes_more(ending: dict[str, Any] | str, memory_mb: float) -> bool:
    """Tell whether a case ended by itself with more memory than it may use."""
    return isinstance(ending, dict) and ending["peak_mb"] > memory_mb


def processor_s(process: int) -> float:
    """Return how long the threads of a process have run."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class MemoryOf(NamedTuple):
    """What a process holds: memory of its own, what is mapped from files, and its most so far."""

    private_mb: float
    mapped_mb: float
    peak_mb: float


def memory_of(process: int | str) -> MemoryOf:
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:  # it has just ended
        return MemoryOf(0, 0, 0)
    sizes = {name: int(size) * 1024 / 1e6 for name, size in SIZE.findall(text)}
    private = sizes.get("RssAnon", 0) + sizes.get("RssShmem", 0)
    return MemoryOf(private, sizes.get("RssFile", 0), sizes.get("VmHWM", 0))


# -- the worker


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def run_case(task: Callable[[int, Path], object], seed: int, folder: Path) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    refused = unclean = detail = ""
    forget_peak()
    before = memory_of("self")
    start = time.process_time()
    try:
        task(seed, folder)
    except BaseException as error:  # noqa: BLE001  (each other one is a finding)
        if isinstance(error, raydb.Error) and not isinstance(error, raydb.InternalError):
            refused = type(error).__name__
        else:
            unclean = f"{type(error).__name__}: {error}"[:500]
            detail = traceback.format_exc()[-4000:]
    seconds = time.process_time() - start
    return {
        "refused": refused,
        "unclean": unclean,
        "detail": detail,
        "peak_mb": memory_of("self").peak_mb,
        "mapped_mb": before.mapped_mb,
        "seconds": seconds,
    }


def work(task_name: str, folder: Path) -> None:
    faulthandler.enable()
    # Answers go to the pipe; what cases print does not.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    module, _, function = task_name.partition(":")
    task = getattr(importlib.import_module(module), function)
    for line in sys.stdin:
        if line == "start\n":
            answer: dict[str, Any] = memory_of("self")._asdict()
        else:
            answer = run_case(task, int(line), folder)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]) / "case")
