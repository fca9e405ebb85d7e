"""Colours of SQL while it is typed.

The pieces are those by which the shell tells where a statement ends: what is coloured as a string
is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.lexers import Lexer

from raydb.keywords import KEYWORDS, Scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

STYLE = {
    "keyword": "ansiblue bold",
    "function": "ansicyan",
    "number": "ansimagenta",
    "string": "ansigreen",
    "name": "",
    "comment": "ansibrightblack italic",
    "command": "ansiyellow",
    "code": "",
}
_WORD = re.compile(r"(?P<word>[^\W\d]\w*)(?P<call>\s*\()?|(?P<number>\d[\w.]*)|.", re.DOTALL)


class SqlLexer(Lexer):
    """Gives prompt_toolkit the colours of a text, line by line."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return the function that gives the parts of a line with their styles."""
        lines: list[StyleAndTextTuples] = [[]]
        for kind, text in colored_parts(document.text):
            first, *rest = text.split("\n")
            lines[-1].append((STYLE[kind], first))
            lines += [[(STYLE[kind], line)] for line in rest]
        return lambda number: lines[number] if number < len(lines) else []


def colored_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text with what they are: the keys of STYLE.

    >>> list(colored_parts("SELECT 'a'"))
    [('keyword', 'SELECT'), ('code', ' '), ('string', "'a'")]
    """
    if text.lstrip().startswith("."):
        yield "command", text
        return
    for kind, piece in Scanner().scan(text):
        if kind == "code":
            yield from _words(piece)
        else:
            yield ("code" if kind == "end" else kind), piece


def _words(code: str) -> Iterator[tuple[str, str]]:
    for found in _WORD.finditer(code):
        word, call, number = found["word"], found["call"] or "", found["number"]
        if word is None:
            yield ("code" if number is None else "number"), found[0]
            continue
        if word.upper() in KEYWORDS:
            yield "keyword", word
        else:
            yield ("function" if call else "code"), word
        if call:
            yield "code", call
