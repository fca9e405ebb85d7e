"""The shape of a text: what is left of it without its constants, which are found without a parser.

shape_of("SELECT ... WHERE d_year = 1993")     its key is that of "... WHERE d_year = 7"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raydb.errors import Error
from raydb.planner.expressions.literals import constant, vector_literal
from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Literal

# Quoted names and comments are skipped, for they may hold what looks like a constant.
# One class of characters begins them all: the search skips to these without trying each branch. A
# branch for each character of a string would take 0.1 ms for a vector of 128 numbers in quotes.
_PARTS = re.compile(
    r"""
    (["'/0-9\[-](?:
      (?<=")[^"]*(?:""[^"]*)*" | (?<=-)-[^\n]* | (?<=/)\*.*?\*/
    | (?<=')(?<![\w&'].)[^'\\]*(?:''[^'\\]*)*'(?!')
    | (?<=[0-9])(?<![\w.$].)[0-9]*(?:\.[0-9]+)?(?![\w.])
    | (?<=\[)[0-9.eE\s+-]+(?:,[0-9.eE\s+-]+){7,}\]
    ))""",
    re.VERBOSE | re.DOTALL,
)

# What stands in a key for a string, a vector, a number with a point and one without.
_MARKS = {"'": "\0s", "[": "\0v", ".": "\0d", "": "\0i"}
_MARK = re.compile("\0[svdi]")

# A longer text is a list of values rather than a question that is asked again.
_LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A text without its constants: `key` has the kind of each in its place."""

    key: str
    constants: tuple[str, ...]

    def spans(self) -> dict[int, str]:
        """Return the constants by where they begin in the text."""
        spans, start = {}, 0
        for before, text in zip(_MARK.split(self.key), self.constants, strict=False):
            start += len(before)
            spans[start] = text
            start += len(text)
        return spans


def shape_of(text: str) -> Shape | None:
    r"""Return the shape of a text, None for one that is hardly asked again.

    >>> shape_of("SELECT 'a' FROM t1 WHERE x < 0.5 -- 7")
    Shape(key='SELECT \x00s FROM t1 WHERE x < \x00d -- 7', constants=("'a'", '0.5'))
    """
    if len(text) > _LONGEST_TEXT or "\0" in text:
        return None
    parts = _PARTS.split(text)
    constants = []
    for place in range(1, len(parts), 2):
        part = parts[place]
        if part[0] in "'[":
            mark = _MARKS[part[0]]
        elif part[0] in "0123456789":
            mark = _MARKS["." if "." in part else ""]
        else:
            continue
        constants.append(part)
        parts[place] = mark
    return Shape("".join(parts), tuple(constants))


def literal_of(text: str) -> Literal | None:
    """Return the literal of a constant as it is written, None for one that no type holds."""
    try:
        if text[0] == "'":
            return constant(text[1:-1].replace("''", "'"), is_string=True)
        if text[0] == "[":
            return vector_literal(text)
        return constant(text, is_string=False)
    except Error:
        return None
