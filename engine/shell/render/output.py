"""The output: the terminal, a pager for answers that are longer than the terminal, or a file."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from raydb.engine.shell.render.words import width
from raydb.errors import OperationalError
from raydb.late import shutil, subprocess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import TextIO

_STYLE = re.compile(r"\x1b\[[\d;]*m")

# Long lines go on to the right instead of the next line, colours are kept, what fits one screen
# needs no key, and the screen is left as it is.
LESS = "SRFX"


class Output:
    """Writes answers to standard output, or to a file for as long as one is chosen.

    pager: the command that shows long answers on the terminal, empty for none. may_run: says
    whether a pager, which may run any program, is allowed.
    """

    def __init__(self, pager: str = "", may_run: Callable[[], bool] = lambda: True) -> None:
        self.pager = pager
        self._may_run = may_run
        self.path: str | None = None
        self._file: TextIO | None = None
        self._once = False

    @property
    def is_terminal(self) -> bool:
        """Say whether the next answer goes to a terminal."""
        return self._file is None and sys.stdout.isatty()

    @property
    def is_file(self) -> bool:
        """Say whether the next answer goes to a file that was chosen."""
        return self._file is not None

    @property
    def has_pager(self) -> bool:
        """Say whether a long answer on the terminal goes to a pager."""
        return bool(self.pager) and self.is_terminal and self._may_run()

    def choose_file(self, path: str, *, once: bool) -> None:
        """Write to a file from now on, or (once) only the next answer. Raises OperationalError."""
        self.choose_standard()
        try:
            self._file = Path(path).expanduser().open("w", encoding="utf-8", newline="")
        except (OSError, ValueError, RuntimeError) as error:
            raise _unwritable(f"file '{path}'", error) from error
        self.path, self._once = path, once

    def choose_standard(self) -> None:
        """Close the file, if there is one, and write to standard output again."""
        file, path = self._file, self.path
        self.path = self._file = None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                raise _unwritable(f"file '{path}'", error) from error

    @contextmanager
    def writing(self) -> Iterator[Callable[[str], object]]:
        """Give the function that writes one answer.

        Raises OperationalError where a file or standard output takes no more, BrokenPipeError where
        the reader of standard output has left.
        """
        if self._file is not None:
            with self._writing_file(self._file) as write:
                yield write
        elif self.has_pager:
            with Pager(self.pager) as pager:
                yield pager.write
        else:
            try:
                yield sys.stdout.write
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise _unwritable("standard output", error) from error

    @contextmanager
    def _writing_file(self, file: TextIO) -> Iterator[Callable[[str], object]]:
        try:
            yield file.write
            file.flush()
        except OSError as error:
            raise _unwritable(f"file '{self.path}'", error) from error
        finally:
            if self._once:
                self.choose_standard()


class PagerLeftError(Exception):
    """The reader has left the pager, so nobody wants the rest of the answer."""


class Pager:
    """Keeps an answer back until it is longer than the terminal, and then runs a pager."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._size = shutil.get_terminal_size()
        self._kept: list[str] = []
        self._room = self._size.lines - 1
        self._process: subprocess.Popen[str] | None = None
        self._handler: object = None

    def write(self, text: str) -> None:
        """Write some of the answer. Raises PagerLeftError when the reader has seen enough."""
        if self._process is not None:
            self._send(text)
            return
        self._kept.append(text)
        if self._command:
            self._room -= self._height(text)
            if self._room < 0:
                self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._process is None:
            sys.stdout.write("".join(self._kept))
            sys.stdout.flush()
            return False
        try:
            assert self._process.stdin is not None
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        finally:
            self._process.wait()
            signal.signal(signal.SIGINT, self._handler)  # type: ignore[arg-type]
        return kind is PagerLeftError

    def _height(self, text: str) -> int:
        """Return how many lines of the terminal a text takes; a longer line than it goes on."""
        lines = _STYLE.sub("", text).split("\n")
        return sum(max(width(line) - 1, 0) // self._size.columns for line in lines) + len(lines) - 1

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                shlex.split(self._command),
                stdin=subprocess.PIPE,
                encoding="utf-8",
                errors="backslashreplace",
                env={"LESS": LESS, "LESSCHARSET": "utf-8", **os.environ},
            )
        except (OSError, ValueError) as error:
            sys.stderr.write(f"pager '{self._command}' cannot be run: {_reason(error)}\n")
            self._command = ""
            return
        # Ctrl-C is the pager's now; it keeps the handler that it had before this line.
        self._handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._send("".join(self._kept))

    def _send(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
        except BrokenPipeError:
            raise PagerLeftError from None


def terminal_columns() -> int:
    """Return how many columns the terminal has."""
    return shutil.get_terminal_size().columns


def default_pager() -> str:
    """Return $PAGER, or less where there is one; empty for none."""
    chosen = os.environ.get("PAGER")
    if chosen is not None:
        return chosen.strip()
    return f"less -{LESS}" if shutil.which("less") else ""


def _unwritable(what: str, error: Exception) -> OperationalError:
    return OperationalError(f"{what} cannot be written: {_reason(error)}")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
