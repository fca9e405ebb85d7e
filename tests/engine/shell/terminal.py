"""A terminal for tests: the shell runs behind a pseudo-terminal, and its screen can be read.

    with Terminal("shop.raydb") as terminal:
        terminal.type("SELECT 1;\\r")
        terminal.expect("1 row")

Nothing sleeps: what is waited for is text on the screen, up to TIMEOUT_S.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Self

import pexpect
import pyte

# Loaded machines take seconds to start a process.
TIMEOUT_S = 60

UP, TAB, ENTER = "\x1b[A", "\t", "\r"
CTRL_C, CTRL_D, CTRL_R = "\x03", "\x04", "\x12"
_ASK_CURSOR = b"\x1b[6n"


class Terminal:
    """`raydb` with some arguments on a terminal of some lines and columns.

    `text` is the screen, `bytes` all that was written to it. The prompt is waited for, unless
    greeting is another text or None.
    """

    def __init__(
        self,
        *arguments: str,
        lines: int = 60,
        columns: int = 100,
        environment: dict[str, str] | None = None,
        greeting: str | None = "raydb>",
    ) -> None:
        given = {"TERM": "xterm-256color", "RAYDB_HISTORY": "off", "PAGER": ""}
        kept = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "LESS", "COLUMNS"}}
        self._process = pexpect.spawn(
            sys.executable,
            ["-m", "raydb", *arguments],
            dimensions=(lines, columns),
            env={**kept, "PYTHONUTF8": "1", **given, **(environment or {})},
            timeout=TIMEOUT_S,
        )
        self._process.delaybeforesend = None
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.bytes = b""
        if greeting is not None:
            self.expect(greeting)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def type(self, text: str) -> None:
        self._process.send(text.encode())

    def run(self, text: str, expected: str) -> None:
        """Type a line and wait for a text, on a screen that was cleared before."""
        self._screen.reset()
        self.type(text + ENTER)
        self.expect(expected)

    def expect(self, text: str) -> None:
        """Read until a text is on the screen."""
        end = time.monotonic() + TIMEOUT_S
        while text not in self.text:
            assert time.monotonic() < end, f"no {text!r} within {TIMEOUT_S} s on\n{self.text}"
            assert self._read(), f"no {text!r} before the end on\n{self.text}"

    def expect_prompt(self) -> None:
        """Read until a line may be typed: keys before that are the terminal's own."""
        end = time.monotonic() + TIMEOUT_S
        while not self.lines[-1].endswith(">"):
            assert time.monotonic() < end, f"no prompt within {TIMEOUT_S} s on\n{self.text}"
            assert self._read(), f"no prompt before the end on\n{self.text}"

    def cancel(self) -> None:
        """Give up the line that is typed, and wait for the next prompt."""
        self.type(CTRL_C)
        self.expect_prompt()

    def expect_end(self) -> int:
        """Read until the process ends, and return its exit code."""
        end = time.monotonic() + TIMEOUT_S
        while self._read():
            assert time.monotonic() < end, f"no end within {TIMEOUT_S} s on\n{self.text}"
        self._process.close()
        assert self._process.exitstatus is not None, f"signal {self._process.signalstatus}"
        return int(self._process.exitstatus)

    def _read(self) -> bool:
        """Show what was written since, or wait a little; say whether there may be more."""
        try:
            written = self._process.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.bytes += written
        self._stream.feed(written)
        for _ in range(written.count(_ASK_CURSOR)):
            cursor = self._screen.cursor
            self._process.send(f"\x1b[{cursor.y + 1};{cursor.x + 1}R")
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)
