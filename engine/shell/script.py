"""Scripts: where one statement of a text ends and the next begins, without reading any SQL.

    reader = ScriptReader()
    for line in file:
        for piece in reader.feed(line): ...
    for piece in reader.finish(): ...

Statements end with ';', dot commands with their line. Lines are read once, so that a script may be
a pipe that never ends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raydb.keywords import Scanner
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"\w+|\(")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement or (is_command) a dot command, and the number of the line that it begins in."""

    text: str
    line: int
    is_command: bool = False


class ScriptReader:
    """Tells statements and dot commands apart, line by line."""

    def __init__(self) -> None:
        self._scanner = Scanner()
        self._parts: list[str] = []
        self._has_words = False
        self._line = 0
        self._first = 1

    @property
    def is_open(self) -> bool:
        """Say whether a statement, a string or a comment has begun and not ended."""
        return self._has_words or bool(self._scanner.opener)

    def feed(self, line: str) -> Iterator[Piece]:
        """Yield what one more line, with its line end, completes."""
        self._line += 1
        if not self.is_open:
            self._begin()
            if line.lstrip().startswith("."):
                yield Piece(line.strip(), self._line, is_command=True)
                return
        for kind, text in self._scanner.scan(line):
            if kind == "end":
                if self._has_words:
                    yield Piece("".join([*self._parts, text]).strip(), self._first)
                self._begin()
                continue
            if not self._parts and not text.strip():
                continue
            if not self._parts:
                self._first = self._line
            self._parts.append(text)
            self._has_words |= kind != "comment" and bool(text.strip())

    def finish(self) -> Iterator[Piece]:
        """Yield the statement that the text ended in, if there is one."""
        if self._has_words:
            yield Piece("".join(self._parts).strip(), self._first)
        self._scanner = Scanner()
        self._begin()

    def _begin(self) -> None:
        self._parts = []
        self._has_words = False
        self._first = self._line


def read_script(text: str) -> list[Piece]:
    r"""Return the statements and dot commands of a text, without those that are empty.

    >>> [piece.text for piece in read_script("SELECT ';'; -- one; two\n.tables\nSELECT 2")]
    ["SELECT ';';", '.tables', 'SELECT 2']
    """
    reader = ScriptReader()
    pieces = [piece for line in _LINES.findall(text) for piece in reader.feed(line)]
    return [*pieces, *reader.finish()]


def is_complete(text: str) -> bool:
    """Say whether a text ends with a ';' or a dot command, or holds nothing at all.

    >>> is_complete("SELECT ';"), is_complete("SELECT 1; -- one"), is_complete(".tables")
    (False, True, True)
    """
    reader = ScriptReader()
    for line in _LINES.findall(text):
        for _ in reader.feed(line):
            pass
    return not reader.is_open


def is_query(sql: str) -> bool:
    """Say whether a statement is a query: one that gives rows and changes nothing.

    >>> is_query("/* all */ FROM sale;"), is_query("WITH t AS (SELECT 1) DELETE FROM t")
    (True, False)
    """
    pieces = Scanner().scan(sql)
    words = [
        word.upper() for kind, piece in pieces if kind == "code" for word in _WORD.findall(piece)
    ]
    first = words[0] if words else ""
    if first == "WITH":
        return not {"INSERT", "UPDATE", "DELETE"} & set(words)
    return first in {"SELECT", "FROM", "VALUES", "TABLE", "("}
