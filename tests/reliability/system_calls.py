"""System calls of a process, by strace: recorded to be replayed, or made to fail.

    child = Child(write, ..., held=True)
    with traced(child, "--trace=pwrite64,fsync", log=file):
        child.go()

strace attaches to a child that waits, so that nothing has to be imported while it looks on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from processes import PATIENCE_S, Child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

# All calls that may change files, and what a child says; those with "?" not every machine has.
CHANGING = (
    "openat,?open,?creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,"
    "fsync,fdatasync,sync_file_range,msync,sync,syncfs,?rename,renameat,renameat2,?link,linkat,"
    "?unlink,unlinkat,?rmdir,?mkdir,mkdirat,?symlink,symlinkat,copy_file_range,sendfile,splice,"
    "lseek,mmap,sendto"
)

_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|\?|0x[0-9a-f]+)")
_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_ENDED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+|\?|0x[0-9a-f]+)")
_BYTES = re.compile(r"(?:\\x[0-9a-f]{2})+")


@dataclass(frozen=True)
class Call:
    """A call: `end` is True when it has returned, which is when a sync counts.

    Texts and the paths of open files, such as 5</disk/file>, are decoded; data stay bytes.
    """

    name: str
    arguments: tuple[str, ...]
    data: bytes
    result: int
    thread: int

    def path(self, place: int = 0) -> str:
        """Return the path of an argument that is an open file, or a text."""
        argument = self.arguments[place]
        return argument[argument.index("<") + 1 : -1] if "<" in argument else argument.strip('"')

    @property
    def descriptor(self) -> int:
        """Return the number of the open file that is the first argument."""
        return int(self.arguments[0].partition("<")[0])


def why_not() -> str:
    """Return why system calls cannot be traced here, "" if they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    child = Child(lambda _: None, held=True)
    try:
        with traced(child, "--trace=fsync"):
            child.go()
            child.join()
    except RuntimeError as error:
        return str(error)
    finally:
        child.close()
    return ""


@contextmanager
def traced(child: Child, *options: str, log: Path | None = None) -> Iterator[None]:
    """Trace a child while the block runs; RuntimeError if strace may not."""
    command = ["strace", "-f", *options, "-p", str(child.pid), "-o", str(log or "/dev/null")]
    # A file, because strace says a line for each thread that begins: a pipe that nobody reads would
    # be full after some two thousand, and strace and the child would stand still.
    with TemporaryFile() as said, subprocess.Popen(command, stderr=said) as strace:
        try:
            wait_for_attachment(strace, said)
            yield
            strace.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise TimeoutError("strace stands still") from None
        finally:
            strace.kill()


def wait_for_attachment(strace: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    """Wait until strace says that it looks on."""
    end = time.monotonic() + PATIENCE_S
    while True:
        has_ended = strace.poll() is not None
        # Not by the file's own position, which is where strace writes.
        text = os.pread(said.fileno(), 1000, 0).decode()
        if "attached" in text:
            return
        if has_ended or time.monotonic() > end:
            raise RuntimeError(f"strace cannot attach: {text.strip()}")
        time.sleep(0.001)


def recorded(log: Path) -> Iterator[Call]:
    """Yield the calls of a log in the order of their effects.

    A call that another thread's came between counts as done when it returned, a write when it
    began: so nothing counts as synced that may have been written while the sync was under way.
    """
    begun: dict[str, tuple[str, str]] = {}
    with log.open(encoding="ascii") as lines:
        for line in lines:
            if match := _BEGUN.match(line.rstrip()):
                process, name, arguments = match.groups()
                begun[process] = (name, arguments)
                continue
            if match := _ENDED.match(line):
                process, name, rest, result = match.groups()
                known, arguments = begun.pop(process)
                assert known == name
                yield _decode(name, arguments + rest, result, process)
            elif match := _CALL.match(line):
                process, name, arguments, result = match.groups()
                yield _decode(name, arguments, result, process)


def _decode(name: str, text: str, result: str, thread: str) -> Call:
    data = b""
    arguments = text.split(", ") if text else []
    for place, argument in enumerate(arguments):
        if name in {"write", "pwrite64", "sendto"} and place == 1:
            data = bytes.fromhex(argument.strip('"').replace("\\x", ""))
        else:
            arguments[place] = _BYTES.sub(_text_of, argument)
    number = int(result, 0) if result != "?" else -1
    return Call(name, tuple(arguments), data, number, int(thread))


def _text_of(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("\\x", "")).decode(errors="replace")


def wait_for_end(child: Child, patience_s: float = PATIENCE_S) -> list[list[str]]:
    """Wait for a child that says little; return what it says."""
    end = time.monotonic() + patience_s
    said: list[list[str]] = []
    while time.monotonic() < end:
        said += child.lines(0.05)
        if child.ended():
            return said + child.lines()
    raise TimeoutError(f"a traced process stands still, after {said[-3:]}:\n{child.stacks()}")
