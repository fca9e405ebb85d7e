"""LIKE and regular expressions."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from raydb.errors import DataError, NotSupportedError
from raydb.planner.functions.function import Function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.planner.casts import Values
    from raydb.planner.expression import Call


def _like(_: Call, text: Values, pattern: Values, *, ignore_case: bool = False) -> Values:
    r"""Match % and _; as in PostgreSQL, \ takes away the meaning of the character after it."""
    if not isinstance(pattern, pa.Scalar):
        raise NotSupportedError("LIKE needs a constant pattern")
    if not pattern.is_valid:
        return pa.scalar(None, pa.bool_())
    like = pattern.as_py()
    if (len(like) - len(like.rstrip("\\"))) % 2:
        raise DataError(f"the LIKE pattern '{like}' must not end with its escape character")
    if "\\\\" in like:
        # Arrow's match_like (26.0) misreads an escaped backslash at the end of a pattern.
        return pc.match_substring_regex(text, _like_regex(like), ignore_case=ignore_case)
    return pc.match_like(text, like, ignore_case=ignore_case)


def _like_regex(like: str) -> str:
    """Return the RE2 expression that matches the whole of what a LIKE pattern matches."""
    parts = []
    characters = iter(like)
    for character in characters:
        match character:
            case "%":
                parts.append(".*")
            case "_":
                parts.append(".")
            case "\\":
                parts.append(re.escape(next(characters)))
            case _:
                parts.append(re.escape(character))
    return "(?s)^" + "".join(parts) + "$"


PATTERNS: Mapping[str, Function] = {
    "like": Function(_like),
    "ilike": Function(functools.partial(_like, ignore_case=True)),
}
