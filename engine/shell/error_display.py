"""An error as the shell shows it: the sentence, and the line of the statement with a mark below.

    error: column 'nam' does not exist in 'pet'; did you mean 'name'?
    LINE 2: FROM pet WHERE nam = 'Rex'
                           ^^^

In a script the name of the file and the line go before it. What a statement that went well has to
say beside its rows is told alike: `warning: ...`.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import raydb
from raydb.engine.shell.render.colors import RED, YELLOW, colored
from raydb.engine.shell.render.words import plain, width
from raydb.engine.shell.secrecy import holds_secret

if TYPE_CHECKING:
    from raydb.engine.shell.script import Piece

# Syntax errors have their place in the sentence itself.
_SYNTAX_PLACE = re.compile(r"^syntax error at line (\d+), column (\d+)")
_WORD = re.compile(r"\w+|\"[^\"]*\"|.")

# What is shown of a longer line: a window with the mark in it.
_MAX_CHARACTERS = 100
_BEFORE_MARK = 50


def complaint(
    error: Exception,
    piece: Piece | None = None,
    source: str | None = None,
    *,
    is_colored: bool,
    columns: int = 0,
) -> str:
    """Return the lines that tell an error of a piece of a script.

    source: the script's name; the line of the script goes before the error then. columns: the width
    of the terminal, 0 where there is none and the sentence stays in one line.
    """
    place = None if piece is None or piece.is_command else place_of(error)
    text = _sentence(error, place is not None)
    where = ""
    if source is not None and piece is not None:
        line = piece.line + (0 if place is None else place[0] - 1)
        where = f"{source}:{line}: "
    lines = _wrapped(f"{where}error: {plain(' '.join(text.split()))}", columns)
    lines[0] = lines[0].replace("error:", colored("error:", RED, is_colored), 1)
    if place is not None and piece is not None and not holds_secret(piece.text):
        lines += _marked(piece.text, *place, is_colored=is_colored)
    return "".join(f"{line}\n" for line in lines)


def caution(warning: Warning, *, is_colored: bool, columns: int = 0) -> str:
    """Return the lines that tell a warning; columns: as for a complaint."""
    lines = _wrapped(f"warning: {plain(' '.join(str(warning).split()))}", columns)
    lines[0] = lines[0].replace("warning:", colored("warning:", YELLOW, is_colored), 1)
    return "".join(f"{line}\n" for line in lines)


def _wrapped(text: str, columns: int) -> list[str]:
    """Return the lines of a sentence, which end between words."""
    if not columns:
        return [text]
    return textwrap.wrap(text, columns, break_on_hyphens=False, break_long_words=False)


def _sentence(error: Exception, has_place: bool) -> str:
    if not isinstance(error, raydb.Error):
        return f"{type(error).__name__}: {error}; this is RayDB's own mistake, please report it"
    return error.sentence if has_place else str(error)


def place_of(error: Exception) -> tuple[int, int] | None:
    """Return the line and the column of a statement that an error is about, both from 1."""
    if not isinstance(error, raydb.Error):
        return None
    found = _SYNTAX_PLACE.match(error.sentence)
    return (int(found[1]), int(found[2])) if found else error.position


def _marked(text: str, line: int, column: int, *, is_colored: bool) -> list[str]:
    """Return a line of a statement and, below, the mark under the word that begins at a column."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return []
    shown = lines[line - 1].rstrip()
    start = min(column - 1, len(shown))
    found = _WORD.match(shown, start)
    end = start + 1 if found is None else found.end()
    left = max(start - _BEFORE_MARK, 0) if len(shown) > _MAX_CHARACTERS else 0
    right = left + _MAX_CHARACTERS
    head = f"LINE {line}: " + ("…" if left else "")
    before, marked = _cell(shown[left:start]), _cell(shown[start : min(end, right)])
    after = _cell(shown[end:right]) + ("…" if len(shown) > right else "")
    spaces = " " * (len(head) + width(before))
    mark = "^" * max(width(marked), 1)
    return [f"{head}{before}{marked}{after}", spaces + colored(mark, RED, is_colored)]


def _cell(text: str) -> str:
    return plain(text.replace("\t", " "))
